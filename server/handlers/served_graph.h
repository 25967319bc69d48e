// What a server serves: some parts of one graph, mapped, and the checks that every handler makes
// of ids. Immutable; thread-safe. Spans and references live as long as the object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/graph/row_source.h"

namespace halograph::server {

class ServedGraph {
 public:
  // Requires a set of at least one part.
  explicit ServedGraph(std::unique_ptr<PartitionSet> set);

  [[nodiscard]] const Schema& schema() const { return set_->schema(); }
  [[nodiscard]] const PartitionBook& book() const { return set_->book(); }
  [[nodiscard]] const std::string& identity() const { return set_->identity(); }
  [[nodiscard]] const Topology& topology() const { return set_->topology(); }
  // What may be pulled, and the rows of it that are here.
  [[nodiscard]] const TensorCatalog& tensors() const { return *tensors_; }
  [[nodiscard]] const PartitionSet& set() const { return *set_; }
  [[nodiscard]] std::span<const std::unique_ptr<Partition>> parts() const { return set_->parts(); }
  // Of every part: what was opened, which is what is served.
  [[nodiscard]] const PartContents& contents() const { return set_->parts()[0]->contents(); }
  // FailedPrecondition, saying what to do, if the topology was not opened.
  [[nodiscard]] Status CheckServesTopology() const;
  // The part, or nullptr if it is not served here (any number may be asked for).
  [[nodiscard]] const Partition* Find(int64_t part) const;
  // Ascending.
  [[nodiscard]] const std::vector<int>& part_numbers() const { return part_numbers_; }
  // "part 0" or "parts 0, 2"
  [[nodiscard]] const std::string& parts_text() const { return parts_text_; }

  // Features that nobody can pull, since not one row fits into a message, of which clients leave 64
  // KiB free, or half: a line each, with the bytes of a row and the --max-message-bytes it takes.
  [[nodiscard]] std::vector<std::string> RowsBeyond(int64_t max_message_bytes) const;

  // OutOfRange for the first id that no part here owns: names the id, its position, and its owner
  // and the parts served here, or the count. `boundaries`: those of the ids' type; `what`: "node
  // type paper".
  [[nodiscard]] Status CheckOwned(std::span<const int64_t> boundaries, std::span<const int64_t> ids,
                                  std::string_view what) const;

 private:
  [[nodiscard]] Status NotOwned(std::span<const int64_t> boundaries, std::span<const int64_t> ids,
                                size_t position, std::string_view what) const;

  std::unique_ptr<PartitionSet> set_;
  std::unique_ptr<TensorCatalog> tensors_;  // of set_
  std::vector<int> part_numbers_;
  std::string parts_text_;
};

}  // namespace halograph::server
