// What --force may replace: only what the same program wrote, and never the input.
#pragma once

#include <filesystem>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// OK if nothing is at `output`, or an empty folder, or a folder that holds a file `marker`.
//   AlreadyExists  anything else is there. The message names it, and what may be replaced (`what`,
//                  as "a partition folder")
[[nodiscard]] Status CheckReplaceable(const std::filesystem::path& output, std::string_view marker,
                                      std::string_view what);

// InvalidArgument if `input` is `output` or lies in it.
[[nodiscard]] Status CheckInputStays(const std::filesystem::path& input,
                                     const std::filesystem::path& output);

}  // namespace halograph
