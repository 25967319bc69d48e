#include "partitioner/readers/edge_filters.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace halograph {
namespace {

class WithReverseCursor : public EdgeCursor {
 public:
  explicit WithReverseCursor(std::unique_ptr<EdgeCursor> edges) : edges_(std::move(edges)) {}

  StatusOr<bool> Next(EdgeChunk* chunk) override {
    chunk->clear();
    if (position_ == given_.size()) {
      HG_ASSIGN_OR_RETURN(const bool more, edges_->Next(&given_));
      position_ = 0;
      if (!more) return false;
    }
    const size_t end = std::min(position_ + kEdgeChunk / 2, given_.size());
    for (; position_ < end; ++position_) {
      Add(given_.sources[position_], given_.destinations[position_], 2 * given_.ids[position_],
          chunk);
      Add(given_.destinations[position_], given_.sources[position_], 2 * given_.ids[position_] + 1,
          chunk);
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

// An edge source whose passes are another's, wrapped in CursorT.
template <typename CursorT>
class WrappedSource : public EdgeSource {
 public:
  WrappedSource(std::shared_ptr<const EdgeSource> edges, int64_t factor)
      : edges_(std::move(edges)), factor_(factor) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    HG_ASSIGN_OR_RETURN(std::unique_ptr<EdgeCursor> cursor, edges_->Open());
    return std::make_unique<CursorT>(std::move(cursor));
  }
  int64_t max_edges() const override { return factor_ * edges_->max_edges(); }

 private:
  std::shared_ptr<const EdgeSource> edges_;
  int64_t factor_;
};

Status AddReverse(Dataset* dataset) {
  std::vector<InputRelation> added;
  for (InputRelation& relation : dataset->relations) {
    if (relation.source == relation.destination) {
      relation.edges = WithReverse(std::move(relation.edges));
      for (InputTensor& feature : relation.features) feature.row_divisor *= 2;
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

std::shared_ptr<const EdgeSource> WithReverse(std::shared_ptr<const EdgeSource> edges) {
  return std::make_shared<WrappedSource<WithReverseCursor>>(std::move(edges), 2);
}

std::shared_ptr<const EdgeSource> Reversed(std::shared_ptr<const EdgeSource> edges) {
  return std::make_shared<WrappedSource<ReversedCursor>>(std::move(edges), 1);
}

std::shared_ptr<const EdgeSource> WithoutSelfLoops(std::shared_ptr<const EdgeSource> edges) {
  return std::make_shared<WrappedSource<WithoutSelfLoopsCursor>>(std::move(edges), 1);
}

Status ApplyEdgeOptions(const ReadOptions& options, Dataset* dataset) {
  if (options.undirected) HG_RETURN_IF_ERROR(AddReverse(dataset));
  if (options.self_loops != EdgePolicy::kDrop) return OkStatus();
  for (InputRelation& relation : dataset->relations) {
    if (relation.source == relation.destination) {
      relation.edges = WithoutSelfLoops(std::move(relation.edges));
    }
  }
  return OkStatus();
}

}  // namespace halograph
