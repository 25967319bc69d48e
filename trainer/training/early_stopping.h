// When evaluations have stopped getting better (--patience, --min-delta). Knows no libtorch.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace halograph {

class EarlyStopping {
 public:
  // What evaluations have left behind: of a run, and for whoever goes on with it later.
  struct State {
    std::optional<double> best = {};  // the last metric that was better
    int64_t without_gain = 0;         // evaluations since
  };

  // `patience`: 0 for never. A metric is better by more than `min_delta`.
  EarlyStopping(int64_t patience, double min_delta, bool higher_is_better)
      : patience_(patience), min_delta_(min_delta), higher_is_better_(higher_is_better) {}

  // Takes the metric of an evaluation; NaN, which is never better, where it has none. Whether
  // `patience` evaluations in a row have not been better.
  [[nodiscard]] bool Add(double metric, State* state) const;
  // Whether the evaluations that left `state` have been as many without a better one.
  [[nodiscard]] bool UsedUp(const State& state) const {
    return patience_ > 0 && state.without_gain >= patience_;
  }

 private:
  [[nodiscard]] bool Better(double metric, const std::optional<double>& best) const;

  const int64_t patience_;
  const double min_delta_;
  const bool higher_is_better_;
};

}  // namespace halograph
