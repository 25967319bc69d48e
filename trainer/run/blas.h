// Which BLAS libtorch computes with.
#pragma once

#include <string>

namespace halograph {

// OpenBLAS' own description ("OpenBLAS 0.3.21 ... Haswell"), "MKL", or empty for one that is
// neither, such as the slow reference BLAS that libtorch may come with.
[[nodiscard]] std::string FastBlasName();

// Logs a warning with what to install if FastBlasName is empty.
void WarnIfSlowBlas();

}  // namespace halograph
