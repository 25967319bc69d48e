// Mutable tensors as a map and plain loops: what a table, a store or several servers must hold, bit
// by bit. Keyed by original ids; it knows neither partitions nor logs. Initial values come from
// common/state/initial_values.h, which has tests of its own; all else is written anew.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/state/initial_values.h"
#include "common/state/mutable_tensor.h"
#include "common/state/pushed_rows.h"
#include "common/state/state_store.h"

namespace halograph {

// The number nearest to `value` that has `bits` binary digits and is a multiple of 2^least, halves
// to even; above `largest` infinity.
inline float RoundedTo(float value, int bits, int least, float largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value) + 1 - bits, least));
  const double rounded = std::nearbyint(value / unit) * unit;  // default mode: halves to even
  return std::abs(rounded) > largest ? std::copysign(INFINITY, value) : static_cast<float>(rounded);
}
inline float RoundedTo(DType dtype, float value) {
  if (dtype == DType::kFloat16) return RoundedTo(value, 11, -24, 65504);
  return dtype == DType::kBFloat16 ? RoundedTo(value, 8, -133, 0x1.fep127F) : value;
}

// Of a number that the dtype holds.
inline void StoreElement(DType dtype, float value, std::byte* to) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (dtype == DType::kFloat32) return void(std::memcpy(to, &bits, 4));
  auto upper = static_cast<uint16_t>(bits >> 16);
  if (dtype == DType::kFloat16) {
    const double magnitude = std::abs(static_cast<double>(value));
    const uint16_t sign = upper & 0x8000;
    if (std::isinf(value)) {
      upper = sign | 0x7c00;
    } else if (magnitude < 0x1p-14) {
      upper = sign | static_cast<uint16_t>(magnitude * 0x1p24);
    } else {
      const int exponent = std::ilogb(value);
      const double digits = std::ldexp(magnitude, 10 - exponent);  // 1024 to 2047
      upper = sign | static_cast<uint16_t>((exponent + 14) * 1024 + digits);
    }
  }
  std::memcpy(to, &upper, 2);
}

class ReferenceState {
 public:
  // `total_rows`: of the whole tensor, over all partitions.
  ReferenceState(MutableTensorSpec spec, int64_t total_rows)
      : spec_(std::move(spec)), initial_(spec_, total_rows) {}

  // The lists as one push; PushedRows::rows are original ids.
  void Apply(PushKind kind, std::span<const PushedRows> lists) {
    std::map<int64_t, std::vector<float>> sums;  // kAssign: the last
    for (const PushedRows& list : lists) {
      for (size_t i = 0; i < list.rows.size(); ++i) {
        const std::vector<float> values = ValuesOf(list, i);
        const auto [at, is_new] = sums.try_emplace(list.rows[i], values);
        if (is_new) continue;
        if (kind == PushKind::kAssign) at->second = values;
        for (size_t c = 0; c < values.size() && kind != PushKind::kAssign; ++c) {
          at->second[c] += values[c];
        }
      }
    }
    for (auto& [id, sum] : sums) {
      Row& row = RowOf(id);
      if (kind == PushKind::kGradient) {
        Step(&row, &sum);
      } else {
        for (size_t c = 0; c < sum.size(); ++c) {
          row.w[c] = kind == PushKind::kAdd ? row.w[c] + sum[c] : sum[c];
        }
      }
      for (float& value : row.w) value = RoundedTo(spec_.dtype, value);
    }
  }

  // A row as it is pulled.
  [[nodiscard]] std::vector<std::byte> Pull(int64_t id) {
    const size_t bytes = DTypeSize(spec_.dtype);
    const Row& row = RowOf(id);
    std::vector<std::byte> out(row.w.size() * bytes);
    for (size_t c = 0; c < row.w.size(); ++c) {
      StoreElement(spec_.dtype, row.w[c], out.data() + c * bytes);
    }
    return out;
  }

  // Row and optimizer state as RowTable::SaveImage.
  [[nodiscard]] std::vector<std::byte> Image(int64_t id) {
    std::vector<std::byte> image = Pull(id);
    const Row& row = RowOf(id);
    const size_t values = image.size();
    image.resize(values + row.state.size() * 4 + (IsAdam() ? 4 : 0));
    if (!row.state.empty()) {
      std::memcpy(image.data() + values, row.state.data(), row.state.size() * 4);
    }
    if (IsAdam()) std::memcpy(image.data() + image.size() - 4, &row.updates, 4);
    return image;
  }

  [[nodiscard]] const MutableTensorSpec& spec() const { return spec_; }

 private:
  struct Row {
    std::vector<float> w;
    std::vector<float> state;  // as row_layout.h orders it
    uint32_t updates = 0;
  };
  using Kind = RowOptimizer::Kind;

  [[nodiscard]] bool IsAdam() const { return spec_.optimizer.kind == Kind::kAdam; }

  Row& RowOf(int64_t id) {
    const auto [at, is_new] = rows_.try_emplace(id);
    if (!is_new) return at->second;
    const auto dim = static_cast<size_t>(spec_.dim);
    at->second.w.resize(dim);
    initial_.Fill(id, at->second.w.data());
    for (float& value : at->second.w) value = RoundedTo(spec_.dtype, value);
    const Kind kind = spec_.optimizer.kind;
    const bool momentum = kind == Kind::kSgd && spec_.optimizer.momentum > 0;
    at->second.state.resize(IsAdam()                             ? 2 * dim
                            : kind == Kind::kAdagrad || momentum ? dim
                            : kind == Kind::kRowAdagrad          ? 1
                                                                 : 0);
    return at->second;
  }

  [[nodiscard]] std::vector<float> ValuesOf(const PushedRows& list, size_t i) const {
    const auto dim = static_cast<size_t>(spec_.dim);
    const size_t bytes = DTypeSize(list.dtype);
    std::vector<float> values(dim);
    for (size_t c = 0; c < dim; ++c) {
      values[c] = ToFloat(list.dtype, list.values.data() + (i * dim + c) * bytes);
    }
    return values;
  }

  void Step(Row* row, std::vector<float>* gradient) const {
    const RowOptimizer& o = spec_.optimizer;
    const auto rate = static_cast<float>(o.learning_rate);
    const auto epsilon = static_cast<float>(o.epsilon);
    std::vector<float>& w = row->w;
    std::vector<float>& g = *gradient;
    std::vector<float>& s = row->state;
    const size_t dim = w.size();
    for (size_t c = 0; c < dim; ++c) g[c] += static_cast<float>(o.weight_decay) * w[c];
    if (o.kind == Kind::kSgd) {
      for (size_t c = 0; c < dim; ++c) {
        if (!s.empty()) g[c] = s[c] = static_cast<float>(o.momentum) * s[c] + g[c];
        w[c] -= rate * g[c];
      }
    } else if (o.kind == Kind::kAdagrad) {
      for (size_t c = 0; c < dim; ++c) {
        s[c] += g[c] * g[c];
        w[c] -= rate * g[c] / (std::sqrt(s[c]) + epsilon);
      }
    } else if (o.kind == Kind::kRowAdagrad) {
      float sums[16] = {};
      for (size_t c = 0; c < dim; ++c) sums[c % 16] += g[c] * g[c];
      for (size_t half = 8; half > 0; half /= 2) {
        for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
      }
      s[0] += sums[0] / static_cast<float>(dim);
      const float row_rate = rate / (std::sqrt(s[0]) + epsilon);
      for (size_t c = 0; c < dim; ++c) w[c] -= row_rate * g[c];
    } else {
      const double t = ++row->updates;
      const auto step_rate = static_cast<float>(o.learning_rate / (1 - Power(o.beta1, t)));
      const auto scale = static_cast<float>(1 / std::sqrt(1 - Power(o.beta2, t)));
      const auto rest1 = static_cast<float>(1 - o.beta1);
      const auto rest2 = static_cast<float>(1 - o.beta2);
      for (size_t c = 0; c < dim; ++c) {
        float& m = s[c];
        float& v = s[dim + c];
        m = static_cast<float>(o.beta1) * m + rest1 * g[c];
        v = static_cast<float>(o.beta2) * v + rest2 * g[c] * g[c];
        w[c] -= step_rate * m / (std::sqrt(v) * scale + epsilon);
      }
    }
  }

  // By squares, from the lowest bit of the exponent.
  static double Power(double base, double exponent) {
    double power = 1;
    for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest /= 2, base *= base) {
      if (rest % 2 == 1) power *= base;
    }
    return power;
  }

  const MutableTensorSpec spec_;
  const InitialValues initial_;
  std::map<int64_t, Row> rows_;
};

}  // namespace halograph
