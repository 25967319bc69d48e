#include "common/state/engine/rows/live_tensor.h"

#include <utility>

#include "common/state/engine/rows/keyed_rows.h"
#include "common/state/engine/rows/memory_rows.h"

namespace halograph {
namespace {

int64_t LocalRows(const RowPlacement& placement, int part) {
  return placement.boundaries()[static_cast<size_t>(part) + 1] -
         placement.boundaries()[static_cast<size_t>(part)];
}

// Two of each tensor, and one of a checkpoint.
int64_t BytesOfSets(int64_t rows) { return 3 * rows / 8; }

StatusOr<std::unique_ptr<StateRows>> MakeRows(const MutableTensorSpec& spec, RowOrigins origins,
                                              std::shared_ptr<RowSpace> beyond,
                                              HelperThreads* helpers) {
  if (beyond != nullptr) {
    return KeyedRows::Make(spec, std::move(origins), std::move(beyond));
  }
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, origins.rows()));
  return std::make_unique<MemoryRows>(std::move(table), std::move(origins), helpers);
}

}  // namespace

LiveTensor::LiveTensor(uint32_t number_in, const MutableTensorSpec& spec_in,
                       std::shared_ptr<const RowPlacement> placement_in, IdRange positions_in,
                       int64_t memory_bytes_in, std::unique_ptr<StateRows> table_in,
                       Scheduler& scheduler)
    : number(number_in),
      spec(spec_in),
      placement(std::move(placement_in)),
      positions(positions_in),
      memory_bytes(memory_bytes_in),
      turns(scheduler),
      table(std::move(table_in)),
      touched(positions.size()),
      dirty(positions.size()) {}

StatusOr<LiveTensor::Size> LiveTensor::SizeOf(const MutableTensorSpec& spec,
                                              const StateGraph& graph) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<RowPlacement> placement,
                      RowPlacement::Make(spec, *graph.schema, *graph.book));
  const int64_t rows = LocalRows(*placement, graph.part);
  return Size{rows, RowTable::MemoryBytes(spec, rows), BytesOfSets(rows)};
}

StatusOr<std::shared_ptr<LiveTensor>> LiveTensor::Make(
    uint32_t number, const MutableTensorSpec& spec, const StateGraph& graph, Scheduler& scheduler,
    std::shared_ptr<RowSpace> beyond, HelperThreads* helpers) {
  HG_ASSIGN_OR_RETURN(std::shared_ptr<const RowPlacement> placement,
                      RowPlacement::Make(spec, *graph.schema, *graph.book));
  const int64_t rows = LocalRows(*placement, graph.part);
  const int64_t first = placement->boundaries()[static_cast<size_t>(graph.part)];
  const IdRange positions = {first, first + rows};
  const int64_t row_bytes = beyond == nullptr ? RowTable::MemoryBytes(spec, rows) : 0;
  HG_ASSIGN_OR_RETURN(RowOrigins origins, RowOrigins::Make(spec, placement, positions, graph));
  HG_ASSIGN_OR_RETURN(std::unique_ptr<StateRows> table,
                      MakeRows(spec, std::move(origins), std::move(beyond), helpers));
  return std::make_shared<LiveTensor>(number, spec, std::move(placement), positions,
                                      row_bytes + BytesOfSets(rows), std::move(table), scheduler);
}

Status LiveTensor::InitializeRows(const RowSet& but) {
  for (int64_t begin = but.Next(0, false); begin < but.rows();) {
    const int64_t end = but.Next(begin, true);
    HG_RETURN_IF_ERROR(table->Begin(begin, end));
    begin = but.Next(end, false);
  }
  return OkStatus();
}

Status LiveTensor::CheckWhole() const {
  if (whole) return OkStatus();
  return Unavailable("{}: rows miss a push; restart the server", spec.ref.ToString());
}

Status LiveTensor::ToRows(std::span<const int64_t> ids, std::vector<int64_t>* rows) const {
  rows->resize(ids.size());
  if (placement->in_order()) {
    const auto first = static_cast<uint64_t>(positions.begin);
    const auto count = static_cast<uint64_t>(positions.size());
    bool all = true;
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t row = static_cast<uint64_t>(ids[i]) - first;
      (*rows)[i] = static_cast<int64_t>(row);
      all &= row < count;
    }
    if (all) return OkStatus();  // else below, which names it
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids[i];
    const bool within = id >= 0 && id < placement->rows();
    const int64_t row = within ? placement->Position(id) - positions.begin : -1;
    if (row < 0 || row >= positions.size()) {
      return OutOfRange(
          "{}: id {} is not of this partition, which has {} of {} rows; send it to its "
          "owner",
          spec.ref.ToString(), id, positions.size(), placement->rows());
    }
    (*rows)[i] = row;
  }
  return OkStatus();
}

Status LiveTensor::Apply(PushKind kind, std::span<const PushedRows> lists) {
  turns.BeginChange();
  Status changed;
  try {
    changed = Change(kind, lists);
  } catch (...) {
    whole = false;
    turns.EndChange();
    throw;
  }
  if (!changed.ok()) whole = false;
  turns.EndChange();
  return changed;
}

Status LiveTensor::Change(PushKind kind, std::span<const PushedRows> lists) {
  for (const PushedRows& list : lists) {
    for (const auto& capture : captures) {
      HG_RETURN_IF_ERROR(capture->SaveBefore(list.rows, *table));
    }
    dirty.Add(list.rows);
  }
  HG_ASSIGN_OR_RETURN(const int64_t not_finite, table->Apply(kind, lists));
  if (not_finite > 0) not_finite_rows += not_finite;
  return OkStatus();
}

}  // namespace halograph
