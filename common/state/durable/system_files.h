// Files of the machine, by POSIX calls.
#pragma once

#include <memory>

#include "common/state/env.h"

namespace halograph {

// A folder is locked by flock of the file `lock` in it.
[[nodiscard]] std::unique_ptr<FileSystem> MakeSystemFiles();

}  // namespace halograph
