// In which pieces the gradients of a model travel, and when each piece is final while backward
// runs. Backward comes to the last parameters first: bucket 0 has the last of them.
//
// What is documented as called by backward comes, where parameters are the host's, on the thread
// that called backward; where they are a device's, on a thread of libtorch, which backward waits
// for. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/torch/torch_api.h"

namespace halograph {

// A range of the gradients as one flat buffer, in the order of parameters.
struct GradientBucket {
  int64_t begin = 0;  // elements
  int64_t count = 0;
  int parameters = 0;

  bool operator==(const GradientBucket&) const = default;
};

inline constexpr int64_t kBucketBytes = 1 << 20;

// Parameters in reverse order, neighbours together up to kBucketBytes; a larger one is alone. At
// least one bucket, of nothing where there is no parameter. They follow from the sizes alone, and
// are the same on all ranks.
[[nodiscard]] std::vector<GradientBucket> BucketsOf(const std::vector<torch::Tensor>& parameters);

// Learns from autograd which gradients are final. Where backward does not come to a parameter, its
// bucket and all behind it stay open.
class GradientWatch {
 public:
  // Buckets [0, count) are final: called by backward, with a larger count each time. May throw:
  // then the call is lost, but no later one, and backward goes on.
  using OnFinal = std::function<void(int count)>;

  // Leaves a hook at each of the parameters that have gradients; `buckets` are BucketsOf them.
  GradientWatch(const std::vector<torch::Tensor>& parameters,
                const std::vector<GradientBucket>& buckets, OnFinal on_final);
  // Takes the hooks away. A graph that still has one of them calls nothing any more.
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

  // Watches the next backward, which is one: a second one would add to what was final.
  void Begin();
  // Calls nothing until the next Begin.
  void End();

 private:
  struct Watched;

  // Of what accumulates a parameter's gradient. It keeps the parameter, and dies with this object.
  struct Hook {
    std::shared_ptr<torch::autograd::Node> node;
    uintptr_t key;
  };

  const std::shared_ptr<Watched> watched_;  // hooks do not keep it
  std::vector<Hook> hooks_;
};

}  // namespace halograph
