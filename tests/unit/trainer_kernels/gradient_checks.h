// What a differentiable function gives, and what it must agree with.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/torch/torch_api.h"

namespace halograph {

// Of leaves.
using Differentiable = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

struct WithGradients {
  torch::Tensor out;
  std::vector<torch::Tensor> grads;  // one a leaf
};

// Each value of an output counts by a factor of its own.
inline torch::Tensor WeighedLoss(const torch::Tensor& out) {
  const torch::Tensor factors = torch::sin(torch::arange(out.numel(), torch::kFloat64));
  return (out.to(torch::kFloat64) * factors.view(out.sizes())).sum();
}

inline WithGradients Differentiate(const Differentiable& function,
                                   const std::vector<torch::Tensor>& values) {
  std::vector<torch::Tensor> leaves;
  for (const torch::Tensor& value : values) leaves.push_back(value.clone().requires_grad_());
  const torch::Tensor out = function(leaves);
  WeighedLoss(out).backward();
  WithGradients results{out.detach(), {}};
  for (const torch::Tensor& leaf : leaves) results.grads.push_back(leaf.grad());
  return results;
}

// The largest difference relative to the largest value, or to 0.1 if that is less: where the terms
// of a gradient cancel out, what is left is their rounding.
inline double RelativeDifference(const torch::Tensor& found, const torch::Tensor& wanted) {
  if (wanted.numel() == 0) return 0;
  const auto scale = std::max(0.1, wanted.abs().max().item<double>());
  return (found - wanted).abs().max().item<double>() / scale;
}

inline void ExpectClose(const WithGradients& found, const WithGradients& wanted) {
  ASSERT_EQ(found.out.sizes(), wanted.out.sizes());
  EXPECT_LT(RelativeDifference(found.out, wanted.out), 5e-6);
  for (size_t i = 0; i < wanted.grads.size(); ++i) {
    ASSERT_TRUE(found.grads[i].defined()) << i;
    EXPECT_LT(RelativeDifference(found.grads[i], wanted.grads[i]), 5e-6) << i;
  }
}

// NaN and infinity at the same places, and the same values elsewhere.
inline void ExpectCloseWhereFinite(const torch::Tensor& found, const torch::Tensor& wanted) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  EXPECT_TRUE(torch::equal(torch::isnan(found), torch::isnan(wanted)));
  EXPECT_TRUE(torch::equal(torch::isposinf(found), torch::isposinf(wanted)));
  EXPECT_TRUE(torch::equal(torch::isneginf(found), torch::isneginf(wanted)));
  EXPECT_LT(
      RelativeDifference(torch::nan_to_num(found, 0, 0, 0), torch::nan_to_num(wanted, 0, 0, 0)),
      5e-6);
}

inline void ExpectCloseWhereFinite(const WithGradients& found, const WithGradients& wanted) {
  ExpectCloseWhereFinite(found.out, wanted.out);
  for (size_t i = 0; i < wanted.grads.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "gradient of leaf " << i);
    ExpectCloseWhereFinite(found.grads[i], wanted.grads[i]);
  }
}

// Central differences along random directions, one a leaf. A function that is linear in a leaf may
// take a step of 1, and has then no error but rounding.
inline void ExpectGradientsOfDifferences(const Differentiable& function,
                                         const std::vector<torch::Tensor>& values, double step,
                                         double tolerance) {
  const WithGradients found = Differentiate(function, values);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int direction = 0; direction < 4; ++direction) {
      const torch::Tensor along = torch::randn(values[i].sizes());
      const auto loss = [&](double sign) {
        std::vector<torch::Tensor> moved = values;
        moved[i] = values[i] + sign * step * along;
        return WeighedLoss(function(moved)).item<double>();
      };
      const double wanted = (loss(1) - loss(-1)) / (2 * step);
      const torch::Tensor products = found.grads[i] * along;
      const double scale = std::max(1e-3, products.norm().item<double>());
      EXPECT_NEAR(products.to(torch::kFloat64).sum().item<double>() / scale, wanted / scale,
                  tolerance)
          << "leaf " << i;
    }
  }
}

inline void ExpectSameBitsOnAnyThreads(const Differentiable& function,
                                       const std::vector<torch::Tensor>& values) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const WithGradients one = Differentiate(function, values);
  for (const int threads : {2, 3, 4, 16}) {
    at::set_num_threads(threads);
    const WithGradients more = Differentiate(function, values);
    EXPECT_TRUE(torch::equal(one.out, more.out)) << threads;
    for (size_t i = 0; i < one.grads.size(); ++i) {
      EXPECT_TRUE(torch::equal(one.grads[i], more.grads[i])) << threads << ", leaf " << i;
    }
  }
  at::set_num_threads(before);
}

}  // namespace halograph
