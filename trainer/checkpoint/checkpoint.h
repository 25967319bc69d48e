// Weights as a checkpoint has them by name (FORMAT.md), and as a model and a task have them.
//
//   HG_ASSIGN_OR_RETURN(const StoredCheckpoint checkpoint, ReadNewestCheckpoint(path));
//   HG_RETURN_IF_ERROR(CheckSameRun(checkpoint.manifest.run, ..., path));
//   HG_ASSIGN_OR_RETURN(const WhichWeights loaded,
//                       LoadWeights(checkpoint, WhichWeights::kBest, *model, *task));
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/models/model.h"
#include "trainer/options/embedding_options.h"
#include "trainer/tasks/task.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

// What is trained, in the order of Session::Parameters: the model's as "model.<its name>", then the
// task's as "task.<number>".
[[nodiscard]] std::vector<NamedTensor> NamedParameters(const Model& model,
                                                       const TrainingTask& task);
// What a model keeps beside it, as "model.<its name>", in the order of Model::buffers.
[[nodiscard]] std::vector<NamedTensor> NamedBuffers(const Model& model);

// A tensor's bytes, for a file: contiguous, on the CPU, of a dtype that the format has. The tensor
// must outlive the result.
[[nodiscard]] TensorBytes BytesOfTensor(std::string name, const torch::Tensor& tensor);
// New tensors with what a file has. FailedPrecondition for a dtype that libtorch has not.
[[nodiscard]] StatusOr<std::map<std::string, torch::Tensor>> TensorsOfFile(
    const SafetensorsFile& file);

// Copies the tensors of these names, all of `from`, in place.
//   FailedPrecondition  one is missing, has another shape or dtype, or is too many: `where`, its
//                       name and both shapes are named
[[nodiscard]] Status CopyTensors(const std::map<std::string, torch::Tensor>& from,
                                 const std::vector<NamedTensor>& into, std::string_view where);

// What the weights of a run depend on, whose model takes these features and learnt rows in, and
// whose task asks for so many outputs.
[[nodiscard]] TrainedOn DescribeGraph(const Schema& schema, std::span<const NodeInput> features,
                                      std::span<const LearntType> learnt, int64_t outputs);

enum class WhichWeights {
  kBest,  // of the best epoch so far
  kLast,  // of the checkpoint's moment
};

// Copies weights and buffers into a model and a task that were made with the same options, on this
// rank alone; buffers are the mean over ranks, as evaluation has them. Returns what was copied:
// kLast also where kBest was asked for and no epoch had been evaluated yet. Errors as TensorsOfFile
// and CopyTensors.
[[nodiscard]] StatusOr<WhichWeights> LoadWeights(const StoredCheckpoint& checkpoint,
                                                 WhichWeights which, Model& model,
                                                 TrainingTask& task);

}  // namespace halograph
