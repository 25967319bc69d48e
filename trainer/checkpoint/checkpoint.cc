#include "trainer/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace halograph {
namespace {

struct DTypePair {
  DType dtype;
  torch::ScalarType scalar;
};

constexpr DTypePair kTensorTypes[] = {
    {DType::kFloat32, torch::kFloat32}, {DType::kFloat64, torch::kFloat64},
    {DType::kFloat16, torch::kFloat16}, {DType::kBFloat16, torch::kBFloat16},
    {DType::kInt64, torch::kInt64},     {DType::kInt32, torch::kInt32},
    {DType::kInt16, torch::kInt16},     {DType::kInt8, torch::kInt8},
    {DType::kUInt8, torch::kUInt8},     {DType::kBool, torch::kBool},
};

std::string ShapeOf(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes().vec(), ", "));
}

StatusOr<torch::Tensor> TensorOfBytes(const TensorBytes& bytes, std::string_view where) {
  for (const DTypePair& pair : kTensorTypes) {
    if (bytes.dtype != pair.dtype) continue;
    torch::Tensor tensor = torch::empty(bytes.shape, pair.scalar);
    if (!bytes.data.empty()) std::memcpy(tensor.data_ptr(), bytes.data.data(), bytes.data.size());
    return tensor;
  }
  return FailedPrecondition("{}: '{}' has a dtype that nothing here computes with", where,
                            bytes.name);
}

}  // namespace

std::vector<NamedTensor> NamedParameters(const Model& model, const TrainingTask& task) {
  std::vector<NamedTensor> named;
  for (const auto& parameter : model.named_parameters()) {
    named.push_back({"model." + parameter.key(), parameter.value()});
  }
  int64_t number = 0;
  for (torch::Tensor& parameter : task.parameters()) {
    named.push_back({fmt::format("task.{}", number++), std::move(parameter)});
  }
  return named;
}

std::vector<NamedTensor> NamedBuffers(const Model& model) {
  std::vector<NamedTensor> named;
  for (const auto& buffer : model.named_buffers()) {
    named.push_back({"model." + buffer.key(), buffer.value()});
  }
  return named;
}

TensorBytes BytesOfTensor(std::string name, const torch::Tensor& tensor) {
  TensorBytes bytes{.name = std::move(name),
                    .dtype = std::nullopt,
                    .shape = tensor.sizes().vec(),
                    .data = {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}};
  for (const DTypePair& pair : kTensorTypes) {
    if (pair.scalar == tensor.scalar_type()) bytes.dtype = pair.dtype;
  }
  return bytes;
}

StatusOr<std::map<std::string, torch::Tensor>> TensorsOfFile(const SafetensorsFile& file) {
  std::map<std::string, torch::Tensor> tensors;
  for (const TensorBytes& bytes : file.contents().tensors) {
    HG_ASSIGN_OR_RETURN(tensors[bytes.name], TensorOfBytes(bytes, file.path().string()));
  }
  return tensors;
}

Status CopyTensors(const std::map<std::string, torch::Tensor>& from,
                   const std::vector<NamedTensor>& into, std::string_view where) {
  const torch::NoGradGuard no_grad;
  for (const NamedTensor& own : into) {
    const auto found = from.find(own.name);
    if (found == from.end()) {
      return FailedPrecondition("{}: has no '{}', which the model has as {}", where, own.name,
                                ShapeOf(own.tensor));
    }
    const torch::Tensor& read = found->second;
    if (read.sizes() != own.tensor.sizes() || read.scalar_type() != own.tensor.scalar_type()) {
      return FailedPrecondition("{}: '{}' is {}, the model's is {}", where, own.name, ShapeOf(read),
                                ShapeOf(own.tensor));
    }
    torch::Tensor(own.tensor).copy_(read);
  }
  for (const auto& [name, tensor] : from) {
    const bool known = std::any_of(into.begin(), into.end(),
                                   [&](const NamedTensor& own) { return own.name == name; });
    if (!known) return FailedPrecondition("{}: the model has no '{}'", where, name);
  }
  return OkStatus();
}

TrainedOn DescribeGraph(const Schema& schema, std::span<const NodeInput> features,
                        std::span<const LearntType> learnt, int64_t outputs) {
  TrainedOn graph = TypesOf(schema);
  for (const NodeInput& input : features) {
    graph.node_types[input.node_type].features.push_back(
        {.name = input.spec.name,
         .dtype = std::string(DTypeName(input.spec.dtype)),
         .width = input.spec.dim});
  }
  for (const LearntType& type : learnt) graph.node_types[type.node_type].learnt = type.dim;
  graph.outputs = outputs;
  return graph;
}

StatusOr<WhichWeights> LoadWeights(const StoredCheckpoint& checkpoint, WhichWeights which,
                                   Model& model, TrainingTask& task) {
  const bool best = which == WhichWeights::kBest && checkpoint.manifest.Find(kBestFile) != nullptr;
  HG_ASSIGN_OR_RETURN(const SafetensorsFile* const file,
                      checkpoint.Find(best ? kBestFile : kModelFile));
  std::vector<NamedTensor> into = NamedParameters(model, task);
  for (NamedTensor& buffer : NamedBuffers(model)) into.push_back(std::move(buffer));
  HG_ASSIGN_OR_RETURN(const auto tensors, TensorsOfFile(*file));
  HG_RETURN_IF_ERROR(CopyTensors(tensors, into, file->path().string()));
  return best ? WhichWeights::kBest : WhichWeights::kLast;
}

}  // namespace halograph
