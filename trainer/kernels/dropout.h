// Dropout with draws of the caller's: torch::nn::Dropout draws from a generator that the whole
// process shares, so that what it gives depends on what was drawn before.
#pragma once

#include "trainer/torch/torch_api.h"

namespace halograph {

// Each element is 0 with probability `p`, else divided by 1 - p. `h` itself if `p` is 0 or `draws`
// is not defined (evaluation). Requires p in [0, 1) and `draws` on the device of `h`.
[[nodiscard]] inline torch::Tensor Dropout(const torch::Tensor& h, double p,
                                           const torch::Generator& draws) {
  if (p == 0 || !draws.defined()) return h;
  return h * torch::empty_like(h).bernoulli_(1 - p, draws).div_(1 - p);
}

}  // namespace halograph
