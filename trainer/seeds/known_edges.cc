#include "trainer/seeds/known_edges.h"

#include <algorithm>
#include <limits>

#include "trainer/seeds/edge_rows.h"

namespace halograph {
namespace {

void SortOnce(std::vector<KnownEdges::Entry>* entries) {
  std::sort(entries->begin(), entries->end());
  entries->erase(std::unique(entries->begin(), entries->end()), entries->end());
  entries->shrink_to_fit();
}

}  // namespace

StatusOr<KnownEdges> KnownEdges::Read(const Stores& stores, const Task& task, CorruptedEnds ends) {
  KnownEdges known;
  for (const char* set : {"train", "valid", "test"}) {
    HG_RETURN_IF_ERROR(
        ForEachEdge(stores, task, set, [&](int relation, std::span<const int64_t> pairs) {
          for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            if (ends != CorruptedEnds::kHeads) {
              known.tails_.push_back({relation, pairs[i], pairs[i + 1]});
            }
            if (ends != CorruptedEnds::kTails) {
              known.heads_.push_back({relation, pairs[i + 1], pairs[i]});
            }
          }
        }));
  }
  SortOnce(&known.tails_);
  SortOnce(&known.heads_);
  return known;
}

std::span<const KnownEdges::Entry> KnownEdges::Find(const std::vector<Entry>& entries,
                                                    int64_t relation, int64_t node) {
  const Entry first = {relation, node, 0};
  const Entry last = {relation, node, std::numeric_limits<int64_t>::max()};
  const auto begin = std::lower_bound(entries.begin(), entries.end(), first);
  return {begin, std::upper_bound(begin, entries.end(), last)};
}

}  // namespace halograph
