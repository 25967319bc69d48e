#include "partitioner/write/task_writer.h"

#include <cstring>

#include "partitioner/methods/task_columns.h"
#include "partitioner/write/mapped_npy.h"

namespace halograph {
namespace {

struct RowOwners {
  std::vector<uint16_t> owner;  // per row
  std::vector<int64_t> rows;    // per partition
};

RowOwners FindOwners(const WriteContext& context, const TaskColumns& columns) {
  RowOwners result;
  result.rows.assign(static_cast<size_t>(context.num_parts()), 0);
  const std::vector<uint16_t>& owners = context.numbering.Owners(columns.owner_type());
  result.owner.resize(static_cast<size_t>(columns.rows));
  for (int64_t row = 0; row < columns.rows; ++row) {
    const uint16_t owner = owners[static_cast<size_t>(columns.OwnerId(row))];
    result.owner[static_cast<size_t>(row)] = owner;
    ++result.rows[owner];
  }
  return result;
}

// Node types of an array's columns; empty where it holds no node ids.
std::vector<int> IdColumns(const InputTaskSet& set, const TaskColumns& columns,
                           const InputTensor& tensor) {
  if (tensor.spec.name == "seeds") return columns.node_types;
  const auto width = static_cast<size_t>(tensor.spec.dim);
  if (!set.edges || tensor.spec.dtype != DType::kInt64) return {};
  if (tensor.spec.name == "negative_srcs") {
    return std::vector<int>(width, columns.node_types.front());
  }
  if (tensor.spec.name == "negative_dsts") {
    return std::vector<int>(width, columns.node_types.back());
  }
  return {};
}

// Input ids at `from` to global ids at `to`. OutOfRange for an id beyond its count.
Status MapRow(const Renumbering& numbering, const std::vector<int>& types,
              const InputTensor& tensor, int64_t row, const std::byte* from, std::byte* to) {
  for (size_t column = 0; column < types.size(); ++column) {
    int64_t id = 0;
    std::memcpy(&id, from + column * sizeof(id), sizeof(id));
    const GlobalIdArray& global_ids = numbering.GlobalIds(types[column]);
    if (id < 0 || id >= global_ids.size()) {
      return OutOfRange("{}: row {} column {} holds node id {}, but the type has {} nodes",
                        tensor.path, row, column, id, global_ids.size());
    }
    id = global_ids[id];
    std::memcpy(to + column * sizeof(id), &id, sizeof(id));
  }
  return OkStatus();
}

Status WriteArray(const WriteContext& context, const std::string& folder, const RowOwners& owners,
                  const InputTensor& tensor, const std::vector<int>& id_columns) {
  std::vector<MappedNpy> files;
  std::vector<std::byte*> next;
  for (size_t p = 0; p < owners.rows.size(); ++p) {
    HG_ASSIGN_OR_RETURN(
        MappedNpy file,
        MappedNpy::Create(context.PartFolder(static_cast<int>(p)) / folder /
                              (PercentEncode(tensor.spec.name) + ".npy"),
                          tensor.spec.dtype, owners.rows[p], tensor.spec.dim, tensor.spec.rank));
    next.push_back(file.data());
    files.push_back(std::move(file));
  }
  const size_t row_bytes = tensor.array->row_bytes();
  const std::byte* from = tensor.array->data().data();
  for (size_t row = 0; row < owners.owner.size(); ++row, from += row_bytes) {
    std::byte*& to = next[owners.owner[row]];
    if (id_columns.empty()) {
      std::memcpy(to, from, row_bytes);
    } else {
      HG_RETURN_IF_ERROR(
          MapRow(context.numbering, id_columns, tensor, static_cast<int64_t>(row), from, to));
    }
    to += row_bytes;
  }
  for (MappedNpy& file : files) HG_RETURN_IF_ERROR(file.Close());
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<int64_t>> WriteTaskSet(const WriteContext& context, const InputTask& task,
                                            const InputTaskSet& set) {
  HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(context.dataset, set));
  RowOwners owners = FindOwners(context, columns);
  const std::string folder = TaskSetFolder(task.name, set.set, set.type);
  for (const InputTensor& tensor : set.arrays) {
    HG_RETURN_IF_ERROR(
        WriteArray(context, folder, owners, tensor, IdColumns(set, columns, tensor)));
  }
  return std::move(owners.rows);
}

}  // namespace halograph
