#include "common/sampling/kernel/excluded_edges.h"

#include <algorithm>
#include <utility>

namespace halograph {
namespace {

// Moves elements [from, end) to `to`.
template <typename T>
void MoveDown(std::vector<T>* values, int64_t from, int64_t end, int64_t to) {
  if (from != to && !values->empty()) {
    std::copy(values->begin() + from, values->begin() + end, values->begin() + to);
  }
}

template <typename T>
void CutTo(std::vector<T>* values, int64_t size) {
  if (!values->empty()) values->resize(static_cast<size_t>(size));
}

template <typename IdT>
void Remove(std::span<const ExcludedRow> rows, const DrawnEdges<IdT>& edges) {
  const int64_t last = edges.first + std::ssize(edges.ends);
  auto row = std::lower_bound(
      rows.begin(), rows.end(), edges.first,
      [](const ExcludedRow& r, int64_t position) { return r.destination < position; });
  if (row == rows.end() || row->destination >= last) return;
  int64_t i = row->destination - edges.first;
  int64_t read = i > 0 ? edges.ends[i - 1] : 0;
  int64_t write = read;
  const auto keep = [&](int64_t end) {
    MoveDown(edges.sources, read, end, write);
    MoveDown(edges.edge_ids, read, end, write);
    MoveDown(edges.weights, read, end, write);
    write += end - read;
    read = end;
  };
  for (; i < std::ssize(edges.ends); ++i) {
    const int64_t end = edges.ends[i];
    if (row != rows.end() && row->destination == edges.first + i) {
      for (int64_t e = read; e < end; ++e) {
        const auto source = static_cast<int64_t>((*edges.sources)[e]);
        if (!std::binary_search(row->sources.begin(), row->sources.end(), source)) continue;
        keep(e);
        ++read;
      }
      ++row;
    }
    keep(end);
    edges.ends[i] = write;
  }
  CutTo(edges.sources, write);
  CutTo(edges.edge_ids, write);
  CutTo(edges.weights, write);
}

}  // namespace

ExcludedEdges::ExcludedEdges(const EdgeExclusion& edges) : relation_(edges.relation) {
  std::vector<std::pair<int64_t, int64_t>> sorted;  // destination, source
  sorted.reserve(edges.sources.size());
  for (size_t i = 0; i < edges.sources.size(); ++i) {
    sorted.emplace_back(edges.destinations[i], edges.sources[i]);
  }
  std::sort(sorted.begin(), sorted.end());
  sources_.reserve(sorted.size());
  for (const auto& [destination, source] : sorted) {
    if (destinations_.empty() || destinations_.back() != destination) {
      destinations_.push_back(destination);
      begins_.push_back(sources_.size());
    }
    sources_.push_back(source);
  }
  begins_.push_back(sources_.size());
}

void ExcludedEdges::FindIn(const FusedNodes& list, int64_t count,
                           std::vector<ExcludedRow>* rows) const {
  rows->clear();
  std::vector<int32_t> positions(destinations_.size());
  list.Find(destinations_, positions.data());
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= count) continue;
    rows->push_back(
        {.destination = positions[i],
         .sources = std::span(sources_).subspan(begins_[i], begins_[i + 1] - begins_[i])});
  }
  std::sort(rows->begin(), rows->end(), [](const ExcludedRow& a, const ExcludedRow& b) {
    return a.destination < b.destination;
  });
}

void RemoveExcluded(std::span<const ExcludedRow> rows, const DrawnEdges<int64_t>& edges) {
  Remove(rows, edges);
}
void RemoveExcluded(std::span<const ExcludedRow> rows, const DrawnEdges<uint32_t>& edges) {
  Remove(rows, edges);
}

}  // namespace halograph
