#include "trainer/launch/blas.h"

#include <climits>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "common/base/log.h"

namespace halograph {
namespace {

bool HasAvx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool HasAvx512() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

}  // namespace

std::string FastBlasName() {
  // Asked of the loaded libraries, since which BLAS it is, is a choice of the system.
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_config"); symbol != nullptr) {
    const auto get_config = reinterpret_cast<char* (*)()>(symbol);
    return get_config();
  }
  if (dlsym(RTLD_DEFAULT, "mkl_get_version") != nullptr) return "MKL";
  return {};
}

void WarnIfSlowBlas() {
  if (!FastBlasName().empty()) return;
  spdlog::warn(
      "libtorch computes with a BLAS that is not OpenBLAS; matrix products may be 40 times slower. "
      "On Debian: apt-get install libopenblas0-openmp");
}

std::string BetterCoreType(const std::string& blas_name, bool has_avx2, bool has_avx512) {
  // Prescott is what OpenBLAS falls back to: no processor with AVX2 is one.
  if (blas_name.find("Prescott") == std::string::npos) return {};
  if (has_avx512) return "SkylakeX";
  return has_avx2 ? "Haswell" : "";
}

std::string BetterCoreTypeHere() { return BetterCoreType(FastBlasName(), HasAvx2(), HasAvx512()); }

}  // namespace halograph
