#include "common/base/build_info.h"

namespace halograph {

std::string BuildVersion() { return HALOGRAPH_VERSION "+" HALOGRAPH_COMMIT; }

}  // namespace halograph
