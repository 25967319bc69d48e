// What this build is: shown by --version, in manifests and in server descriptions.
#pragma once

#include <string>

namespace halograph {

[[nodiscard]] std::string BuildVersion();  // "0.1.0+<commit or unknown>"

}  // namespace halograph
