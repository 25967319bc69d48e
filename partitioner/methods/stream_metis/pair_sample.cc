#include "partitioner/methods/stream_metis/pair_sample.h"

#include <algorithm>
#include <utility>

#include "common/base/prefetch.h"
#include "common/base/rng.h"

namespace halograph {

StatusOr<PairSample> PairSample::Make(int64_t max_pairs, uint64_t key) {
  PairSample sample(max_pairs, key);
  const int64_t places = max_pairs + max_pairs / 3 + 2;
  HG_ASSIGN_OR_RETURN(sample.places_, NodeArray<Pair>::Make(places, "pairs of clusters"));
  return sample;
}

uint64_t PairSample::Hash(uint32_t a, uint32_t b) const {
  return Mix((uint64_t{a} << 32 | b) ^ key_);
}

int64_t PairSample::Place(uint64_t hash) const {
  return static_cast<int64_t>(Bounded(hash, static_cast<uint64_t>(places_.size())));
}

int64_t PairSample::Find(uint64_t hash, uint32_t a, uint32_t b) const {
  int64_t place = Place(hash);
  while (places_[place].weight > 0 && (places_[place].a != a || places_[place].b != b)) {
    if (++place == places_.size()) place = 0;
  }
  return place;
}

void PairSample::Prefetch(uint32_t a, uint32_t b) const {
  const uint64_t hash = Hash(std::min(a, b), std::max(a, b));
  if (Kept(hash)) PrefetchToWrite(places_.data() + Place(hash));
}

void PairSample::Add(uint32_t a, uint32_t b) {
  if (a > b) std::swap(a, b);
  const uint64_t hash = Hash(a, b);
  if (!Kept(hash)) return;
  Pair& pair = places_[Find(hash, a, b)];
  if (pair.weight > 0) {
    pair.weight += pair.weight < kMaxDegree ? 1 : 0;
    return;
  }
  pair = {a, b, 1};
  if (++size_ > max_pairs_) Thin();
}

void PairSample::Thin() {
  std::vector<Pair> kept;
  kept.reserve(static_cast<size_t>(size_ / 4 * 3 + size_ / 64 + 16));
  while (size_ > max_pairs_) {
    limit_ = limit_ / 4 * 3;
    kept.clear();
    ForEach([&](const Pair& pair) {
      if (Kept(Hash(pair.a, pair.b))) kept.push_back(pair);
    });
    size_ = static_cast<int64_t>(kept.size());
  }
  std::ranges::fill(places_.span(), Pair{});
  for (const Pair& pair : kept) places_[Find(Hash(pair.a, pair.b), pair.a, pair.b)] = pair;
}

double PairSample::share() const { return (1.0 + limit_) / 4294967296.0; }

}  // namespace halograph
