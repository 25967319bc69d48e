// Draws of up to 16 picks a destination in vectors, compiled for each instruction set: the
// contract's positions, bit for bit. All lanes are drawn as if none repeated; a repeat is detected
// and settled in order. Included by layer.cc only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_COMMON_SAMPLING_FUSED_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_COMMON_SAMPLING_FUSED_SIMD_INL_H_
#undef HALOGRAPH_COMMON_SAMPLING_FUSED_SIMD_INL_H_
#else
#define HALOGRAPH_COMMON_SAMPLING_FUSED_SIMD_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/base/rng_lanes-inl.h"
#include "common/sampling/kernel/rows.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {

// Two lanes of 64 bits are no faster than scalar code.
#undef HALOGRAPH_SIMD_DRAWS
#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
#define HALOGRAPH_SIMD_DRAWS 1

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int32_t kSimdPicks = 16;
// 32-bit halves are multiplied, and the largest positions mark lanes that are not drawn.
inline constexpr int64_t kSimdDegree = int64_t{1} << 31;

using D64 = hn::ScalableTag<uint64_t>;
using V64 = hn::Vec<D64>;
using D32 = hn::FixedTag<uint32_t, 8>;  // eight positions
using V32 = hn::Vec<D32>;

// Bounded for n < 2^32.
HWY_INLINE HWY_ATTR V64 BoundedLanes(V64 draw, V64 n) {
  const hn::Repartition<uint32_t, D64> d32;
  const auto n32 = hn::BitCast(d32, n);
  const V64 low = hn::MulEven(hn::BitCast(d32, draw), n32);
  const V64 high = hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(draw)), n32);
  return hn::ShiftRight<32>(hn::Add(high, hn::ShiftRight<32>(low)));
}

// The node keys of eight destinations.
HWY_INLINE HWY_ATTR void NodeKeys(uint64_t layer_key, const int64_t* nodes, uint64_t* keys) {
  const D64 d;
  for (size_t i = 0; i < 8; i += hn::Lanes(d)) {
    const V64 next = hn::Add(hn::LoadU(d, reinterpret_cast<const uint64_t*>(nodes + i)),
                             hn::Set(d, uint64_t{1}));
    const V64 steps = hn::Mul(next, hn::Set(d, kGolden));
    hn::StoreU(MixLanes(d, hn::Add(hn::Set(d, layer_key), steps)), d, keys + i);
  }
}

// Zero in some lane if `a` and `b`, or `a` and itself, hold an equal pair in different lanes.
// kSteps rotations of b are compared: half the lanes for itself.
template <class D, size_t kSteps>
HWY_INLINE HWY_ATTR hn::Vec<D> PairDifferences(D d, hn::Vec<D> a, hn::Vec<D> b) {
  alignas(64) uint32_t next[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) {
    next[i] = static_cast<uint32_t>((i + 1) % hn::MaxLanes(d));
  }
  const auto rotation = hn::SetTableIndices(d, next);
  hn::Vec<D> least = hn::Set(d, ~uint32_t{0});
  for (size_t step = 0; step < kSteps; ++step) {
    b = hn::TableLookupLanes(b, rotation);
    least = hn::Min(least, hn::Xor(a, b));
  }
  return least;
}

HWY_INLINE HWY_ATTR bool HasRepeat(V32 a) {
  const D32 d;
  return !hn::AllFalse(d, hn::Eq(PairDifferences<D32, 4>(d, a, a), hn::Zero(d)));
}

HWY_INLINE HWY_ATTR bool HasRepeat(V32 a, V32 b) {
#if HWY_MAX_BYTES >= 64
  const hn::FixedTag<uint32_t, 16> d;
  const auto both = hn::Combine(d, b, a);
  const auto least = PairDifferences<decltype(d), 8>(d, both, both);
#else
  const D32 d;
  const V32 within = hn::Min(PairDifferences<D32, 4>(d, a, a), PairDifferences<D32, 4>(d, b, b));
  const V32 least = hn::Min(within, PairDifferences<D32, 8>(d, a, b));
#endif
  return !hn::AllFalse(d, hn::Eq(least, hn::Zero(d)));
}

// Draws for all destinations of a layer: IdT as the relation's indices, fanout 1 .. kSimdPicks.
template <typename IdT>
class SimdDraws {
 public:
  SimdDraws(int32_t fanout, bool replace) : fanout_(fanout), replace_(replace) {}

  // Writes addresses of the picks, and up to kSimdPicks in all; returns how many are picks.
  // Requires row.degree < kSimdDegree.
  HWY_INLINE HWY_ATTR int64_t Draw(uint64_t node_key, const FusedRow& row,
                                   uint64_t* addresses) const {
    if (replace_) return DrawWithRepeats(node_key, row, addresses);
    const V32 first = Eight(node_key, row, 0, addresses);
    if (fanout_ <= 8) {
      if (HWY_UNLIKELY(HasRepeat(first))) Settle(first, first, row, addresses);
    } else {
      const V32 second = Eight(node_key, row, 8, addresses);
      if (HWY_UNLIKELY(HasRepeat(first, second))) Settle(first, second, row, addresses);
    }
    return std::min<int64_t>(row.degree, fanout_);
  }

 private:
  HWY_INLINE HWY_ATTR int64_t DrawWithRepeats(uint64_t node_key, const FusedRow& row,
                                              uint64_t* addresses) const {
    const D64 d;
    const V64 degree = hn::Set(d, static_cast<uint64_t>(row.degree));
    for (size_t i = 0; i < static_cast<size_t>(fanout_); i += hn::Lanes(d)) {
      StoreAddresses(BoundedLanes(SubKeyLanes(D64(), node_key, i), degree), row, addresses + i);
    }
    return row.degree == 0 ? 0 : fanout_;
  }

  // Draws first .. first + 7 without a look at repeats; every edge where the fanout allows it.
  // Lanes beyond the fanout differ from all others.
  HWY_INLINE HWY_ATTR V32 Eight(uint64_t node_key, const FusedRow& row, uint64_t first,
                                uint64_t* addresses) const {
    const D32 d;
    const hn::Rebind<uint32_t, D64> narrow;
#if HWY_MAX_BYTES >= 64
    const V32 drawn = hn::TruncateTo(narrow, Positions(node_key, row, first, addresses));
#else
    const auto low = hn::TruncateTo(narrow, Positions(node_key, row, first, addresses));
    const auto high = hn::TruncateTo(narrow, Positions(node_key, row, first + 4, addresses));
    const V32 drawn = hn::Combine(d, high, low);
#endif
    const auto past = hn::Iota(d, static_cast<uint32_t>(first) + 0xffff0000U);
    const auto valid = hn::FirstN(d, std::min<size_t>(8, static_cast<size_t>(fanout_) - first));
    return hn::IfThenElse(valid, drawn, past);
  }

  HWY_INLINE HWY_ATTR V64 Positions(uint64_t node_key, const FusedRow& row, uint64_t first,
                                    uint64_t* addresses) const {
    const D64 d;
    const hn::RebindToSigned<D64> ds;
    const V64 iota = hn::Iota(d, first);
    // j + 1 = degree - fanout + i + 1
    const V64 limits = hn::Add(iota, hn::Set(d, static_cast<uint64_t>(row.degree - fanout_ + 1)));
    const V64 drawn = BoundedLanes(SubKeyLanes(D64(), node_key, first), limits);
    const auto draws = hn::Gt(hn::Set(ds, row.degree), hn::Set(ds, int64_t{fanout_}));
    const V64 positions = hn::IfThenElse(hn::RebindMask(d, draws), drawn, iota);
    StoreAddresses(positions, row, addresses + first);
    return positions;
  }

  HWY_INLINE HWY_ATTR static void StoreAddresses(V64 positions, const FusedRow& row,
                                                 uint64_t* addresses) {
    const D64 d;
    constexpr int kShift = sizeof(IdT) == 4 ? 2 : 3;
    hn::StoreU(hn::Add(hn::Set(d, row.address), hn::ShiftLeft<kShift>(positions)), d, addresses);
  }

  // Floyd's rule for repeats: a pick that is taken already becomes j = degree - fanout + its
  // number. Taken are the earlier picks, and the js of those among them that were repeats.
  HWY_ATTR HWY_NOINLINE void Settle(V32 first, V32 second, const FusedRow& row,
                                    uint64_t* addresses) const {
    const D32 d;
    std::array<uint32_t, kSimdPicks> picks;
    hn::StoreU(first, d, picks.data());
    hn::StoreU(second, d, picks.data() + 8);
    uint32_t repeats = 0;  // a bit a pick
    for (int32_t i = 0; i + 1 < fanout_; ++i) {
      const V32 pick = hn::Set(d, picks[i]);
      const uint32_t equal = Bits(hn::Eq(first, pick)) | Bits(hn::Eq(second, pick)) << 8;
      repeats |= equal & (~uint32_t{1} << i);
    }
    const auto least_j = static_cast<uint32_t>(row.degree - fanout_);
    const V32 first_js = hn::Iota(d, least_j);
    const V32 second_js = hn::Iota(d, least_j + 8);
    // Picks that are an earlier pick's j.
    uint32_t js = Bits(hn::Lt(hn::Sub(first, hn::Set(d, least_j)), hn::Iota(d, 0))) |
                  Bits(hn::Lt(hn::Sub(second, hn::Set(d, least_j)), hn::Iota(d, 8))) << 8;
    for (js &= ~repeats & ((uint32_t{1} << fanout_) - 1); js != 0; js &= js - 1) {
      const auto i = static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero32(js));
      repeats |= (repeats >> (picks[i] - least_j) & 1) << i;
    }
    StorePicks(hn::IfThenElse(Lanes(repeats), first_js, first), row, addresses);
    if (fanout_ > 8) {
      StorePicks(hn::IfThenElse(Lanes(repeats >> 8), second_js, second), row, addresses + 8);
    }
  }

  static HWY_INLINE HWY_ATTR uint32_t Bits(hn::Mask<D32> mask) {
    std::array<uint8_t, 8> bits{};
    hn::StoreMaskBits(D32(), mask, bits.data());
    return bits[0];
  }
  static HWY_INLINE HWY_ATTR hn::Mask<D32> Lanes(uint32_t bits) {
    const std::array<uint8_t, 8> bytes = {static_cast<uint8_t>(bits)};
    return hn::LoadMaskBits(D32(), bytes.data());
  }
  static HWY_INLINE HWY_ATTR void StorePicks(V32 picks, const FusedRow& row, uint64_t* addresses) {
    const D64 d;
#if HWY_MAX_BYTES >= 64
    StoreAddresses(hn::PromoteTo(d, picks), row, addresses);
#else
    const hn::Half<D32> half;
    StoreAddresses(hn::PromoteTo(d, hn::LowerHalf(half, picks)), row, addresses);
    StoreAddresses(hn::PromoteTo(d, hn::UpperHalf(half, picks)), row, addresses + 4);
#endif
  }

  const int32_t fanout_;
  const bool replace_;
};

#else
#define HALOGRAPH_SIMD_DRAWS 0

inline constexpr int32_t kSimdPicks = 0;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // once a target
