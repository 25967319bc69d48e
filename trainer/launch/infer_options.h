// What `halograph-train infer` and `evaluate` are told beside the options of a run: the checkpoint,
// which says what model it is of, and how inference is made. Knows no libtorch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/program/program.h"
#include "common/storage/json.h"
#include "trainer/checkpoint/files/trained_on.h"
#include "trainer/launch/launch_env.h"
#include "trainer/options/train_options.h"

namespace halograph {

// What --nodes may be instead of a file.
inline constexpr std::string_view kAllNodes = "all";
inline constexpr std::string_view kTestNodes = "test";

struct InferOptions {
  std::string checkpoint;  // a folder of checkpoints, or one of them
  bool last_weights = false;
  // Nodes of another graph than the run's that no row was learnt for get new ones; else they are
  // refused.
  bool new_rows = false;
  bool exact = false;  // layer by layer; else by sampling, with --eval-fanouts
  int64_t memory =
      int64_t{1} << 30;          // of exact inference, and of predictions until they are written
  std::string scratch;           // folder of files for what is more; empty: of the output
  std::string node_type;         // whose nodes are inferred; empty: all that the task predicts
  std::string nodes{kAllNodes};  // or kTestNodes, or a file of original ids
  bool json = false;             // print JSON in the place of the table
};

// What was asked for.
enum class TrainCommand : uint8_t { kTrain, kInfer, kEvaluate };

// What a checkpoint says of the run that wrote it.
struct TrainedAs {
  std::string model;
  std::string task;
  Json options = Json::object();             // SharedFacts of the run, those its build had
  Json feature_scales = Json::object();      // as the manifest has them
  std::optional<TrainedOn> trained_on = {};  // likewise
  std::string graph = {};                    // GraphInfo::identity of what it was trained on
};
// Of the newest checkpoint of a folder whose manifest can be read, or of the one that it is. Reads
// nothing else of it: who reads the weights verifies them. Errors as ReadCheckpointManifest and
// ReadNewestCheckpoint.
[[nodiscard]] StatusOr<TrainedAs> ReadTrainedAs(const std::string& checkpoint);

// Sets `rows` as the run was told: all options that its ranks shared but those that say how much
// was trained, on how many ranks, and what is predicted, and those that are given already. None
// counts as given then.
//   DataLoss  a value that its option does not take: named
[[nodiscard]] Status ApplyTrainedAs(const TrainedAs& trained, OptionTable& rows,
                                    TrainOptions* options);
// Whether `rows` still have what the weights mean: model, layers, the model's options, features,
// the kind of task, learnt inputs. What the checkpoint lacks counts as its default. InvalidArgument
// naming each option that differs, with both values.
[[nodiscard]] Status CheckTrainedAs(const TrainedAs& trained, const OptionTable& rows,
                                    const TrainOptions& options);

// AddTrainOptions, with the commands infer and evaluate beside; the program without a command
// trains. `run` does what was asked for; a checkpoint that cannot be read is what a command ends
// with, as a failure. What the command line says of training alone is wrong usage of infer and
// evaluate; what a file of options (--config) says of it, and of the run's log and predictions, is
// left aside.
void AddTrainCommands(Program& program, TrainOptions* options, InferOptions* infer,
                      Environment environment, std::function<Status(TrainCommand)> run);

}  // namespace halograph
