// Data sets for tests without an input folder: edges from memory, tensors from .npy files in the
// test's own folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/storage/npy.h"
#include "partitioner/readers/dataset.h"
#include "tests/support/test_folder.h"

namespace halograph {

using EdgePairs = std::vector<std::pair<int64_t, int64_t>>;  // (source, destination)

// Gives edges in chunks of seven, so that small graphs meet the borders of chunks.
class MemoryEdges : public EdgeSource {
 public:
  explicit MemoryEdges(EdgePairs edges, bool drop_self_loops = false)
      : edges_(std::move(edges)), drop_self_loops_(drop_self_loops) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::unique_ptr<EdgeCursor>(std::make_unique<Cursor>(this));
  }
  int64_t max_edges() const override { return static_cast<int64_t>(edges_.size()); }
  bool exact() const override { return !drop_self_loops_; }
  int64_t DroppedLoops(int64_t streamed) const override {
    return drop_self_loops_ ? max_edges() - streamed : 0;
  }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(const MemoryEdges* edges) : edges_(edges) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      chunk->clear();
      for (; next_ < edges_->edges_.size() && chunk->size() < 7; ++next_) {
        const auto& [source, destination] = edges_->edges_[next_];
        if (edges_->drop_self_loops_ && source == destination) continue;
        chunk->sources.push_back(source);
        chunk->destinations.push_back(destination);
        chunk->ids.push_back(static_cast<int64_t>(next_));
      }
      return chunk->size() > 0;
    }

   private:
    const MemoryEdges* edges_;
    size_t next_ = 0;
  };

  EdgePairs edges_;
  bool drop_self_loops_;
};

// Gives `first` on the first passes and `later` after that, as a file that is being written.
class ChangingEdges : public EdgeSource {
 public:
  ChangingEdges(const EdgePairs& first, const EdgePairs& later, int first_passes = 1)
      : first_(first), later_(later), first_passes_(first_passes) {}
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return passes_++ < first_passes_ ? first_.Open() : later_.Open();
  }
  int64_t max_edges() const override { return first_.max_edges(); }

 private:
  MemoryEdges first_, later_;
  int first_passes_;
  mutable int passes_ = 0;
};

class DatasetBuilder {
 public:
  DatasetBuilder() { dataset_.name = "memory"; }

  // In byte order of names.
  DatasetBuilder& Nodes(const std::string& name, int64_t count) {
    dataset_.node_types.push_back(
        {.name = name, .count = count, .features = {}, .original_ids = nullptr});
    return *this;
  }
  DatasetBuilder& Edges(const std::string& source, const std::string& name,
                        const std::string& destination, EdgePairs edges,
                        bool drop_self_loops = false) {
    dataset_.relations.push_back(
        {.source = source,
         .name = name,
         .destination = destination,
         .edges = std::make_shared<MemoryEdges>(std::move(edges), drop_self_loops),
         .features = {}});
    return *this;
  }
  template <typename T>
  DatasetBuilder& NodeFeature(const std::string& name, const std::vector<T>& values, int64_t dim) {
    dataset_.node_types.back().features.push_back(Tensor(name, values, dim));
    return *this;
  }
  template <typename T>
  DatasetBuilder& EdgeFeature(const std::string& name, const std::vector<T>& values, int64_t dim,
                              int64_t row_divisor = 1) {
    dataset_.relations.back().features.push_back(Tensor(name, values, dim));
    dataset_.relations.back().features.back().row_divisor = row_divisor;
    return *this;
  }
  // Sets of one task; width 1 makes rank 1.
  DatasetBuilder& TaskSet(const std::string& set, const std::string& type, bool edges,
                          const std::vector<int64_t>& seeds, int64_t width = 1) {
    if (dataset_.tasks.empty()) {
      dataset_.tasks.push_back({.name = "task", .metadata = {{"num_classes", 3}}, .sets = {}});
    }
    std::vector<InputTensor> arrays = {Tensor("seeds", seeds, width == 1 ? 0 : width)};
    dataset_.tasks.back().sets.push_back(
        {.set = set, .type = type, .edges = edges, .arrays = std::move(arrays)});
    return *this;
  }
  template <typename T>
  DatasetBuilder& TaskArray(const std::string& name, const std::vector<T>& values,
                            int64_t dim = 0) {
    dataset_.tasks.back().sets.back().arrays.push_back(Tensor(name, values, dim));
    return *this;
  }

  [[nodiscard]] const Dataset& dataset() const { return dataset_; }

 private:
  template <typename T>
  InputTensor Tensor(const std::string& name, const std::vector<T>& values, int64_t dim) {
    const auto path = folder_.path() / (std::to_string(next_++) + "-" + name + ".npy");
    const Status written = WriteNpy<T>(path, values, dim);
    EXPECT_TRUE(written.ok()) << written;
    auto opened = NpyArray::Open(path);
    EXPECT_TRUE(opened.ok()) << opened.status();
    InputTensor tensor;
    tensor.spec = {
        .name = name, .dtype = DTypeOf<T>(), .rank = dim > 0 ? 2 : 1, .dim = dim > 0 ? dim : 1};
    tensor.path = path.string();
    tensor.array = std::make_shared<const NpyArray>(std::move(opened).value());
    return tensor;
  }

  TestFolder folder_;
  Dataset dataset_;
  int next_ = 0;
};

inline EdgePairs RandomEdges(int64_t sources, int64_t destinations, int64_t count, uint64_t key) {
  CounterRng rng(key);
  EdgePairs edges;
  for (int64_t i = 0; i < count; ++i) {
    const auto u = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(sources)));
    edges.emplace_back(u, rng.NextBounded(static_cast<uint64_t>(destinations)));
  }
  return edges;
}

// `rings` rings of `size` nodes, each node joined to the next three of its ring in both
// directions; ring r and r + 1 share one edge.
inline EdgePairs RingsOfNodes(int64_t rings, int64_t size) {
  EdgePairs edges;
  auto join = [&](int64_t u, int64_t v) {
    edges.emplace_back(u, v);
    edges.emplace_back(v, u);
  };
  for (int64_t ring = 0; ring < rings; ++ring) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t step = 1; step <= 3; ++step) {
        join(ring * size + i, ring * size + (i + step) % size);
      }
    }
    if (ring > 0) join(ring * size, ring * size - 1);
  }
  return edges;
}

}  // namespace halograph
