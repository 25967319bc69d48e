// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/layer_epilogue.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/layer_epilogue.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "common/base/rng_lanes-inl.h"
#include "trainer/blocks/bf16_rounding-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// Bits as a mask of lanes is stored: lane 0 lowest.
HWY_ATTR uint64_t BitsOf(M mask) {
  std::array<uint8_t, 8> bytes{};
  hn::StoreMaskBits(D(), mask, bytes.data());
  uint64_t bits;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  return bits;
}

// The 16 bits drawn for each of 64 columns.
HWY_ATTR void DrawWord(uint64_t row_key, int64_t word, uint16_t* drawn) {
  const hn::CappedTag<uint64_t, 8> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  std::array<uint64_t, 16> quads;
  for (int64_t quad = 0; quad < 16; quad += lanes) {
    const auto first = static_cast<uint64_t>(word * 16 + quad);
    hn::StoreU(SubKeyLanes(d, row_key, first), d, quads.data() + quad);
  }
  std::memcpy(drawn, quads.data(), sizeof(quads));  // little-endian, as all of the project
}

// 64 columns of a row, or the `count` that there are. Returns their bits of the mask.
HWY_ATTR uint64_t ReluWord(float* z, const float* bias, const uint16_t* drawn, uint32_t dropped,
                           float scale, int64_t count) {
  const D d;
  const hn::RebindToSigned<D> di32;
  const hn::Rebind<uint16_t, D> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  uint64_t mask = 0;
  int64_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    const V sum = hn::Add(hn::LoadU(d, z + c), hn::LoadU(d, bias + c));
    M keep = hn::Not(hn::Le(sum, hn::Zero(d)));
    if (dropped > 0) {
      const auto bits = hn::PromoteTo(di32, hn::LoadU(du16, drawn + c));
      const auto least = hn::Set(di32, static_cast<int32_t>(dropped) - 1);
      keep = hn::And(keep, hn::RebindMask(d, hn::Gt(bits, least)));
    }
    hn::StoreU(hn::IfThenElseZero(keep, hn::Mul(sum, hn::Set(d, scale))), d, z + c);
    mask |= BitsOf(keep) << c;
  }
  for (; c < count; ++c) {
    const float sum = z[c] + bias[c];
    const bool keep = !(sum <= 0) && (dropped == 0 || drawn[c] >= dropped);
    z[c] = keep ? sum * scale : 0.0F;
    mask |= static_cast<uint64_t>(keep) << c;
  }
  return mask;
}

HWY_ATTR void Relu(const MutableRows& z, int64_t cols, const float* bias, const Dropout& dropout,
                   int64_t begin, int64_t end, uint64_t* mask) {
  const int64_t words = MaskWords(cols);
  const float scale = dropout.scale();
  std::array<uint16_t, 64> drawn{};
  for (int64_t row = begin; row < end; ++row) {
    const uint64_t row_key = dropout.RowKey(row);
    for (int64_t word = 0; word < words; ++word) {
      const int64_t column = word * 64;
      if (dropout.dropped > 0) DrawWord(row_key, word, drawn.data());
      const uint64_t bits =
          ReluWord(z.data + (row - begin) * z.stride + column, bias + column, drawn.data(),
                   dropout.dropped, scale, std::min<int64_t>(64, cols - column));
      if (mask != nullptr) mask[row * words + word] = bits;
    }
  }
}

// 64 columns of a row, or the `count` that there are.
template <typename Grad, typename Out>
HWY_ATTR void BackWord(const Grad* grad, uint64_t mask, float scale, int64_t count, Out* out,
                       float* sums) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    const uint64_t bits = mask >> c;
    std::array<uint8_t, 8> bytes;
    std::memcpy(bytes.data(), &bits, sizeof(bits));
    const V kept = hn::IfThenElseZero(hn::LoadMaskBits(d, bytes.data()),
                                      hn::Mul(LoadValues(grad + c), hn::Set(d, scale)));
    StoreValues(kept, out + c);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), kept), d, sums + c);
  }
  for (; c < count; ++c) {
    const float kept = (mask >> c & 1) != 0 ? OneValue(grad[c]) * scale : 0.0F;
    StoreOne(kept, out + c);
    sums[c] += kept;
  }
}

template <typename GradRows, typename OutRows>
HWY_ATTR void ReluBackOf(const GradRows& grad, int64_t cols, const uint64_t* mask, float scale,
                         int64_t begin, int64_t end, const OutRows& out, float* bias_grad) {
  const int64_t words = MaskWords(cols);
  std::fill_n(bias_grad, cols, 0.0F);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t word = 0; word < words; ++word) {
      const int64_t column = word * 64;
      BackWord(grad.data + row * grad.stride + column, mask[row * words + word], scale,
               std::min<int64_t>(64, cols - column), out.data + row * out.stride + column,
               bias_grad + column);
    }
  }
}

HWY_ATTR void ReluBack(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                       int64_t begin, int64_t end, const MutableRows& out, float* bias_grad) {
  ReluBackOf(grad, cols, mask, scale, begin, end, out, bias_grad);
}
HWY_ATTR void ReluBackToBf16(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                             int64_t begin, int64_t end, const MutableBf16Rows& out,
                             float* bias_grad) {
  ReluBackOf(grad, cols, mask, scale, begin, end, out, bias_grad);
}
HWY_ATTR void ReluBackOfBf16(const ConstBf16Rows& grad, int64_t cols, const uint64_t* mask,
                             float scale, int64_t begin, int64_t end, const MutableBf16Rows& out,
                             float* bias_grad) {
  ReluBackOf(grad, cols, mask, scale, begin, end, out, bias_grad);
}

// 64 columns of a row, or the `count` that there are.
HWY_ATTR void DropWord(const float* values, const uint16_t* drawn, uint32_t dropped, float scale,
                       int64_t count, float* out) {
  const D d;
  const hn::RebindToSigned<D> di32;
  const hn::Rebind<uint16_t, D> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto least = hn::Set(di32, static_cast<int32_t>(dropped) - 1);
  int64_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    const auto bits = hn::PromoteTo(di32, hn::LoadU(du16, drawn + c));
    const V kept = hn::Mul(hn::LoadU(d, values + c), hn::Set(d, scale));
    hn::StoreU(hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(bits, least)), kept), d, out + c);
  }
  for (; c < count; ++c) out[c] = drawn[c] >= dropped ? values[c] * scale : 0.0F;
}

HWY_ATTR void DropAll(const ConstRows& values, int64_t cols, const Dropout& dropout, int64_t begin,
                      int64_t end, const MutableRows& out) {
  std::array<uint16_t, 64> drawn{};
  for (int64_t row = begin; row < end; ++row) {
    const uint64_t row_key = dropout.RowKey(row);
    for (int64_t column = 0; column < cols; column += 64) {
      DrawWord(row_key, column / 64, drawn.data());
      DropWord(values.data + row * values.stride + column, drawn.data(), dropout.dropped,
               dropout.scale(), std::min<int64_t>(64, cols - column),
               out.data + row * out.stride + column);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Relu);
HWY_EXPORT(ReluBack);
HWY_EXPORT(ReluBackToBf16);
HWY_EXPORT(ReluBackOfBf16);
HWY_EXPORT(DropAll);

void ReluEpilogue(const MutableRows& z, int64_t cols, const float* bias, const Dropout& dropout,
                  int64_t begin, int64_t end, uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(Relu)(z, cols, bias, dropout, begin, end, mask);
}

void ReluEpilogueBackward(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                          int64_t begin, int64_t end, const MutableRows& out, float* bias_grad) {
  HWY_DYNAMIC_DISPATCH(ReluBack)(grad, cols, mask, scale, begin, end, out, bias_grad);
}

void ReluEpilogueBackward(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                          int64_t begin, int64_t end, const MutableBf16Rows& out,
                          float* bias_grad) {
  HWY_DYNAMIC_DISPATCH(ReluBackToBf16)(grad, cols, mask, scale, begin, end, out, bias_grad);
}

void ReluEpilogueBackward(const ConstBf16Rows& grad, int64_t cols, const uint64_t* mask,
                          float scale, int64_t begin, int64_t end, const MutableBf16Rows& out,
                          float* bias_grad) {
  HWY_DYNAMIC_DISPATCH(ReluBackOfBf16)(grad, cols, mask, scale, begin, end, out, bias_grad);
}

void DropRows(const ConstRows& values, int64_t cols, const Dropout& dropout, int64_t begin,
              int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(DropAll)(values, cols, dropout, begin, end, out);
}

}  // namespace halograph
#endif  // HWY_ONCE
