#include "common/state/engine/rows/row_origins.h"

#include <utility>

namespace halograph {

StatusOr<RowOrigins> RowOrigins::Make(const MutableTensorSpec& spec,
                                      std::shared_ptr<const RowPlacement> placement,
                                      IdRange positions, const StateGraph& graph) {
  RowOrigins origins(std::move(placement), positions);
  if (spec.placement != Placement::kNodes && spec.placement != Placement::kEdges) return origins;
  const bool edge = spec.placement == Placement::kEdges;
  HG_ASSIGN_OR_RETURN(const int type, edge ? graph.schema->RelationIndex(spec.ref.type)
                                           : graph.schema->NodeTypeIndex(spec.ref.type));
  HG_ASSIGN_OR_RETURN(origins.of_graph_, graph.original_ids(edge, type));
  origins.by_graph_ = true;
  if (static_cast<int64_t>(origins.of_graph_.size()) != positions.size()) {
    return Internal("{}: {} original ids of {} rows", spec.ref.ToString(), origins.of_graph_.size(),
                    positions.size());
  }
  return origins;
}

std::span<const int64_t> RowOrigins::Of(int64_t begin, int64_t end,
                                        std::vector<int64_t>* made) const {
  if (by_graph_) {
    return of_graph_.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
  made->clear();
  for (int64_t row = begin; row < end; ++row)
    made->push_back(placement_->Id(positions_.begin + row));
  return *made;
}

}  // namespace halograph
