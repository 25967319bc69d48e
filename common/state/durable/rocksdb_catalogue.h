// The catalogue of a state that a build before format 2 left, in RocksDB.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "common/base/status.h"

namespace halograph {

// As Env::ReadOldCatalogue. Nothing in the folder changes.
[[nodiscard]] StatusOr<std::map<std::string, std::string>> ReadRocksDbCatalogue(
    const std::filesystem::path& folder);

}  // namespace halograph
