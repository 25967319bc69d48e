// Folders that survive a crash of the machine.
#pragma once

#include <filesystem>
#include <vector>

#include "common/base/status.h"
#include "common/state/env.h"

namespace halograph {

// Makes the folder and those above it that are missing, and syncs each folder that got an entry,
// and the one above `folder` in any case: an earlier start may have ended in between.
[[nodiscard]] inline Status MakeDurableFolder(const std::filesystem::path& folder,
                                              FileSystem& files) {
  std::vector<std::filesystem::path> changed;
  for (std::filesystem::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    changed.push_back(at.has_parent_path() ? at.parent_path() : ".");
    if (files.List(changed.back()).ok()) break;  // it is there
  }
  HG_RETURN_IF_ERROR(files.MakeFolder(folder));
  for (const std::filesystem::path& path : changed) HG_RETURN_IF_ERROR(files.SyncFolder(path));
  return OkStatus();
}

}  // namespace halograph
