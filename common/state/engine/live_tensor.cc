#include "common/state/engine/live_tensor.h"

#include <algorithm>
#include <utility>

namespace halograph {
namespace {

constexpr int64_t kIdsAtATime = 65536;

int64_t LocalRows(const RowPlacement& placement, int part) {
  return placement.boundaries()[static_cast<size_t>(part) + 1] -
         placement.boundaries()[static_cast<size_t>(part)];
}

int64_t BytesOf(const MutableTensorSpec& spec, int64_t rows) {
  return RowTable::MemoryBytes(spec, rows) + 3 * rows / 8;  // and sets of rows
}

}  // namespace

LiveTensor::LiveTensor(uint32_t number_in, const MutableTensorSpec& spec_in,
                       std::unique_ptr<RowPlacement> placement_in, IdRange positions_in,
                       int64_t memory_bytes_in, RowTable table_in, Scheduler& scheduler)
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
  return Size{rows, BytesOf(spec, rows)};
}

StatusOr<std::shared_ptr<LiveTensor>> LiveTensor::Make(uint32_t number,
                                                       const MutableTensorSpec& spec,
                                                       const StateGraph& graph,
                                                       Scheduler& scheduler) {
  HG_ASSIGN_OR_RETURN(std::unique_ptr<RowPlacement> placement,
                      RowPlacement::Make(spec, *graph.schema, *graph.book));
  const int64_t rows = LocalRows(*placement, graph.part);
  const int64_t first = placement->boundaries()[static_cast<size_t>(graph.part)];
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, rows));
  return std::make_shared<LiveTensor>(number, spec, std::move(placement),
                                      IdRange{first, first + rows}, BytesOf(spec, rows),
                                      std::move(table), scheduler);
}

Status LiveTensor::InitializeRows(const RowSet& but, const StateGraph& graph) {
  std::span<const int64_t> of_graph;  // original ids of all rows; empty: the ids of placement
  if (spec.placement == Placement::kNodes || spec.placement == Placement::kEdges) {
    const bool edge = spec.placement == Placement::kEdges;
    HG_ASSIGN_OR_RETURN(const int type, edge ? graph.schema->RelationIndex(spec.ref.type)
                                             : graph.schema->NodeTypeIndex(spec.ref.type));
    HG_ASSIGN_OR_RETURN(of_graph, graph.original_ids(edge, type));
    if (static_cast<int64_t>(of_graph.size()) != positions.size()) {
      return Internal("{}: {} original ids of {} rows", spec.ref.ToString(), of_graph.size(),
                      positions.size());
    }
  }
  const bool by_graph = spec.placement == Placement::kNodes || spec.placement == Placement::kEdges;
  std::vector<int64_t> made;
  for (int64_t begin = but.Next(0, false); begin < but.rows();) {
    const int64_t end = std::min(but.Next(begin, true), begin + kIdsAtATime);
    std::span<const int64_t> ids;
    if (by_graph) {
      ids = of_graph.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    } else {
      made.clear();
      for (int64_t row = begin; row < end; ++row)
        made.push_back(placement->Id(positions.begin + row));
      ids = made;
    }
    table.Initialize(begin, ids, placement->rows(), nullptr);
    begin = but.Next(end, false);
  }
  return OkStatus();
}

Status LiveTensor::ToRows(std::span<const int64_t> ids, std::vector<int64_t>* rows) const {
  rows->resize(ids.size());
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

void LiveTensor::Apply(PushKind kind, std::span<const PushedRows> lists) {
  turns.BeginChange();
  try {
    Change(kind, lists);
  } catch (...) {
    turns.EndChange();
    throw;
  }
  turns.EndChange();
}

void LiveTensor::Change(PushKind kind, std::span<const PushedRows> lists) {
  for (const PushedRows& list : lists) {
    if (capture != nullptr) capture->SaveBefore(list.rows, table);
    touched.Add(list.rows);
    dirty.Add(list.rows);
  }
  switch (kind) {
    case PushKind::kGradient:
      return table.ApplyGradients(lists, nullptr);
    case PushKind::kAdd:
      return table.Add(lists, nullptr);
    case PushKind::kAssign:
      return table.Assign(lists, nullptr);
    case PushKind::kImage:
      return table.AssignImages(lists);
  }
}

}  // namespace halograph
