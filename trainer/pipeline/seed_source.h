// What a task goes through, row by row, and what a minibatch is sampled for: the border between a
// task, which knows what a row means, and the pipeline, which knows when its turn is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/storage/dtype.h"

namespace halograph {

// Labels of a minibatch's rows, in the order of the rows, `dim` elements of `dtype` each: a class,
// a value, several of either. Empty where nothing is known of the rows (prediction).
struct LabelRows {
  DType dtype = DType::kInt64;
  int64_t dim = 1;
  std::vector<std::byte> data;

  [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(dim) * DTypeSize(dtype); }
  [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(data.size() / row_bytes()); }
  // Requires T to be what dtype says.
  template <typename T>
  [[nodiscard]] std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

// What one minibatch is about: SampleRequest's lists (common/sampling/request.h), held by value.
struct StepSeeds {
  struct List {
    int type = 0;              // of nodes, index in the schema
    std::vector<int64_t> ids;  // global ids, any order, repeats allowed
  };
  struct Excluded {
    int relation = 0;
    std::vector<int64_t> sources, destinations;
  };
  std::vector<List> seeds;        // types ascending, each at most once
  std::vector<Excluded> exclude;  // relations ascending, each at most once
  // Of the rows. A task may have several seeds a row, or several rows a seed: only the task reads
  // seeds and labels together.
  LabelRows labels;
};

// The rows of one set of a task, of all ranks. Immutable; thread-safe.
//
// Node tasks: a row is a seed (NodeSeeds). Edge tasks: a row is an edge, its two ends and the ends
// of its negatives are the seeds; negatives are drawn in Collect by the key that it is given.
class SeedSource {
 public:
  virtual ~SeedSource() = default;

  // Per row the node that it lives with, ascending: rows are split among ranks by it (SplitSeeds).
  [[nodiscard]] virtual std::span<const int64_t> owners() const = 0;
  // Overwrites `step` with what rows `rows` (positions in owners()) are about. All that is random
  // depends on `key` alone, which differs by seed, purpose, epoch, step and rank.
  [[nodiscard]] virtual Status Collect(std::span<const int64_t> rows, uint64_t key,
                                       StepSeeds* step) const = 0;
};

// A row is a node.
class NodeSeeds final : public SeedSource {
 public:
  // `type`: of the nodes, index in the schema. `seeds` ascending. `labels`: one row a seed, or
  // none.
  NodeSeeds(int type, std::vector<int64_t> seeds, LabelRows labels = {})
      : type_(type), seeds_(std::move(seeds)), labels_(std::move(labels)) {}

  [[nodiscard]] std::span<const int64_t> owners() const override { return seeds_; }
  [[nodiscard]] const LabelRows& labels() const { return labels_; }
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  const int type_;
  const std::vector<int64_t> seeds_;
  const LabelRows labels_;
};

}  // namespace halograph
