// Whether counts are as even as chance makes them.
#pragma once

#include <cmath>

namespace halograph {

// Upper 0.001 point of the chi-square distribution (approximation of Wilson and Hilferty): a
// statistic of `freedom` degrees of freedom exceeds it once in a thousand times by chance.
inline double ChiSquareLimit(double freedom) {
  constexpr double kNormalPoint = 3.0902;
  const double spread = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1.0 - spread + kNormalPoint * std::sqrt(spread), 3.0);
}

}  // namespace halograph
