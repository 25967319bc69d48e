#include "common/graph/file_list.h"

#include <utility>

#include <fmt/format.h>

namespace halograph {

StatusOr<std::vector<FileEntry>> FilesFromJson(const Json& manifest, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(manifest, "files", where));
  std::vector<FileEntry> files;
  files.reserve(list.size());
  for (const Json& item : list) {
    HG_ASSIGN_OR_RETURN(FileEntry entry,
                        FileEntryFromJson(item, fmt::format("{}: files[{}]", where, files.size())));
    if (!files.empty() && files.back().path >= entry.path) {
      return DataLoss("{}: files[{}] '{}' does not ascend by path", where, files.size(),
                      entry.path);
    }
    files.push_back(std::move(entry));
  }
  return files;
}

}  // namespace halograph
