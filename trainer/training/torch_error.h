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

// libtorch says it in words only, but for the memory of its devices.
[[nodiscard]] inline bool IsOutOfMemory(const std::exception& error, std::string_view message) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) {
    return true;
  }
  for (const std::string_view words :
       {"can't allocate memory", "CUDA error: out of memory", "_STATUS_ALLOC_FAILED"}) {
    if (message.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// "rank N: WHAT: message". ResourceExhausted with the advice where memory ran out, else Internal.
[[nodiscard]] inline Status TorchError(int rank, std::string_view what,
                                       const std::exception& error) {
  const std::string message = TorchMessage(error);
  if (IsOutOfMemory(error, message)) {
    return ResourceExhausted("rank {}: {}: out of memory; {} ({})", rank, what,
                             kTrainingMemoryAdvice, message);
  }
  return Internal("rank {}: {}: {}", rank, what, message);
}

}  // namespace halograph
