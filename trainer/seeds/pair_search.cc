#include "trainer/seeds/pair_search.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "trainer/seeds/edge_rows.h"

namespace halograph {
namespace {

constexpr const char* kSets[] = {"train", "valid", "test"};

}  // namespace

PairSearch::PairSearch(const Stores& stores, const Task& task, std::vector<int> parts,
                       int64_t pairs_at_once)
    : stores_(stores), task_(task), parts_(std::move(parts)), pairs_at_once_(pairs_at_once) {
  for (size_t set = 0; set < part_rows_.size(); ++set) {
    part_rows_[set] = EdgePartRows(stores.graph->info(), task, kSets[set]);
  }
}

Status PairSearch::Step() {
  const auto part = static_cast<size_t>(parts_[part_]);
  int64_t all = 0;
  for (const std::vector<int64_t>& rows : part_rows_) {
    if (!rows.empty()) all += rows[part + 1] - rows[part];
  }
  slices_ = std::max<int64_t>(1, (all + pairs_at_once_ - 1) / pairs_at_once_);
  std::vector<Row> rows;
  rows.reserve(static_cast<size_t>(all / slices_ + all / slices_ / 16));
  for (size_t set = 0; set < part_rows_.size(); ++set) {
    HG_RETURN_IF_ERROR(Read(static_cast<int>(part), set, &rows));
  }
  const auto pair_of = [](const Row& row) {
    return std::tie(row.destination, row.source, row.relation);
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::tuple_cat(pair_of(a), std::tie(a.place)) <
           std::tuple_cat(pair_of(b), std::tie(b.place));
  });
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && pair_of(rows[end]) == pair_of(rows[begin])) ++end;
    Count(rows.data() + begin, rows.data() + end);
  }
  if (++slice_ == slices_) {
    ++part_;
    slice_ = 0;
  }
  return OkStatus();
}

Status PairSearch::Read(int part, size_t set, std::vector<Row>* rows) {
  const std::vector<int64_t>& boundaries = part_rows_[set];
  if (boundaries.empty()) return OkStatus();
  const IdRange range = {boundaries[static_cast<size_t>(part)],
                         boundaries[static_cast<size_t>(part) + 1]};
  return ForEachRow(
      stores_, task_, kSets[set], range,
      [&](int relation, std::span<const int64_t> pairs, const std::vector<bool>& negative) {
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
          if (pairs[i + 1] % slices_ != slice_) continue;
          const bool given = !negative.empty() && negative[i / 2];
          rows->push_back(
              {pairs[i], pairs[i + 1], relation, static_cast<int32_t>(2 * set + (given ? 1 : 0))});
        }
      });
}

void PairSearch::Count(const Row* begin, const Row* end) {
  std::array<int64_t, 6> times = {};
  for (const Row* row = begin; row != end; ++row) ++times[static_cast<size_t>(row->place)];
  std::array<bool, 3> edge = {};
  for (size_t set = 0; set < edge.size(); ++set) {
    const int64_t edges = times[2 * set], negatives = times[2 * set + 1];
    edge[set] = edges > 0;
    counts_.edges[set] += edges;
    counts_.given_negatives[set] += negatives;
    counts_.repeats[set] += std::max<int64_t>(0, edges - 1) + std::max<int64_t>(0, negatives - 1);
    if (edge[set]) counts_.contradicted[set] += negatives;
  }
  counts_.valid_in_train += edge[0] && edge[1] ? 1 : 0;
  counts_.test_in_train += edge[0] && edge[2] ? 1 : 0;
  counts_.test_in_valid += edge[1] && edge[2] ? 1 : 0;
}

}  // namespace halograph
