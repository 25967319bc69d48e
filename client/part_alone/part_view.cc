#include "client/part_alone/part_view.h"

#include <utility>

namespace halograph {
namespace {

GraphInfo InfoOfPart(GraphInfo info, int part) {
  for (auto& task : info.task_rows) {
    for (std::vector<int64_t>& boundaries : task) {
      const auto p = static_cast<size_t>(part);
      const int64_t rows = boundaries[p + 1] - boundaries[p];
      for (size_t i = 0; i < boundaries.size(); ++i) boundaries[i] = i <= p ? 0 : rows;
    }
  }
  return info;
}

class GraphView final : public GraphStore {
 public:
  GraphView(GraphStore* whole, int part) : whole_(*whole), info_(InfoOfPart(whole->info(), part)) {}

  const GraphInfo& info() const override { return info_; }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return whole_.Sample(requests, context, minibatches);
  }
  Status SampleLayer(std::span<const LayerGroup> groups, CallContext& context,
                     std::vector<NeighborPicks>* picks) override {
    return whole_.SampleLayer(groups, context, picks);
  }

 private:
  GraphStore& whole_;
  const GraphInfo info_;
};

class KVView final : public KVStore {
 public:
  KVView(KVStore* whole, int part)
      : whole_(*whole), part_(static_cast<size_t>(part)), info_(InfoOfPart(whole->info(), part)) {}

  const GraphInfo& info() const override { return info_; }
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    return whole_.Pull(requests, context);
  }
  std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override {
    return whole_.InPlace(tensor);
  }
  StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                CallContext& context) override {
    HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                        FindTaskSet(info_.schema, set.task, set.set, set.type));
    const auto t = static_cast<size_t>(index.task), s = static_cast<size_t>(index.set);
    const int64_t count = info_.task_rows[t][s].back();
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > count) {
      return OutOfRange(
          "rows [{}, {}) of task set '{} / {} / {}' are asked for; part {} has {} of them",
          rows.begin, rows.end, set.task, set.set, set.type, part_, count);
    }
    const int64_t first = whole_.info().task_rows[t][s][part_];
    HG_ASSIGN_OR_RETURN(TaskSet read,
                        whole_.ReadTaskSet(set, {first + rows.begin, first + rows.end}, context));
    read.rows = rows;
    return read;
  }

 private:
  KVStore& whole_;
  const size_t part_;
  const GraphInfo info_;
};

}  // namespace

std::unique_ptr<GraphStore> MakePartView(GraphStore* whole, int part) {
  return std::make_unique<GraphView>(whole, part);
}
std::unique_ptr<KVStore> MakePartView(KVStore* whole, int part) {
  return std::make_unique<KVView>(whole, part);
}

}  // namespace halograph
