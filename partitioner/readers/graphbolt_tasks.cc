#include "partitioner/readers/graphbolt_tasks.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/task_check.h"

namespace halograph {
namespace {

struct SetName {
  const char* yaml;
  const char* name;
};
constexpr std::array<SetName, 3> kSets = {
    {{"train_set", "train"}, {"validation_set", "valid"}, {"test_set", "test"}}};

std::string CurrentName(const std::string& name) {
  return name == "seed_nodes" || name == "node_pairs" ? "seeds" : name;
}

// Arrays that hold node ids: int64 afterwards, whatever they are stored as.
bool HoldsNodeIds(const std::string& name) {
  return name == "seeds" || name == "negative_srcs" || name == "negative_dsts";
}

class TaskReader {
 public:
  TaskReader(std::filesystem::path folder, bool homogeneous, Scratch* scratch, Dataset* dataset)
      : folder_(std::move(folder)),
        homogeneous_(homogeneous),
        scratch_(scratch),
        dataset_(dataset) {}

  Status Read(const YamlValue& entry) {
    InputTask task;
    task.name = fmt::format("task{}", dataset_->tasks.size());
    if (entry.Find("name") != nullptr) {
      HG_ASSIGN_OR_RETURN(task.name, entry.RequireText("name"));
    }
    for (const InputTask& other : dataset_->tasks) {
      if (other.name == task.name) {
        return entry.Error(fmt::format("task `{}` is given twice", task.name));
      }
    }
    for (const YamlValue::Field& field : entry.fields) {
      const bool is_set = std::any_of(kSets.begin(), kSets.end(),
                                      [&](const SetName& set) { return field.name == set.yaml; });
      if (field.name != "name" && !is_set) task.metadata[field.name] = field.value.ToJson();
    }
    for (const SetName& set : kSets) {
      HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> parts, entry.ListOfMaps(set.yaml));
      if (homogeneous_ && parts.size() > 1) {
        return parts[1].Error("a homogeneous graph has one entry a set");
      }
      for (const YamlValue& part : parts) HG_RETURN_IF_ERROR(ReadSet(part, set.name, &task));
    }
    dataset_->tasks.push_back(std::move(task));
    return OkStatus();
  }

 private:
  Status ReadSet(const YamlValue& entry, const char* name, InputTask* task) {
    InputTaskSet set;
    set.set = name;
    HG_RETURN_IF_ERROR(ReadArrays(entry, &set));
    const bool tuples = set.arrays.front().spec.rank == 2;
    if (homogeneous_) {
      if (entry.Find("type") != nullptr) {
        return entry.Find("type")->Error("types are only for graphs whose nodes have types");
      }
      set.type = tuples ? dataset_->relations.front().triple() : kHomogeneousNode;
    } else {
      HG_ASSIGN_OR_RETURN(set.type, entry.RequireText("type"));
    }
    for (const InputTaskSet& other : task->sets) {
      if (other.set == set.set && other.type == set.type) {
        return entry.Error(fmt::format("set {} has two entries for `{}`", name, set.type));
      }
    }
    if (Status status = ResolveTaskSet(*dataset_, &set); !status.ok()) {
      return entry.Annotated(status);
    }
    task->sets.push_back(std::move(set));
    return OkStatus();
  }

  // All arrays of a set, seeds first, then by name.
  Status ReadArrays(const YamlValue& entry, InputTaskSet* set) {
    HG_RETURN_IF_ERROR(entry.Require("data").status());
    HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> arrays, entry.ListOfMaps("data"));
    for (const YamlValue& array : arrays) {
      HG_ASSIGN_OR_RETURN(InputTensor tensor, ReadArray(array));
      for (const InputTensor& other : set->arrays) {
        if (other.spec.name == tensor.spec.name) {
          return array.Error(fmt::format("`{}` is given twice", tensor.spec.name));
        }
      }
      set->arrays.push_back(std::move(tensor));
    }
    const auto key = [](const InputTensor& tensor) {
      return std::pair(tensor.spec.name != "seeds", tensor.spec.name);
    };
    std::sort(set->arrays.begin(), set->arrays.end(),
              [&](const InputTensor& a, const InputTensor& b) { return key(a) < key(b); });
    if (set->arrays.empty() || set->arrays.front().spec.name != "seeds") {
      return entry.Error("`data` has no `seeds`");
    }
    return OkStatus();
  }

  StatusOr<InputTensor> ReadArray(const YamlValue& entry) {
    HG_ASSIGN_OR_RETURN(const std::string given, entry.RequireText("name"));
    HG_RETURN_IF_ERROR(CheckArrayFormat(entry));
    HG_ASSIGN_OR_RETURN(const std::string path, entry.RequireText("path"));
    const std::string name = CurrentName(given);
    StatusOr<InputTensor> tensor = HoldsNodeIds(name) ? MapIds(folder_ / path, name, scratch_)
                                                      : MapTensor(folder_ / path, name, scratch_);
    if (!tensor.ok()) return entry.Find("path")->Annotated(tensor.status());
    return tensor;
  }

  const std::filesystem::path folder_;
  const bool homogeneous_;
  Scratch* const scratch_;
  Dataset* const dataset_;
};

}  // namespace

Status CheckArrayFormat(const YamlValue& entry) {
  HG_ASSIGN_OR_RETURN(const std::string format, entry.RequireText("format"));
  if (format == "numpy") return OkStatus();
  if (format == "torch") {
    return Unimplemented(
        "{}: torch files cannot be read: save the tensor with numpy.save(\"X.npy\", "
        "tensor.numpy()), and put `format: numpy` and the new path here",
        entry.Find("format")->Place());
  }
  return entry.Find("format")->Error(fmt::format("unknown format `{}`, expected numpy", format));
}

Status ReadGraphBoltTasks(const YamlValue& description, const std::filesystem::path& folder,
                          bool homogeneous, Scratch* scratch, Dataset* dataset) {
  HG_ASSIGN_OR_RETURN(const std::span<const YamlValue> tasks, description.ListOfMaps("tasks"));
  TaskReader reader(folder, homogeneous, scratch, dataset);
  for (const YamlValue& task : tasks) HG_RETURN_IF_ERROR(reader.Read(task));
  return OkStatus();
}

}  // namespace halograph
