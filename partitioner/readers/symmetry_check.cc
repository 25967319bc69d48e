#include "partitioner/readers/symmetry_check.h"

#include <algorithm>
#include <tuple>

namespace halograph {
namespace {

constexpr size_t kCells = size_t{1} << 16;

// The finaliser of splitmix64: every bit of the input acts on every bit of the result.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Of the two nodes, whatever their order.
uint64_t PairHash(int64_t u, int64_t v) {
  const auto [low, high] = std::minmax(u, v);
  return Mix(Mix(static_cast<uint64_t>(low)) + static_cast<uint64_t>(high));
}

size_t CellOf(uint64_t pair_hash) { return pair_hash % kCells; }

// An edge that may lack its reverse.
struct Suspect {
  int64_t low = 0, high = 0, weight = 0;
  bool ascending = false;
  int64_t edge = 0;
};

}  // namespace

SymmetryCheck::SymmetryCheck() : table_(kCells) {}

void SymmetryCheck::Add(int64_t source, int64_t destination, int64_t weight) {
  if (source == destination) return;
  const uint64_t pair = PairHash(source, destination);
  Cell& cell = table_[CellOf(pair)];
  const uint64_t hash = Mix(pair + Mix(static_cast<uint64_t>(weight)));
  cell.sum += source < destination ? hash : -hash;
  ++cell.edges;
}

bool SymmetryCheck::symmetric() const {
  return std::all_of(table_.begin(), table_.end(), [](const Cell& cell) { return cell.sum == 0; });
}

std::vector<bool> SymmetryCheck::Suspects() const {
  std::vector<bool> suspects(kCells);
  int64_t edges = 0;
  for (size_t i = 0; i < kCells; ++i) {
    if (table_[i].sum == 0 || (edges > 0 && edges + table_[i].edges > kMostSuspects)) continue;
    suspects[i] = true;
    edges += table_[i].edges;
  }
  return suspects;
}

SymmetryCheck::Odd SymmetryCheck::FindOdd(std::span<const int64_t> pairs,
                                          std::span<const int64_t> weights) const {
  const std::vector<bool> wanted = Suspects();
  std::vector<Suspect> suspects;
  for (size_t i = 0; 2 * i < pairs.size(); ++i) {
    const int64_t source = pairs[2 * i], destination = pairs[2 * i + 1];
    if (source == destination || !wanted[CellOf(PairHash(source, destination))]) continue;
    const auto [low, high] = std::minmax(source, destination);
    suspects.push_back({low, high, weights.empty() ? 0 : weights[i], source < destination,
                        static_cast<int64_t>(i)});
  }
  const auto key = [](const Suspect& s) { return std::tie(s.low, s.high, s.weight); };
  std::sort(suspects.begin(), suspects.end(), [&](const Suspect& a, const Suspect& b) {
    return std::tie(a.low, a.high, a.weight, a.ascending, a.edge) <
           std::tie(b.low, b.high, b.weight, b.ascending, b.edge);
  });
  // Of each pair and weight, the edges of the direction that has more, beyond those of the other.
  const Suspect* odd = nullptr;
  for (size_t begin = 0, end = 0; begin < suspects.size(); begin = end) {
    size_t descending = 0;
    for (; end < suspects.size() && key(suspects[end]) == key(suspects[begin]); ++end) {
      descending += suspects[end].ascending ? 0 : 1;
    }
    const size_t ascending = end - begin - descending;
    if (descending == ascending) continue;
    const size_t first =
        descending > ascending ? begin + ascending : begin + descending + descending;
    if (odd == nullptr || suspects[first].edge < odd->edge) odd = &suspects[first];
  }
  if (odd == nullptr) return {};
  const auto reverse = std::find_if(suspects.begin(), suspects.end(), [odd](const Suspect& other) {
    return other.low == odd->low && other.high == odd->high && other.ascending != odd->ascending &&
           other.weight != odd->weight;
  });
  if (reverse == suspects.end()) return {.edge = odd->edge, .other_weight = std::nullopt};
  return {.edge = odd->edge, .other_weight = reverse->weight};
}

}  // namespace halograph
