#include "partitioner/readers/ogb_task.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "common/storage/row_gather.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/ogb_files.h"
#include "partitioner/readers/task_check.h"
#include "partitioner/readers/text_table.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr size_t kGatherRows = size_t{1} << 16;

// The folder of the split to use; empty if there is none at all.
StatusOr<std::string> ChooseSplit(const fs::path& splits, const std::string& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(splits, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (!wanted.empty()) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
    return NotFound("{}: there is no split `{}`; choose from: {}", splits.string(), wanted,
                    fmt::join(names, ", "));
  }
  if (names.size() > 1) {
    return InvalidArgument("{}: several splits, choose one with --task: {}", splits.string(),
                           fmt::join(names, ", "));
  }
  return names.empty() ? std::string() : names.front();
}

// What the labels of one node type are.
struct Labels {
  InputTensor tensor;
  bool integers = false;  // one column, whole numbers (a missing one is NaN in a float column)
  int64_t classes = 0;    // largest label + 1 if integers; 0 if one is negative
};

StatusOr<Labels> ReadLabels(const fs::path& path, const InputNodeType& node_type,
                            Scratch* scratch) {
  Labels labels;
  HG_ASSIGN_OR_RETURN(labels.tensor, ConvertMatrix(path, "labels", scratch));
  HG_RETURN_IF_ERROR(
      CheckRows(labels.tensor, node_type.count, fmt::format("nodes of type `{}`", node_type.name)));
  const NpyArray& array = *labels.tensor.array;
  if (array.cols() != 1) return labels;
  if (array.dtype() == DType::kInt64) {
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> values, array.As<int64_t>());
    labels.integers = true;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    labels.classes = values.empty() || *low < 0 ? 0 : *high + 1;
    return labels;
  }
  double smallest = 0, largest = -1;
  for (int64_t row = 0; row < array.rows(); ++row) {
    const float label = ToFloat(array.dtype(), array.data().data() + row * array.row_bytes());
    if (std::isnan(label)) continue;
    if (label != std::trunc(label)) return labels;
    smallest = std::min<double>(smallest, label);
    largest = std::max<double>(largest, label);
  }
  labels.integers = true;
  labels.classes = smallest < 0 ? 0 : static_cast<int64_t>(largest) + 1;
  return labels;
}

// Labels of the seeds, in their order: int64 if they are integers, else as they are.
class LabelGatherer {
 public:
  LabelGatherer(const Labels& labels, const InputTensor& seeds)
      : labels_(labels), array_(*labels.tensor.array), seeds_(seeds) {}

  StatusOr<InputTensor> Gather(Scratch* scratch) {
    HG_ASSIGN_OR_RETURN(const fs::path path, scratch->NewFile("labels"));
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, seeds_.array->As<int64_t>());
    const bool convert = labels_.integers && array_.dtype() != DType::kInt64;
    HG_ASSIGN_OR_RETURN(
        NpyWriter writer,
        NpyWriter::Create(path, convert ? DType::kInt64 : array_.dtype(), seeds_.array->rows(),
                          array_.cols(), static_cast<int>(array_.shape().size())));
    std::vector<std::byte> rows;
    for (size_t begin = 0; begin < ids.size(); begin += kGatherRows) {
      const auto block = ids.subspan(begin, std::min(kGatherRows, ids.size() - begin));
      rows.resize(block.size() * array_.row_bytes());
      GatherRows(array_.data(), array_.row_bytes(), 0, block, rows.data());
      if (convert) {
        HG_ASSIGN_OR_RETURN(rows, ToIntegers(rows, begin));
      }
      HG_RETURN_IF_ERROR(writer.Append(rows));
    }
    HG_RETURN_IF_ERROR(writer.Close());
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(path));
    return MakeTensor("labels", labels_.tensor.path, std::move(array));
  }

 private:
  // float32 to int64; an error for a seed without label.
  StatusOr<std::vector<std::byte>> ToIntegers(const std::vector<std::byte>& floats, size_t begin) {
    const size_t count = floats.size() / sizeof(float);
    std::vector<std::byte> integers(count * sizeof(int64_t));
    for (size_t i = 0; i < count; ++i) {
      const float label = ToFloat(DType::kFloat32, floats.data() + i * sizeof(float));
      if (std::isnan(label)) {
        return InvalidArgument("{}:{}: this node has no label in {}: remove it from the split",
                               seeds_.path, begin + i + 1, labels_.tensor.path);
      }
      const auto value = static_cast<int64_t>(label);
      std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value,
                  integers.data() + i * sizeof value);
    }
    return integers;
  }

  const Labels& labels_;
  const NpyArray& array_;
  const InputTensor& seeds_;
};

class TaskBuilder {
 public:
  TaskBuilder(Scratch* scratch, Dataset* dataset) : scratch_(scratch), dataset_(dataset) {}

  // The three sets of one node type.
  Status Add(const std::string& type, const fs::path& label_file, const fs::path& split) {
    const int index = dataset_->NodeTypeIndex(type);
    if (index < 0) {
      return InvalidArgument("{}: `{}` is no node type of this graph", split.string(), type);
    }
    for (const char* name : {"split_dict.pt", "train.pt"}) {
      if (!FileExists(split / name)) continue;
      return Unimplemented(
          "{}: torch files cannot be read: write one id per line to train.csv.gz, valid.csv.gz and "
          "test.csv.gz beside it, then remove it",
          (split / name).string());
    }
    HG_ASSIGN_OR_RETURN(const Labels labels,
                        ReadLabels(label_file, dataset_->node_types[index], scratch_));
    integers_ = integers_ && labels.integers && labels.classes > 0;
    classes_ = std::max(classes_, labels.classes);
    for (const char* name : {"train", "valid", "test"}) {
      InputTaskSet set;
      set.set = name;
      set.type = type;
      HG_ASSIGN_OR_RETURN(InputTensor seeds, ReadSeeds(split / fmt::format("{}.csv.gz", name)));
      set.arrays.push_back(std::move(seeds));
      HG_RETURN_IF_ERROR(ResolveTaskSet(*dataset_, &set));  // before labels are looked up
      HG_ASSIGN_OR_RETURN(InputTensor gathered,
                          LabelGatherer(labels, set.arrays.front()).Gather(scratch_));
      set.arrays.push_back(std::move(gathered));
      task_.sets.push_back(std::move(set));
    }
    return OkStatus();
  }

  void Finish(const std::string& split) {
    task_.name = integers_ ? "node_classification" : "node_prediction";
    task_.metadata["split"] = split;
    if (integers_) task_.metadata["num_classes"] = classes_;
    dataset_->tasks.push_back(std::move(task_));
  }

 private:
  StatusOr<InputTensor> ReadSeeds(const fs::path& path) {
    HG_ASSIGN_OR_RETURN(InputTensor seeds, ConvertMatrix(path, "seeds", scratch_));
    if (seeds.spec.dtype != DType::kInt64 || seeds.spec.rank != 1) {
      return InvalidArgument("{}: expected one node id per line, found {} columns of {}",
                             path.string(), seeds.spec.dim, DTypeName(seeds.spec.dtype));
    }
    return seeds;
  }

  Scratch* const scratch_;
  Dataset* const dataset_;
  InputTask task_;
  bool integers_ = true;
  int64_t classes_ = 0;
};

}  // namespace

Status ReadOgbTask(const fs::path& folder, const std::string& split, bool typed, Scratch* scratch,
                   Dataset* dataset) {
  HG_ASSIGN_OR_RETURN(const std::string name, ChooseSplit(folder / "split", split));
  if (name.empty()) {
    spdlog::warn("{}: no split found, so the graph gets no task", (folder / "split").string());
    return OkStatus();
  }
  const fs::path chosen = folder / "split" / name;
  TaskBuilder builder(scratch, dataset);
  if (!typed) {
    HG_RETURN_IF_ERROR(builder.Add(kHomogeneousNode, folder / "raw" / "node-label.csv.gz", chosen));
  } else {
    HG_ASSIGN_OR_RETURN(const std::vector<std::string> types,
                        ReadTrueColumns(chosen / "nodetype-has-split.csv.gz"));
    for (const std::string& type : types) {
      HG_RETURN_IF_ERROR(builder.Add(
          type, folder / "raw" / "node-label" / type / "node-label.csv.gz", chosen / type));
    }
  }
  builder.Finish(name);
  return OkStatus();
}

}  // namespace halograph
