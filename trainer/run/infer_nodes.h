// Which nodes halograph-train infer makes rows of, and the files that it writes them to: one of
// each node type, named as training names them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/storage/scratch.h"
#include "trainer/launch/infer_options.h"
#include "trainer/output/prediction_file.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/training/session.h"

namespace halograph {

struct NodesToInfer {
  std::vector<int> types;  // whose rows are written, a file each; ascending
  // The nodes, by one source after the other; exact inference has one, which makes the rows of a
  // layer once for all types. Owned by the task or by `own`.
  std::vector<const SeedSource*> passes;
  std::vector<int> pass_types;  // that the passes have nodes of, ascending; maybe more than types
  std::vector<int64_t> most_rows;  // of each of `types`
  std::vector<std::unique_ptr<const SeedSource>> own;
};

// As --nodes and --node-type say. Requires Prepare.
//   InvalidArgument  a node type that the task does not know: those that it does are named; a list
//                    of original ids for several types; no test set of nodes
//   else             as ReadNodeList and FindNodes
[[nodiscard]] StatusOr<NodesToInfer> ChooseNodes(Session& session, const InferOptions& infer);

// Rows by node type, until they are written. Not thread-safe.
class PredictionFiles {
 public:
  struct File {
    int type = 0;
    std::string path;
    PredictionSpool spool;
    int64_t rows = 0;  // appended so far
  };

  // `scratch` must outlive it.
  PredictionFiles(const Session& session, const NodesToInfer& nodes, ScratchSpace* scratch);

  [[nodiscard]] const std::vector<File>& files() const { return files_; }
  [[nodiscard]] int64_t rows() const;
  // What all of them take of the scratch space at most.
  [[nodiscard]] int64_t bytes() const;
  // Whether there is room for all that was announced. Errors as PredictionSpool::CheckDisk.
  [[nodiscard]] Status CheckDisk() const;
  // As TakePredictions. Rows of types that have no file are dropped. Errors as
  // PredictionSpool::Append.
  [[nodiscard]] Status Append(std::span<const int64_t> original_ids, std::span<const int64_t> types,
                              std::span<const std::byte> rows);
  // Errors as PredictionSpool::Write.
  [[nodiscard]] Status Write();

 private:
  std::vector<File> files_;
};

}  // namespace halograph
