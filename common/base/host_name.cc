#include "common/base/host_name.h"

#include <array>
#include <climits>

#include <unistd.h>

namespace halograph {

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace halograph
