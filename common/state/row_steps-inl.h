// What each optimizer, and a plain change, does to a row: w and its state after the sum g of its
// gradients (mutable_tensor.h has the formulas), compiled for each instruction set. Every operation
// is rounded by itself. `seen` sees enough of what it computed to tell whether all of w and the
// state that it changed is finite: what makes other numbers infinite or NaN makes these so. For
// row_kernels.cc only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_COMMON_STATE_ROW_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_COMMON_STATE_ROW_STEPS_INL_H_
#undef HALOGRAPH_COMMON_STATE_ROW_STEPS_INL_H_
#else
#define HALOGRAPH_COMMON_STATE_ROW_STEPS_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/state/mutable_tensor.h"
#include "common/state/row_columns-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

// The gradient that a formula begins with: weight_decay * w is in it.
template <class Access>
HWY_INLINE HWY_ATTR V Decayed(Access access, size_t c, const float* g, V w, float decay) {
  const LanesF32 d;
  return hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay), w));
}

class SgdStep {
 public:
  explicit SgdStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)), rate_(static_cast<float>(o.learning_rate)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/,
                                 SeenFinite* seen) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = Decayed(access, c, g, old, decay_);
      const V now = hn::Sub(old, hn::Mul(hn::Set(d, rate_), sum));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
};

class MomentumStep {
 public:
  explicit MomentumStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        momentum_(static_cast<float>(o.momentum)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* m,
                                 SeenFinite* seen) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = Decayed(access, c, g, old, decay_);
      const V moment = hn::Add(hn::Mul(hn::Set(d, momentum_), access.Load(d, m + c)), sum);
      access.Store(moment, d, m + c);
      const V now = hn::Sub(old, hn::Mul(hn::Set(d, rate_), moment));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
  const float momentum_;
};

class AdagradStep {
 public:
  explicit AdagradStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        epsilon_(static_cast<float>(o.epsilon)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* s,
                                 SeenFinite* seen) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = Decayed(access, c, g, old, decay_);
      const V squares = hn::Add(access.Load(d, s + c), hn::Mul(sum, sum));
      seen->See(squares);
      access.Store(squares, d, s + c);
      const V divisor = hn::Add(hn::Sqrt(squares), hn::Set(d, epsilon_));
      const V now = hn::Sub(old, hn::Div(hn::Mul(hn::Set(d, rate_), sum), divisor));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
  const float epsilon_;
};

class RowAdagradStep {
 public:
  explicit RowAdagradStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        epsilon_(static_cast<float>(o.epsilon)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* s,
                                 SeenFinite* seen) const {
    *s += SumOfSquares(dim, g, w) / static_cast<float>(dim);
    seen->See(hn::Set(LanesF32(), *s));
    const float rate = rate_ / (std::sqrt(*s) + epsilon_);
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = Decayed(access, c, g, old, decay_);
      const V now = hn::Sub(old, hn::Mul(hn::Set(d, rate), sum));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }

 private:
  HWY_INLINE HWY_ATTR float SumOfSquares(size_t dim, const float* g, const float* w) const {
    HWY_ALIGN float sums[kBlock] = {};
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V sum = Decayed(access, c, g, access.Load(d, w + c), decay_);
      float* const at = sums + c % kBlock;
      hn::Store(hn::Add(hn::Load(d, at), hn::Mul(sum, sum)), d, at);
    });
    for (size_t half = kBlock / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  const float decay_;
  const float rate_;
  const float epsilon_;
};

// base^exponent by squares, the same on every machine.
inline double WholePower(double base, uint32_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return power;
}

class AdamStep {
 public:
  explicit AdamStep(const RowOptimizer& o)
      : o_(o),
        decay_(static_cast<float>(o.weight_decay)),
        epsilon_(static_cast<float>(o.epsilon)),
        beta1_(static_cast<float>(o.beta1)),
        beta2_(static_cast<float>(o.beta2)),
        rest1_(static_cast<float>(1 - o.beta1)),
        rest2_(static_cast<float>(1 - o.beta2)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* state,
                                 SeenFinite* seen) const {
    float* const m = state;
    float* const v = state + dim;
    uint32_t updates = 0;
    std::memcpy(&updates, state + 2 * dim, sizeof(updates));
    if (updates < UINT32_MAX) ++updates;
    std::memcpy(state + 2 * dim, &updates, sizeof(updates));
    const auto rate = static_cast<float>(o_.learning_rate / (1 - WholePower(o_.beta1, updates)));
    const auto scale = static_cast<float>(1 / std::sqrt(1 - WholePower(o_.beta2, updates)));
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = Decayed(access, c, g, old, decay_);
      const V first = hn::Add(hn::Mul(hn::Set(d, beta1_), access.Load(d, m + c)),
                              hn::Mul(hn::Set(d, rest1_), sum));
      const V second = hn::Add(hn::Mul(hn::Set(d, beta2_), access.Load(d, v + c)),
                               hn::Mul(hn::Mul(hn::Set(d, rest2_), sum), sum));
      access.Store(first, d, m + c);
      seen->See(second);
      access.Store(second, d, v + c);
      const V divisor = hn::Add(hn::Mul(hn::Sqrt(second), hn::Set(d, scale)), hn::Set(d, epsilon_));
      const V now = hn::Sub(old, hn::Div(hn::Mul(hn::Set(d, rate), first), divisor));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }

 private:
  const RowOptimizer o_;
  const float decay_;
  const float epsilon_;
  const float beta1_;
  const float beta2_;
  const float rest1_;
  const float rest2_;
};

class AddStep {
 public:
  explicit AddStep(const RowOptimizer& /*o*/) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/,
                                 SeenFinite* seen) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V now = hn::Add(access.Load(d, w + c), access.Load(d, g + c));
      seen->See(now);
      access.Store(now, d, w + c);
    });
  }
};

class AssignStep {
 public:
  // What is pushed is finite.
  explicit AssignStep(const RowOptimizer& /*o*/) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/,
                                 SeenFinite* /*seen*/) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      access.Store(access.Load(LanesF32(), g + c), LanesF32(), w + c);
    });
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_COMMON_STATE_ROW_STEPS_INL_H_
