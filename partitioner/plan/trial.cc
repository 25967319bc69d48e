#include "partitioner/plan/trial.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "common/storage/file.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/write/graph_writer.h"

namespace halograph {
namespace {

constexpr int64_t kTrialEdges = int64_t{1} << 19;
constexpr int64_t kLeastNodes = 1024;
constexpr int64_t kMostNodes = int64_t{1} << 18;
constexpr int64_t kCommunities = 16;
constexpr double kInside = 0.8;
// A short trial is repeated, and the fastest counts: others are disturbed by what else runs.
constexpr int kMostTrials = 3;
constexpr double kEnoughSeconds = 0.3;

// In no order, which streaming methods take longest for: a graph's own order spares misses. Counts
// its passes, which says how many a method makes.
class TrialEdges : public EdgeSource {
 public:
  explicit TrialEdges(const TrialSize& size) {
    CounterRng rng(kTrialEdges);
    const int64_t draws = size.reciprocal ? size.edges / 2 : size.edges;
    for (int64_t i = 0; i < draws; ++i) {
      const auto u = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(size.nodes)));
      const bool inside = rng.NextDouble() < kInside;
      const auto v = static_cast<int64_t>(
          inside
              ? rng.NextBounded(static_cast<uint64_t>(size.nodes / kCommunities)) * kCommunities +
                    static_cast<uint64_t>(u % kCommunities)
              : rng.NextBounded(static_cast<uint64_t>(size.nodes)));
      Add(u, v);
      if (size.reciprocal) Add(v, u);
    }
  }

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    ++passes_;
    return std::unique_ptr<EdgeCursor>(std::make_unique<Cursor>(this));
  }
  int64_t max_edges() const override { return static_cast<int64_t>(sources_.size()); }
  [[nodiscard]] int passes() const { return passes_; }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(const TrialEdges* edges) : edges_(edges) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      chunk->clear();
      const size_t end = std::min(edges_->sources_.size(), next_ + kEdgeChunk);
      const auto begin = static_cast<std::ptrdiff_t>(next_);
      const auto stop = static_cast<std::ptrdiff_t>(end);
      chunk->sources.assign(edges_->sources_.begin() + begin, edges_->sources_.begin() + stop);
      chunk->destinations.assign(edges_->destinations_.begin() + begin,
                                 edges_->destinations_.begin() + stop);
      for (; next_ < end; ++next_) chunk->ids.push_back(static_cast<int64_t>(next_));
      return chunk->size() > 0;
    }

   private:
    const TrialEdges* edges_;
    size_t next_ = 0;
  };

  void Add(int64_t source, int64_t destination) {
    sources_.push_back(source);
    destinations_.push_back(destination);
  }

  std::vector<int64_t> sources_, destinations_;
  mutable int passes_ = 0;
};

Dataset DatasetOf(std::shared_ptr<const EdgeSource> edges, const TrialSize& size) {
  Dataset dataset;
  dataset.name = "trial";
  dataset.node_types.push_back(
      {.name = kHomogeneousNode, .count = size.nodes, .features = {}, .original_ids = nullptr});
  dataset.relations.push_back({.source = kHomogeneousNode,
                               .name = kHomogeneousEdge,
                               .destination = kHomogeneousNode,
                               .edges = std::move(edges),
                               .features = {}});
  return dataset;
}

}  // namespace

TrialSize TrialSize::For(const GraphCounts& counts, double reciprocity) {
  const double nodes = static_cast<double>(std::max<int64_t>(counts.num_nodes(), 1));
  const double degree = static_cast<double>(counts.num_edges()) / nodes;
  TrialSize size;
  const int64_t edges = std::min(kTrialEdges, counts.num_edges());
  size.nodes = static_cast<int64_t>(static_cast<double>(edges) / std::max(degree, 0.01));
  size.nodes = std::clamp(size.nodes, kLeastNodes, kMostNodes);
  size.edges = std::max<int64_t>(2, static_cast<int64_t>(static_cast<double>(size.nodes) * degree));
  size.edges = std::min(size.edges, kTrialEdges);
  size.reciprocal = reciprocity > 0.5;
  return size;
}

StatusOr<MethodTrial> TryMethod(const std::string& name, const MethodOptions& options,
                                const TrialSize& size, const std::filesystem::path& scratch) {
  const auto edges = std::make_shared<TrialEdges>(size);
  const Dataset dataset = DatasetOf(edges, size);
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(name));
  MethodTrial trial;
  trial.size = size;
  double total = 0;
  for (int i = 0; i < kMostTrials && total < kEnoughSeconds; ++i) {
    HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create(scratch / "trial"));
    MethodOptions own = options;
    own.scratch = folder.path();
    const int passes_before = edges->passes();
    const Stopwatch watch;
    HG_ASSIGN_OR_RETURN(const Assignment assignment, method->Assign(dataset, own));
    const double seconds = watch.Seconds();
    trial.seconds = i == 0 ? seconds : std::min(trial.seconds, seconds);
    trial.passes = edges->passes() - passes_before;
    trial.attempts = std::max(1, assignment.report.value("attempts", 1));
    total += seconds;
  }
  return trial;
}

StatusOr<double> TryWriting(int parts, const TrialSize& size,
                            const std::filesystem::path& scratch) {
  const Dataset dataset = DatasetOf(std::make_shared<TrialEdges>(size), size);
  HG_ASSIGN_OR_RETURN(Assignment assignment, RandomMethod().Assign(dataset, {.parts = parts}));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create(scratch / "trial"));
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(const Renumbering numbering,
                      Renumbering::Create(dataset, std::move(assignment), parts));
  HG_RETURN_IF_ERROR(WriteGraph({dataset, numbering, folder.path(), {}}, Json::object()).status());
  return watch.Seconds();
}

}  // namespace halograph
