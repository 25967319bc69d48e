// The error of a figure that is not finite, which ends training.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// What every such error says, and no other.
inline constexpr std::string_view kLowerTheRate = ": lower --lr (";

// FailedPrecondition: "<what> is nan: lower --lr (0.5), or look for extreme values among the
// features".
[[nodiscard]] inline Status NotFinite(std::string_view what, double value, double learning_rate) {
  // The sign of NaN says nothing.
  return FailedPrecondition("{} is {}{}{}), or look for extreme values among the features", what,
                            std::isnan(value) ? std::abs(value) : value, kLowerTheRate,
                            learning_rate);
}

// Whether an error is one of these: this rank's, or another's that is named as its cause.
[[nodiscard]] inline bool IsOfNotFinite(const Status& error) {
  return Message(error).find(kLowerTheRate) != std::string::npos;
}

}  // namespace halograph
