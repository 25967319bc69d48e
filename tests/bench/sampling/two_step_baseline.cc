#include <memory>

#include "common/base/rng.h"
#include "common/sampling/draws.h"
#include "tests/bench/sampling/rivals.h"
#include "tests/bench/sampling/two_step.h"

namespace halograph {
namespace {

class TwoStepBaseline final : public Rival {
 public:
  TwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) : graph_(graph), pool_(pool) {}

  int64_t Sample(std::span<const int64_t> seeds, std::span<const int32_t> fanouts,
                 uint64_t batch_seed) override {
    blocks_.clear();
    nodes_ = CompactCoo(seeds, {}, pool_, nullptr);
    int64_t edges = 0;
    for (size_t l = 0; l < fanouts.size(); ++l) {
      const Coo coo = SampleToCoo(fanouts[l], LayerKey(batch_seed, static_cast<int>(l), 1, 0));
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
  Coo SampleToCoo(int32_t fanout, uint64_t layer_key) {
    const auto n = std::ssize(nodes_);
    const int64_t* const indptr = graph_->indptr.data();
    std::vector<int64_t> offsets(nodes_.size() + 1);
    ParallelFor(pool_, n, kTwoStepGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t v = nodes_[i];
        offsets[i + 1] = PicksOf(indptr[v + 1] - indptr[v], fanout, false);
      }
    });
    for (int64_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
    const auto edges = static_cast<size_t>(offsets[n]);
    Coo coo{.sources = std::vector<int64_t>(edges),
            .destinations = std::vector<int64_t>(edges),
            .edge_ids = std::vector<int64_t>(edges)};
    ParallelFor(pool_, n, kTwoStepGrain, [&](int64_t begin, int64_t end) {
      FloydDrawer floyd;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t v = nodes_[i];
        const std::span<int64_t> picks(coo.edge_ids.data() + offsets[i],
                                       static_cast<size_t>(offsets[i + 1] - offsets[i]));
        const int64_t degree = indptr[v + 1] - indptr[v];
        if (TakesAll(degree, fanout, false)) {
          for (int64_t p = 0; p < degree; ++p) picks[p] = p;
        } else {
          floyd.Draw(SubKey(layer_key, static_cast<uint64_t>(v)), degree, picks);
        }
        for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
          coo.edge_ids[e] += indptr[v];
          coo.sources[e] = graph_->indices.data()[coo.edge_ids[e]];
          coo.destinations[e] = v;
        }
      }
    });
    return coo;
  }

  const RmatCsc* graph_;
  ThreadPool* pool_;
  std::vector<int64_t> nodes_;
  std::vector<Csc> blocks_;
};

}  // namespace

std::unique_ptr<Rival> MakeTwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) {
  return std::make_unique<TwoStepBaseline>(graph, pool);
}

}  // namespace halograph
