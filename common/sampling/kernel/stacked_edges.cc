#include "common/sampling/kernel/stacked_edges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "common/base/prefetch.h"

namespace halograph {
namespace {

constexpr size_t kEdgesLookedAt = 1024;  // that are looked at before those found are written down
constexpr size_t kWordsAhead = 16;       // edges whose words are on their way from memory

// What is found for each frontier, destination by destination in the order of the scan.
class StackEdges {
 public:
  StackEdges(std::span<const EdgeGroup* const> groups, StackTables* tables)
      : found_(tables->found()), edge_ids_(std::ranges::any_of(groups, [](const EdgeGroup* group) {
          return group->wanted.edge_ids;
        })) {}

  // Edges of the next destination of the scan begin, which frontiers of `mask` have.
  void Begin(uint64_t mask) {
    first_.push_back(ranges_.size());
    Each(mask, [&](size_t f) { ranges_.push_back({.begin = sizes_[f]}); });
  }
  // Room for so many more of each.
  void Reserve(uint64_t mask, size_t more) {
    Each(mask, [&](size_t f) {
      const size_t least = static_cast<size_t>(sizes_[f]) + more;
      std::vector<uint32_t>& sources = found_[f].sources;
      std::vector<int64_t>& edge_ids = found_[f].edge_ids;
      if (sources.size() < least) sources.resize(2 * least);
      if (edge_ids_ && edge_ids.size() < least) edge_ids.resize(2 * least);
    });
  }
  // An edge that frontiers of `taken` take.
  void Add(uint64_t taken, uint32_t source, int64_t edge) {
    Each(taken, [&](size_t f) {
      const auto at = static_cast<size_t>(sizes_[f]++);
      found_[f].sources[at] = source;
      if (edge_ids_) found_[f].edge_ids[at] = edge;
    });
  }
  void End(uint64_t mask) {
    size_t at = first_.back();
    Each(mask, [&](size_t f) { ranges_[at++].end = sizes_[f]; });
  }

  // Where frontier `f` has its edges of the destination that came as number `place`.
  [[nodiscard]] IdRange Of(size_t place, uint64_t mask, size_t f) const {
    const uint64_t before = mask & ((uint64_t{1} << f) - 1);
    return ranges_[first_[place] + static_cast<size_t>(std::popcount(before))];
  }
  [[nodiscard]] const uint32_t* Sources(size_t f) const { return found_[f].sources.data(); }
  [[nodiscard]] const int64_t* EdgeIds(size_t f) const { return found_[f].edge_ids.data(); }
  [[nodiscard]] int64_t size(size_t f) const { return sizes_[f]; }

 private:
  template <typename Do>
  static void Each(uint64_t mask, const Do& what) {
    for (; mask != 0; mask &= mask - 1) what(static_cast<size_t>(std::countr_zero(mask)));
  }

  const std::span<StackTables::Found> found_;
  const bool edge_ids_;  // of any
  std::array<int64_t, kMostStacked> sizes_ = {};
  // By distinct destination: where its ranges begin, one for each frontier that has it.
  std::vector<size_t> first_;
  std::vector<IdRange> ranges_;
};

// A word for each source, and a bit for those whose word is not 0: most edges touch no more than
// the bits, which the second cache holds.
class ColumnWords {
 public:
  ColumnWords(std::span<const EdgeGroup* const> groups, int64_t num_sources, StackTables* tables,
              ColumnWorkspace* workspace)
      : groups_(groups), words_(tables->Words(num_sources)), bits_(workspace->Bits(num_sources)) {
    for (size_t f = 0; f < groups.size(); ++f) {
      for (const int64_t column : groups[f]->columns) {
        words_[column] |= uint64_t{1} << f;
        bits_[column / 64] |= uint64_t{1} << column % 64;
      }
    }
  }
  ~ColumnWords() {
    for (const EdgeGroup* const group : groups_) {
      for (const int64_t column : group->columns) {
        words_[column] = 0;
        bits_[column / 64] = 0;
      }
    }
  }
  ColumnWords(const ColumnWords&) = delete;
  ColumnWords& operator=(const ColumnWords&) = delete;

  [[nodiscard]] bool Has(uint64_t source) const {
    return (bits_[source / 64] >> source % 64 & 1) != 0;
  }
  void Prefetch(int64_t source) const { PrefetchToRead(words_ + source); }
  [[nodiscard]] uint64_t Of(int64_t source) const { return words_[source]; }

 private:
  const std::span<const EdgeGroup* const> groups_;
  uint64_t* const words_;
  uint64_t* const bits_;
};

// Appends what frontiers of `mask` take of one destination's edges. False: an unknown source.
template <typename IdT>
bool FindRowEdges(const ColumnRow& row, uint64_t mask, const ColumnWords& words,
                  uint64_t num_sources, StackEdges* edges) {
  std::array<uint32_t, kEdgesLookedAt> found;
  std::array<uint64_t, kEdgesLookedAt> taken;  // the frontiers that take it
  const std::span<const IdT> all = row.SourcesAs<IdT>();
  for (size_t begin = 0; begin < all.size(); begin += kEdgesLookedAt) {
    const std::span<const IdT> ids =
        all.subspan(begin, std::min(kEdgesLookedAt, all.size() - begin));
    size_t count = 0;
    for (size_t i = 0; i < ids.size(); ++i) {  // without a branch on what is found
      const auto source = static_cast<uint64_t>(ids[i]);
      if (source >= num_sources) [[unlikely]]
        return false;
      found[count] = static_cast<uint32_t>(i);
      count += words.Has(source) ? 1 : 0;
    }
    size_t some = 0;  // of those found, edges that a frontier with the destination takes
    for (size_t i = 0; i < count; ++i) {
      if (i + kWordsAhead < count)
        words.Prefetch(static_cast<int64_t>(ids[found[i + kWordsAhead]]));
      taken[some] = words.Of(static_cast<int64_t>(ids[found[i]])) & mask;
      found[some] = found[i];
      some += taken[some] != 0 ? 1 : 0;
    }
    if (some == 0) continue;
    edges->Reserve(mask, some);
    const int64_t first = row.first_edge + static_cast<int64_t>(begin);
    for (size_t i = 0; i < some; ++i) {
      edges->Add(taken[i], static_cast<uint32_t>(ids[found[i]]), first + found[i]);
    }
  }
  return true;
}

template <typename IdT>
bool FindEdges(const FrontierStack& stack, const ColumnWords& words, int64_t num_sources,
               StackEdges* edges) {
  for (size_t i = 0; i < stack.rows().size(); ++i) {
    const uint64_t mask = stack.masks()[i];
    edges->Begin(mask);
    if (!FindRowEdges<IdT>(stack.rows()[i], mask, words, static_cast<uint64_t>(num_sources),
                           edges)) {
      return false;
    }
    edges->End(mask);
  }
  return true;
}

// Where frontier `f` has its edges, by destination, and their degrees. Without a branch, so that
// many reads are under way at once.
void FindRanges(const FrontierStack& stack, const StackEdges& edges, size_t f,
                std::vector<IdRange>* ranges, std::vector<int64_t>* degrees) {
  const std::span<const int64_t> destinations = stack.frontier(f);
  ranges->resize(destinations.size());
  degrees->resize(destinations.size());
  for (size_t i = 0; i < destinations.size(); ++i) {
    const size_t place = stack.Place(destinations[i]);
    (*ranges)[i] = edges.Of(place, stack.masks()[place], f);
    (*degrees)[i] = stack.rows()[place].degree;
  }
}

// Brings the edges of frontier `f` into the order of its destinations, whose `ranges` these are.
// `places`: of its columns, by source.
void TakeEdges(std::span<const IdRange> ranges, const StackEdges& edges, size_t f,
               const uint32_t* places, bool edge_ids, ExtractedEdges* extracted) {
  const uint32_t* const sources = edges.Sources(f);
  const auto all = static_cast<size_t>(edges.size(f));
  extracted->columns.resize(all);
  extracted->edge_ids.resize(edge_ids ? all : 0);
  int32_t* to = extracted->columns.data();
  for (const IdRange& range : ranges) {
    for (int64_t e = range.begin; e < range.end; ++e) {
      *to++ = static_cast<int32_t>(places[sources[e]]);
    }
    extracted->offsets.push_back(to - extracted->columns.data());
  }
  if (!edge_ids) return;
  int64_t* to_ids = extracted->edge_ids.data();
  for (const IdRange& range : ranges) {
    to_ids = std::copy(edges.EdgeIds(f) + range.begin, edges.EdgeIds(f) + range.end, to_ids);
  }
}

void Empty(ExtractedEdges* extracted) {
  extracted->offsets.assign(1, 0);
  extracted->columns.clear();
  extracted->edge_ids.clear();
  extracted->degrees.clear();
  extracted->column_degrees.clear();
}

}  // namespace

bool StackedEdgesPay(const FrontierStack& stack) {
  // An edge takes five times as long, as more of them lead to a column of any frontier.
  constexpr int64_t kAsLong = 5;
  return stack.edges() > kAsLong * stack.distinct_edges();
}

bool ExtractStacked(const ColumnEdges& edges, const FrontierStack& stack,
                    std::span<const EdgeGroup* const> groups, StackTables* tables,
                    ColumnWorkspace* workspace, std::span<ExtractedEdges* const> extracted) {
  const int64_t num_sources = edges.num_sources;
  StackEdges found(groups, tables);
  const absl::Cleanup trim = [tables, num_sources] { tables->TrimFound(num_sources); };
  {
    const ColumnWords words(groups, num_sources, tables, workspace);
    if (!(edges.topology->HasWideIds() ? FindEdges<int64_t>(stack, words, num_sources, &found)
                                       : FindEdges<uint32_t>(stack, words, num_sources, &found))) {
      return false;
    }
  }
  uint32_t* const places = workspace->Entries(num_sources);
  std::vector<IdRange> ranges;
  for (size_t f = 0; f < groups.size(); ++f) {
    const std::span<const int64_t> columns = groups[f]->columns;
    const absl::Cleanup clear = [columns, places] {
      for (const int64_t column : columns) places[column] = 0;
    };
    for (size_t c = 0; c < columns.size(); ++c) places[columns[c]] = static_cast<uint32_t>(c);
    Empty(extracted[f]);
    FindRanges(stack, found, f, &ranges, &extracted[f]->degrees);
    TakeEdges(ranges, found, f, places, groups[f]->wanted.edge_ids, extracted[f]);
  }
  return true;
}

}  // namespace halograph
