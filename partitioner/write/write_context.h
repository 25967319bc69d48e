// What every writer of a part of the output gets. Plain references: the caller keeps the objects
// alive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

#include "common/graph/manifest.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/write/renumbering.h"

namespace halograph {

struct WriteOptions {
  bool drop_duplicates = false;  // of parallel edges of a relation only the first id stays
  bool allow_nan = false;        // else NaN or infinity among features is an error
  // What the whole run may hold in anonymous memory: BudgetWriting.
  int64_t memory = std::numeric_limits<int64_t>::max();
};

struct WriteContext {
  const Dataset& dataset;
  const Renumbering& numbering;
  const std::filesystem::path& folder;  // of the graph under construction
  const WriteOptions& options;

  [[nodiscard]] int num_parts() const { return numbering.num_parts(); }
  // For temporary files; made on demand, removed by whoever made the folder.
  [[nodiscard]] std::filesystem::path ScratchFolder() const { return folder / "scratch"; }
  [[nodiscard]] std::filesystem::path PartFolder(int part) const {
    return folder / PartFolderName(part);
  }
};

}  // namespace halograph
