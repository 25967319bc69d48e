// What a checkpoint's manifest.json says (trainer/checkpoint/FORMAT.md). Plain values; pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/file_checksums.h"
#include "common/storage/json.h"
#include "trainer/checkpoint/files/trained_on.h"

namespace halograph {

inline constexpr int64_t kCheckpointVersion = 1;
inline constexpr char kManifestFile[] = "manifest.json";
// Weights and buffers as they were at the moment; those of the best epoch so far, if there is one;
// what the optimizer's steps left behind.
inline constexpr char kModelFile[] = "model.safetensors";
inline constexpr char kBestFile[] = "best.safetensors";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
// In it, before the name of a buffer that each rank has its own of.
inline constexpr char kOfRanks[] = "ranks.";
// What the epoch under way has come to so far, if one is: by rank, figures by their keys, and the
// sums of the task's metric.
inline constexpr char kEpochFile[] = "epoch.safetensors";
inline constexpr char kMetricSums[] = "metric_sums";

// What a run is, as far as its steps depend on it. A run goes on only from a checkpoint of the same
// one.
struct RunIdentity {
  std::string graph;  // GraphInfo::identity
  std::string model;  // its kind
  std::string task;   // its name
  // Values by key of the options that all ranks share.
  Json options = Json::object();
};

// Keys of options that a run may have otherwise than the checkpoint that it goes on from.
struct MayDiffer {
  std::vector<std::string> always;  // no step depends on them: what is predicted
  // How long the run is. Not where the learning rate depends on it (--lr-schedule cosine).
  std::vector<std::string> length;
  // By key the values of options that a checkpoint of an older build may lack: it did as they say.
  Json defaults = Json::object();
};

// FailedPrecondition naming `where`, and each difference: what the checkpoint has (or, where it
// lacks the option, `may.defaults`), and what the run has.
[[nodiscard]] Status CheckSameRun(const RunIdentity& checkpoint, const RunIdentity& run,
                                  const MayDiffer& may, std::string_view where);

// The moment between two steps at which a checkpoint was taken.
struct CheckpointPlace {
  int64_t epoch = 0;       // of the next step
  int64_t step = 0;        // of the next step in its epoch; steps_per_epoch: evaluation comes next
  int64_t steps_done = 0;  // since the run began, over all resumes
  int64_t steps_per_epoch = 0;

  bool operator==(const CheckpointPlace&) const = default;
};

// Mutable tensors of the moment, which the store keeps under a name.
struct CheckpointSnapshot {
  std::string name;
  int64_t next_step = 0;  // of the pushes after it (SyncStep)

  bool operator==(const CheckpointSnapshot&) const = default;
};

struct CheckpointManifest {
  std::string build;  // that wrote it
  double time = 0;    // when the moment was, seconds since 1970
  RunIdentity run;
  // What its weights can be used on; none in one that an older build wrote.
  std::optional<TrainedOn> trained_on = {};
  CheckpointPlace place;
  std::optional<CheckpointSnapshot> snapshot = {};       // where inputs are learnt
  std::optional<CheckpointSnapshot> best_snapshot = {};  // that kBestFile goes with
  // What training has come to so far, best epoch included (trainer/checkpoint/progress.h).
  Json progress = Json::object();
  // With --normalize-features standard the means and deviations of all features that the model
  // takes in (trainer/pipeline/column_scales.h); else empty.
  Json feature_scales = Json::object();
  // Facts that nothing is decided by: number of ranks, the graph's name, libtorch's version.
  Json facts = Json::object();
  std::vector<FileEntry> files;

  // Null if there is none of that name.
  [[nodiscard]] const FileEntry* Find(std::string_view file) const;
};

[[nodiscard]] Json ToJson(const CheckpointManifest& manifest);
// DataLoss naming `where` and the field that is missing or wrong; FailedPrecondition naming both
// versions for one that this build does not read.
[[nodiscard]] StatusOr<CheckpointManifest> ManifestFromJson(const Json& json,
                                                            std::string_view where);

}  // namespace halograph
