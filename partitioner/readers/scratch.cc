#include "partitioner/readers/scratch.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <stdlib.h>

#include "common/storage/file.h"

namespace halograph {

Scratch::~Scratch() {
  std::error_code ignored;  // nobody to tell; what stays is plainly named temporary
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

StatusOr<std::filesystem::path> Scratch::NewFile(std::string_view hint) {
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) {
    std::error_code error;
    if (parent_.empty() || !std::filesystem::is_directory(parent_, error)) {
      return InvalidArgument(
          "the input holds text or arrays that must be converted first, and the scratch folder "
          "`{}` for that does not exist",
          parent_.string());
    }
    std::string name = (parent_ / "halograph-read-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "creating", name);
    folder_ = name;
  }
  return folder_ / fmt::format("{:05d}-{}.npy", files_++, PercentEncode(hint));
}

}  // namespace halograph
