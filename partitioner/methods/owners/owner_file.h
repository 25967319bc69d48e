// Reads one file of owners, .npy or text, into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// What a file is read against.
struct OwnerFileShape {
  int64_t nodes = 0;
  int parts = 0;     // every owner is below
  std::string what;  // the nodes' name for messages: "nodes of type `paper`"
};

// Owners in the file's order; shape.nodes of them. Errors as LoadOwners has them.
[[nodiscard]] StatusOr<std::vector<uint16_t>> ReadOwnerFile(const std::filesystem::path& path,
                                                            const OwnerFileShape& shape);

}  // namespace halograph
