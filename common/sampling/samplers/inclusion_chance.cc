// Compiled without contraction: every machine gives the same weights.
#include "common/sampling/samplers/inclusion_chance.h"

#include <algorithm>
#include <cassert>

namespace halograph {
namespace {

// Made from the others each time: a power of its own would add up its rounding, to 6e-14 after 3000
// draws where this stays below 4e-16.
double Neither(const PairChances& pair) { return 1.0 - ((pair.only_u + pair.only_v) + pair.both); }

double EitherOf(double a, double b) { return a + b * (1.0 - a); }

PairChances EitherOf(const PairChances& a, const PairChances& b) {
  const double none_a = Neither(a), none_b = Neither(b);
  return {.only_u = a.only_u * (b.only_u + none_b) + none_a * b.only_u,
          .only_v = a.only_v * (b.only_v + none_b) + none_a * b.only_v,
          .both = (a.both + (a.only_u * (b.only_v + b.both) + a.only_v * (b.only_u + b.both))) +
                  none_a * b.both};
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

PairChances ChancesOfPair(const PairChances& of_one, int64_t draws) {
  return ByDoubling(of_one, draws);
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
