#include "common/storage/replace_check.h"

#include <algorithm>
#include <iterator>

namespace halograph {

namespace fs = std::filesystem;

Status CheckReplaceable(const fs::path& output, std::string_view marker, std::string_view what) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(output, ignored))) return OkStatus();
  if (fs::is_directory(output, ignored) &&
      (fs::is_empty(output, ignored) || fs::is_regular_file(output / marker, ignored))) {
    return OkStatus();
  }
  return AlreadyExists(
      "{}: exists and is not {} (no {} in it), so it is not replaced; remove it yourself or write "
      "elsewhere",
      output.string(), what, marker);
}

Status CheckInputStays(const fs::path& input, const fs::path& output) {
  std::error_code error;
  const fs::path from = fs::weakly_canonical(input, error);
  const fs::path to = fs::weakly_canonical(output, error);
  const auto [rest, beyond] = std::mismatch(to.begin(), to.end(), from.begin(), from.end());
  const bool within = rest == to.end() || (std::next(rest) == to.end() && rest->empty());
  if (error || !within) return OkStatus();
  return InvalidArgument(
      "the input {} lies in the output {}, which would replace it; write elsewhere", input.string(),
      output.string());
}

}  // namespace halograph
