// What libtorch and the standard library throw, as a status. Of whatever computes with libtorch.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "trainer/options/train_options.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What a user can do where the memory of a device runs out.
inline constexpr char kDeviceMemoryAdvice[] =
    "lower --batch-size, --eval-batch-size, --fanouts, --prefetch or --device-cache-memory, or "
    "with "
    "--exact --memory";

// The advice where memory ran out, which libtorch says in words, but for its devices'; else empty.
[[nodiscard]] inline std::string_view MemoryAdvice(const std::exception& error,
                                                   std::string_view message) {
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
      says("CUDA error: out of memory") || says("_STATUS_ALLOC_FAILED")) {
    return kDeviceMemoryAdvice;
  }
  const bool host =
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr || says("can't allocate memory");
  return host ? std::string_view(kTrainingMemoryAdvice) : std::string_view();
}

// "rank N: WHAT: message". ResourceExhausted with the advice where memory ran out, else Internal.
[[nodiscard]] inline Status TorchError(int rank, std::string_view what,
                                       const std::exception& error) {
  const std::string message = TorchMessage(error);
  if (const std::string_view advice = MemoryAdvice(error, message); !advice.empty()) {
    return ResourceExhausted("rank {}: {}: out of memory; {} ({})", rank, what, advice, message);
  }
  return Internal("rank {}: {}: {}", rank, what, message);
}

}  // namespace halograph
