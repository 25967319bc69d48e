#include "partitioner/readers/edge_filters.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace halograph {
namespace {

class WithReverseCursor : public EdgeCursor {
 public:
  WithReverseCursor(std::unique_ptr<EdgeCursor> edges, bool reverse_loops)
      : edges_(std::move(edges)), reverse_loops_(reverse_loops) {}

  StatusOr<bool> Next(EdgeChunk* chunk) override {
    chunk->clear();
    if (position_ == given_.size()) {
      HG_ASSIGN_OR_RETURN(const bool more, edges_->Next(&given_));
      position_ = 0;
      if (!more) return false;
    }
    const size_t end = std::min(position_ + kEdgeChunk / 2, given_.size());
    for (; position_ < end; ++position_) {
      const int64_t source = given_.sources[position_];
      const int64_t destination = given_.destinations[position_];
      const int64_t id = 2 * given_.ids[position_];
      Add(source, destination, id, chunk);
      if (source != destination || reverse_loops_) Add(destination, source, id + 1, chunk);
    }
    return true;
  }

 private:
  static void Add(int64_t source, int64_t destination, int64_t id, EdgeChunk* chunk) {
    chunk->sources.push_back(source);
    chunk->destinations.push_back(destination);
    chunk->ids.push_back(id);
  }

  std::unique_ptr<EdgeCursor> edges_;
  const bool reverse_loops_;
  EdgeChunk given_;
  size_t position_ = 0;
};

class ReversedCursor : public EdgeCursor {
 public:
  explicit ReversedCursor(std::unique_ptr<EdgeCursor> edges) : edges_(std::move(edges)) {}

  StatusOr<bool> Next(EdgeChunk* chunk) override {
    StatusOr<bool> more = edges_->Next(chunk);
    std::swap(chunk->sources, chunk->destinations);
    return more;
  }

 private:
  std::unique_ptr<EdgeCursor> edges_;
};

class WithoutSelfLoopsCursor : public EdgeCursor {
 public:
  explicit WithoutSelfLoopsCursor(std::unique_ptr<EdgeCursor> edges) : edges_(std::move(edges)) {}

  StatusOr<bool> Next(EdgeChunk* chunk) override {
    do {  // a chunk of nothing but loops is not the end
      HG_ASSIGN_OR_RETURN(const bool more, edges_->Next(chunk));
      if (!more) return false;
      DropLoops(chunk);
    } while (chunk->size() == 0);
    return true;
  }

 private:
  static void DropLoops(EdgeChunk* chunk) {
    size_t kept = 0;
    for (size_t i = 0; i < chunk->size(); ++i) {
      if (chunk->sources[i] == chunk->destinations[i]) continue;
      chunk->sources[kept] = chunk->sources[i];
      chunk->destinations[kept] = chunk->destinations[i];
      chunk->ids[kept] = chunk->ids[i];
      ++kept;
    }
    chunk->sources.resize(kept);
    chunk->destinations.resize(kept);
    chunk->ids.resize(kept);
  }

  std::unique_ptr<EdgeCursor> edges_;
};

class WithReverseSource : public EdgeSource {
 public:
  WithReverseSource(std::shared_ptr<const EdgeSource> edges, bool reverse_loops)
      : edges_(std::move(edges)), reverse_loops_(reverse_loops) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    HG_ASSIGN_OR_RETURN(std::unique_ptr<EdgeCursor> cursor, edges_->Open());
    return std::make_unique<WithReverseCursor>(std::move(cursor), reverse_loops_);
  }
  int64_t max_edges() const override { return 2 * edges_->max_edges(); }
  bool exact() const override { return reverse_loops_ && edges_->exact(); }
  // Where loops are dropped, every edge that was given came out twice.
  int64_t DroppedLoops(int64_t streamed) const override {
    return edges_->DroppedLoops(streamed / 2) * (reverse_loops_ ? 2 : 1);
  }

 private:
  std::shared_ptr<const EdgeSource> edges_;
  const bool reverse_loops_;
};

class ReversedSource : public EdgeSource {
 public:
  explicit ReversedSource(std::shared_ptr<const EdgeSource> edges) : edges_(std::move(edges)) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    HG_ASSIGN_OR_RETURN(std::unique_ptr<EdgeCursor> cursor, edges_->Open());
    return std::make_unique<ReversedCursor>(std::move(cursor));
  }
  int64_t max_edges() const override { return edges_->max_edges(); }
  bool exact() const override { return edges_->exact(); }
  int64_t DroppedLoops(int64_t streamed) const override { return edges_->DroppedLoops(streamed); }

 private:
  std::shared_ptr<const EdgeSource> edges_;
};

// Over a source that is exact.
class WithoutSelfLoopsSource : public EdgeSource {
 public:
  explicit WithoutSelfLoopsSource(std::shared_ptr<const EdgeSource> edges)
      : edges_(std::move(edges)) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    HG_ASSIGN_OR_RETURN(std::unique_ptr<EdgeCursor> cursor, edges_->Open());
    return std::make_unique<WithoutSelfLoopsCursor>(std::move(cursor));
  }
  int64_t max_edges() const override { return edges_->max_edges(); }
  bool exact() const override { return false; }
  int64_t DroppedLoops(int64_t streamed) const override { return max_edges() - streamed; }

 private:
  std::shared_ptr<const EdgeSource> edges_;
};

// With the features, of which both directions have the same.
void MakeBothWays(bool reverse_loops, InputRelation* relation) {
  relation->edges = WithReverse(std::move(relation->edges), reverse_loops);
  for (InputTensor& feature : relation->features) feature.row_divisor *= 2;
  relation->symmetric = false;
}

Status AddReverse(bool reverse_loops, Dataset* dataset) {
  std::vector<InputRelation> added;
  for (InputRelation& relation : dataset->relations) {
    if (relation.source == relation.destination) {
      MakeBothWays(reverse_loops, &relation);
      continue;
    }
    InputRelation reverse = relation;
    std::swap(reverse.source, reverse.destination);
    reverse.name = "rev_" + relation.name;
    reverse.edges = Reversed(relation.edges);
    added.push_back(std::move(reverse));
  }
  for (InputRelation& reverse : added) {
    for (const InputRelation& relation : dataset->relations) {
      if (relation.triple() == reverse.triple()) {
        return InvalidArgument(
            "relation `{}`, which --undirected adds, is already in the input: omit --undirected, "
            "or remove the relation from the input",
            reverse.triple());
      }
    }
    dataset->relations.push_back(std::move(reverse));
  }
  return OkStatus();
}

}  // namespace

std::shared_ptr<const EdgeSource> WithReverse(std::shared_ptr<const EdgeSource> edges,
                                              bool reverse_loops) {
  return std::make_shared<WithReverseSource>(std::move(edges), reverse_loops);
}

std::shared_ptr<const EdgeSource> Reversed(std::shared_ptr<const EdgeSource> edges) {
  return std::make_shared<ReversedSource>(std::move(edges));
}

std::shared_ptr<const EdgeSource> WithoutSelfLoops(std::shared_ptr<const EdgeSource> edges) {
  return std::make_shared<WithoutSelfLoopsSource>(std::move(edges));
}

Status ApplyEdgeOptions(const ReadOptions& options, Dataset* dataset) {
  if (options.self_loops == EdgePolicy::kDrop) {
    for (InputRelation& relation : dataset->relations) {
      if (relation.source == relation.destination) {
        relation.edges = WithoutSelfLoops(std::move(relation.edges));
      }
    }
  }
  for (InputRelation& relation : dataset->relations) {
    if (relation.symmetric) MakeBothWays(/*reverse_loops=*/false, &relation);
  }
  return options.undirected ? AddReverse(options.reverse_loops, dataset) : OkStatus();
}

}  // namespace halograph
