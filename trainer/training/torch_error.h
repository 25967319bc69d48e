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

// "rank N: WHAT: message". ResourceExhausted with the advice where memory ran out, else Internal.
[[nodiscard]] inline Status TorchError(int rank, std::string_view what,
                                       const std::exception& error) {
  const std::string message = TorchMessage(error);
  // libtorch says it in words only.
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      message.find("can't allocate memory") != std::string::npos) {
    return ResourceExhausted("rank {}: {}: out of memory; {} ({})", rank, what,
                             kTrainingMemoryAdvice, message);
  }
  return Internal("rank {}: {}: {}", rank, what, message);
}

}  // namespace halograph
