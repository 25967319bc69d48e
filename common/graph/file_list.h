// The list of files in a manifest.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/storage/file_checksums.h"
#include "common/storage/json.h"

namespace halograph {

// Field "files" of a manifest. DataLoss naming `where` and the entry: it is missing, no such list,
// or does not ascend by path.
[[nodiscard]] StatusOr<std::vector<FileEntry>> FilesFromJson(const Json& manifest,
                                                             const std::string& where);

}  // namespace halograph
