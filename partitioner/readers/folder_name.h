// What a dataset without a name of its own is called.
#pragma once

#include <filesystem>
#include <string>

namespace halograph {

// The last component of the folder's absolute path: "cora" for "data/cora/", and for "." in it.
[[nodiscard]] inline std::string FolderName(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace halograph
