// Which BLAS libtorch computes with, and whether it uses what the processor can.
#pragma once

#include <string>

#include "common/base/status.h"
#include "trainer/launch/launch_env.h"

namespace halograph {

// OpenBLAS' own description ("OpenBLAS 0.3.21 ... Haswell ..."), "MKL", or empty for one that is
// neither, such as the slow reference BLAS that libtorch may come with.
[[nodiscard]] std::string FastBlasName();

// Logs a warning with what to install if FastBlasName is empty.
void WarnIfSlowBlas();

// OpenBLAS needs a buffer of 128 MiB of address space for its first product of matrices, and where
// it gets none it tries for ever. ResourceExhausted, with what to do, if `blas_name` is an OpenBLAS
// and there is not so much.
[[nodiscard]] Status CheckBlasMemory(const std::string& blas_name);

// The same of what libtorch and OpenBLAS map as they are loaded, before they are: `threads` buffers
// among it.
[[nodiscard]] Status CheckAddressSpace(int threads);

// How many threads OpenBLAS will have: OPENBLAS_NUM_THREADS, else OMP_NUM_THREADS, but no more than
// AvailableProcessors and than Debian's OpenBLAS is built for.
[[nodiscard]] int BlasThreads(const Environment& environment);

// The value of OPENBLAS_CORETYPE that makes OpenBLAS, described by `blas_name`, use the vector
// units that the processor has, or empty if it does already. OpenBLAS 0.3.21 takes processors
// newer than itself for a Prescott of 2004; training on one (family 6, model 207) was 3.3 times
// slower than with the kernels for AVX-512.
[[nodiscard]] std::string BetterCoreType(const std::string& blas_name, bool has_avx2,
                                         bool has_avx512);

// BetterCoreType of this process's BLAS and processor.
[[nodiscard]] std::string BetterCoreTypeHere();

}  // namespace halograph
