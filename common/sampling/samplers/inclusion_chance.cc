// Compiled without contraction: every machine gives the same weights.
#include "common/sampling/samplers/inclusion_chance.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

namespace halograph {
namespace {

double EitherOf(double a, double b) { return a + b * (1.0 - a); }

// Several pairs beside each other, so that one need not wait for the other's sums: some 30 ns a
// pair and 500 draws instead of 85.
template <size_t kLanes>
struct Pairs {
  std::array<double, kLanes> only_u{};
  std::array<double, kLanes> only_v{};
  std::array<double, kLanes> both{};
};

// The chance of neither is made from the others each time: a power of its own would add up its
// rounding, to 6e-14 after 3000 draws where this stays below 4e-16.
template <size_t kLanes>
Pairs<kLanes> EitherOf(const Pairs<kLanes>& a, const Pairs<kLanes>& b) {
  Pairs<kLanes> result;
  for (size_t i = 0; i < kLanes; ++i) {
    const double u_a = a.only_u[i], v_a = a.only_v[i], both_a = a.both[i];
    const double u_b = b.only_u[i], v_b = b.only_v[i], both_b = b.both[i];
    const double none_a = 1.0 - ((u_a + v_a) + both_a), none_b = 1.0 - ((u_b + v_b) + both_b);
    result.only_u[i] = u_a * (u_b + none_b) + none_a * u_b;
    result.only_v[i] = v_a * (v_b + none_b) + none_a * v_b;
    result.both[i] = (both_a + (u_a * (v_b + both_b) + v_a * (u_b + both_b))) + none_a * both_b;
  }
  return result;
}

// What `count` of `of_one` give together, along the bits of `count`.
template <typename Chances>
Chances ByDoubling(Chances of_one, int64_t count) {
  assert(count >= 0);
  Chances result{};
  for (; count > 0; count >>= 1) {
    if ((count & 1) != 0) result = EitherOf(result, of_one);
    of_one = EitherOf(of_one, of_one);
  }
  return result;
}

template <size_t kLanes>
void CombineSome(std::span<PairChances, kLanes> pairs, int64_t draws) {
  Pairs<kLanes> of_one;
  for (size_t i = 0; i < kLanes; ++i) {
    of_one.only_u[i] = pairs[i].only_u;
    of_one.only_v[i] = pairs[i].only_v;
    of_one.both[i] = pairs[i].both;
  }
  const Pairs<kLanes> of_all = ByDoubling(of_one, draws);
  for (size_t i = 0; i < kLanes; ++i) {
    pairs[i] = {.only_u = of_all.only_u[i], .only_v = of_all.only_v[i], .both = of_all.both[i]};
  }
}

}  // namespace

double ChanceOfOneDraw(uint64_t degree, uint64_t all) {
  assert(degree <= all && all > 0);
  return static_cast<double>(degree) / static_cast<double>(all);
}

PairChances PairOfNodeDraw(uint64_t degree_u, uint64_t degree_v, uint64_t all) {
  return {.only_u = ChanceOfOneDraw(degree_u, all), .only_v = ChanceOfOneDraw(degree_v, all)};
}

PairChances PairOfEdgeDraw(uint64_t at_u, uint64_t at_v, uint64_t between, uint64_t all) {
  assert(between <= at_u && between <= at_v);
  return {.only_u = ChanceOfOneDraw(at_u - between, all),
          .only_v = ChanceOfOneDraw(at_v - between, all),
          .both = ChanceOfOneDraw(between, all)};
}

PairChances PairOfChances(double of_u, double of_v, double of_both) {
  return {.only_u = std::max(of_u - of_both, 0.0),
          .only_v = std::max(of_v - of_both, 0.0),
          .both = of_both};
}

double ChanceOfNode(double of_one, int64_t draws) { return ByDoubling(of_one, draws); }

PairChances ChancesOfPair(PairChances of_one, int64_t draws) {
  CombineSome(std::span<PairChances, 1>(&of_one, 1), draws);
  return of_one;
}

void CombineDraws(std::span<PairChances> pairs, int64_t draws) {
  constexpr size_t kTogether = 8;
  size_t i = 0;
  for (; i + kTogether <= pairs.size(); i += kTogether) {
    CombineSome(pairs.subspan(i).first<kTogether>(), draws);
  }
  for (; i < pairs.size(); ++i) pairs[i] = ChancesOfPair(pairs[i], draws);
}

double EdgeFactor(double of_v, double of_both) {
  assert(of_both > 0);
  return of_v / of_both;
}

double LossWeight(double of_v, int64_t training_nodes) {
  assert(of_v > 0 && training_nodes > 0);
  return 1.0 / (of_v * static_cast<double>(training_nodes));
}

}  // namespace halograph
