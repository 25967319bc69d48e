#include <cstring>
#include <string>
#include <vector>

#include "partitioner/verify/checks.h"

namespace halograph {
namespace {

class TaskSetVerifier {
 public:
  TaskSetVerifier(const Dataset& dataset, const PartitionSet& graph, int task, int set,
                  const NodeMaps& maps, Findings* findings)
      : graph_(graph),
        input_(dataset.tasks[task].sets[set]),
        task_(task),
        set_(set),
        name_(fmt::format("task `{}`, {} set of `{}`", dataset.tasks[task].name, input_.set,
                          input_.type)),
        maps_(maps),
        findings_(findings) {
    source_type_ = destination_type_ = dataset.NodeTypeIndex(input_.type);
    for (const InputRelation& relation : dataset.relations) {
      if (!input_.edges || relation.triple() != input_.type) continue;
      source_type_ = dataset.NodeTypeIndex(relation.source);
      destination_type_ = dataset.NodeTypeIndex(relation.destination);
    }
  }

  Status Verify() {
    HG_ASSIGN_OR_RETURN(seeds_, input_.arrays.front().array->As<int64_t>());
    next_.assign(graph_.parts().size(), 0);
    const int64_t rows = input_.arrays.front().array->rows();
    for (int64_t row = 0; row < rows; ++row) VerifyRow(row);
    for (const auto& part : graph_.parts()) {
      const int64_t found = part->TaskArray(task_, set_, 0).rows();
      if (found <= next_[part->part()]) continue;
      findings_->Add("{}, part {}: {} rows, but the input has {} for it", name_, part->part(),
                     found, next_[part->part()]);
    }
    findings_->report().task_rows += rows;
    return OkStatus();
  }

 private:
  // The node type of column `column` of `columns` columns.
  [[nodiscard]] int ColumnType(int64_t column) const {
    return column == 0 ? source_type_ : destination_type_;
  }

  // The next row of the row's owner must be this one.
  void VerifyRow(int64_t row) {
    const int64_t columns = input_.arrays.front().array->cols();
    const int64_t owner_column = columns == 2 ? 1 : 0;
    const int type = ColumnType(owner_column);
    const int64_t global = maps_.GlobalId(type, seeds_[row * columns + owner_column]);
    if (global < 0) return;  // the node is missing, which was reported
    const int owner = graph_.book().NodeOwner(type, global);
    const Partition& part = *graph_.parts()[owner];
    const int64_t position = next_[owner]++;
    if (position >= part.TaskArray(task_, set_, 0).rows()) {
      findings_->Add("{}, part {}: row {} of the input is missing", name_, owner, row);
      return;
    }
    for (size_t a = 0; a < input_.arrays.size(); ++a) {
      const NpyArray& found = part.TaskArray(task_, set_, static_cast<int>(a));
      const InputTensor& expected = input_.arrays[a];
      const size_t row_bytes = found.row_bytes();
      const std::byte* found_row = found.data().data() + position * row_bytes;
      const std::byte* input_row = expected.array->data().data() + row * row_bytes;
      if (SameRow(expected, found_row, input_row)) continue;
      findings_->Add("{}, part {}: `{}` of row {} of the input differs", name_, owner,
                     expected.spec.name, row);
    }
  }

  [[nodiscard]] bool SameRow(const InputTensor& tensor, const std::byte* found,
                             const std::byte* input) const {
    const std::string& name = tensor.spec.name;
    const bool sources = input_.edges && name == "negative_srcs";
    const bool destinations = input_.edges && name == "negative_dsts";
    if (name != "seeds" && !sources && !destinations) {
      return std::memcmp(found, input, tensor.array->row_bytes()) == 0;
    }
    for (int64_t column = 0; column < tensor.array->cols(); ++column) {
      const int type = sources        ? source_type_
                       : destinations ? destination_type_
                                      : ColumnType(column);
      int64_t found_id = 0, input_id = 0;
      std::memcpy(&found_id, found + column * sizeof found_id, sizeof found_id);
      std::memcpy(&input_id, input + column * sizeof input_id, sizeof input_id);
      const int64_t count = graph_.schema().node_types[type].count;
      if (input_id < 0 || input_id >= count || maps_.GlobalId(type, input_id) != found_id) {
        return false;
      }
    }
    return true;
  }

  const PartitionSet& graph_;
  const InputTaskSet& input_;
  const int task_;
  const int set_;
  const std::string name_;
  const NodeMaps& maps_;
  Findings* const findings_;
  int source_type_ = -1;
  int destination_type_ = -1;
  std::span<const int64_t> seeds_;
  std::vector<int64_t> next_;  // rows matched, per part
};

}  // namespace

Status VerifyTasks(const Dataset& dataset, const PartitionSet& graph, const NodeMaps& maps,
                   Findings* findings) {
  for (size_t task = 0; task < dataset.tasks.size(); ++task) {
    for (size_t set = 0; set < dataset.tasks[task].sets.size(); ++set) {
      TaskSetVerifier verifier(dataset, graph, static_cast<int>(task), static_cast<int>(set), maps,
                               findings);
      HG_RETURN_IF_ERROR(verifier.Verify());
    }
  }
  return OkStatus();
}

}  // namespace halograph
