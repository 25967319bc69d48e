#include <memory>

#include "common/sampling/request.h"
#include "tests/bench/sampling/rivals.h"
#include "tests/bench/sampling/two_step.h"

namespace halograph {
namespace {

class RmatRows {
 public:
  struct Row {
    int64_t first_edge = 0;
    int64_t degree = 0;
  };
  explicit RmatRows(const RmatCsc* graph) : graph_(*graph) {}

  Row Find(int64_t v) const {
    const int64_t* const ends = graph_.indptr.data() + v;
    return {.first_edge = ends[0], .degree = ends[1] - ends[0]};
  }
  int64_t Source(const Row& row, int64_t position) const {
    return graph_.indices.data()[row.first_edge + position];
  }

 private:
  const RmatCsc& graph_;
};

class TwoStepBaseline final : public Rival {
 public:
  TwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) : rows_(graph), pool_(pool) {}

  int64_t Sample(std::span<const int64_t> seeds, std::span<const int32_t> fanouts,
                 uint64_t batch_seed) override {
    blocks_.clear();
    nodes_ = CompactCoo(seeds, {}, pool_, nullptr);
    int64_t edges = 0;
    for (size_t l = 0; l < fanouts.size(); ++l) {
      std::vector<int64_t> offsets;
      const Coo coo = SampleToCoo(rows_, nodes_, fanouts[l],
                                  LayerKey(batch_seed, static_cast<int>(l), 1, 0), pool_, &offsets);
      Coo compact;
      std::vector<int64_t> unique = CompactCoo(nodes_, coo, pool_, &compact);
      blocks_.push_back(CooToCsc(compact, std::ssize(nodes_)));
      edges += std::ssize(coo.sources);
      nodes_ = std::move(unique);
    }
    return edges;
  }

  int64_t unique_nodes() const override { return std::ssize(nodes_); }

 private:
  const RmatRows rows_;
  ThreadPool* const pool_;
  std::vector<int64_t> nodes_;
  std::vector<Csc> blocks_;
};

}  // namespace

std::unique_ptr<Rival> MakeTwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) {
  return std::make_unique<TwoStepBaseline>(graph, pool);
}

}  // namespace halograph
