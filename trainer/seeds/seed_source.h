// What a task goes through, row by row, and what a minibatch is sampled for: the border between a
// task, which knows what a row means, and the pipeline, which knows when its turn is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/minibatch.h"
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
    // How many of them, the first ones, are asked for: the batch has the positions of these. The
    // rest only makes the layers larger. Negative: all.
    int64_t asked = -1;
  };
  struct Excluded {
    int relation = 0;
    std::vector<int64_t> sources, destinations;
  };
  std::vector<List> seeds;        // types ascending, each at most once
  std::vector<Excluded> exclude;  // relations ascending, each at most once
  // Of the rows. A task may have several seeds a row, or several rows a seed: only the task reads
  // seeds and labels together. Of NodeSeeds: label row i is that of seed i, counted through all
  // lists.
  LabelRows labels;
};

// The rows that a step turns out to be about, once its minibatch is drawn.
struct FoundRows {
  int type = 0;                    // of their nodes, index in the schema
  std::vector<int32_t> positions;  // of each row's node among the minibatch's of that type
  LabelRows labels;                // of the rows
  bool weighed = false;            // whether rows stand for others, that were not drawn
  std::vector<float> weights;      // what each row's loss counts then; else all count alike
};

// The rows of one set of a task: of all ranks they are counted, this rank's are here. Immutable;
// thread-safe.
//
// Node tasks: a row is a seed (NodeSeeds). Edge tasks: a row is an edge, its two ends and the ends
// of its negatives are the seeds; negatives are drawn in Collect by the key that it is given.
class SeedSource {
 public:
  virtual ~SeedSource() = default;

  // How the rows of all ranks, sorted by the node that each lives with, are owned: parts + 1
  // ascending boundaries. Rows are split among ranks by it (SplitRows); the last one is their
  // number.
  [[nodiscard]] virtual std::span<const int64_t> part_rows() const = 0;
  [[nodiscard]] int64_t rows() const { return part_rows().back(); }
  // Overwrites `step` with what rows `rows` (positions among those of all ranks) are about.
  // Requires them to be of this rank's shard. All that is random depends on `key` alone, which
  // differs by seed, purpose, epoch, step and rank.
  [[nodiscard]] virtual Status Collect(std::span<const int64_t> rows, uint64_t key,
                                       StepSeeds* step) const = 0;
  // Whether a step's rows are found in what is drawn for it (FindRows): Collect then gives nothing.
  [[nodiscard]] virtual bool finds_rows() const { return false; }
  // Requires finds_rows(), and a minibatch of a subgraph.
  [[nodiscard]] virtual FoundRows FindRows(const Minibatch& /*minibatch*/) const { return {}; }
};

// A row is a node. A step has a list of each node type that some of its rows are of; within a list,
// rows are in the order asked for.
class NodeSeeds final : public SeedSource {
 public:
  // `type`: of the nodes, index in the schema. `seeds` ascending: rows from `first_row` on.
  // `labels`: one row a seed, or none. `part_rows` empty: all rows are here and of one part.
  NodeSeeds(int type, std::vector<int64_t> seeds, LabelRows labels = {},
            std::vector<int64_t> part_rows = {}, int64_t first_row = 0)
      : type_(type),
        seeds_(std::move(seeds)),
        labels_(std::move(labels)),
        part_rows_(part_rows.empty() ? std::vector<int64_t>{0, std::ssize(seeds_)}
                                     : std::move(part_rows)),
        first_row_(first_row) {}
  // Of several node types: `types` has that of each seed.
  NodeSeeds(std::vector<int32_t> types, std::vector<int64_t> seeds, LabelRows labels,
            std::vector<int64_t> part_rows, int64_t first_row)
      : NodeSeeds(0, std::move(seeds), std::move(labels), std::move(part_rows), first_row) {
    types_ = std::move(types);
  }

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return part_rows_; }
  [[nodiscard]] const LabelRows& labels() const { return labels_; }
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  [[nodiscard]] int TypeOf(size_t position) const {
    return types_.empty() ? type_ : types_[position];
  }

  const int type_;
  std::vector<int32_t> types_;  // of each seed; empty: all of type_
  const std::vector<int64_t> seeds_;
  const LabelRows labels_;
  const std::vector<int64_t> part_rows_;
  const int64_t first_row_;
};

// All nodes of a type: row v is node v.
class NodeRange final : public SeedSource {
 public:
  // `boundaries`: of the type in the partition book, parts + 1.
  NodeRange(int type, std::span<const int64_t> boundaries)
      : type_(type), part_rows_(boundaries.begin(), boundaries.end()) {}

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return part_rows_; }
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  const int type_;
  const std::vector<int64_t> part_rows_;
};

}  // namespace halograph
