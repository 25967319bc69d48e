#include "trainer/training/early_stopping.h"

#include <cmath>

namespace halograph {

bool EarlyStopping::Better(double metric, const std::optional<double>& best) const {
  if (std::isnan(metric)) return false;
  if (!best.has_value()) return true;
  return higher_is_better_ ? metric > *best + min_delta_ : metric < *best - min_delta_;
}

bool EarlyStopping::Add(double metric, State* state) const {
  if (Better(metric, state->best)) {
    *state = {.best = metric};
  } else {
    ++state->without_gain;
  }
  return UsedUp(*state);
}

}  // namespace halograph
