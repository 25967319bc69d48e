#include "trainer/run/blas.h"

#include <dlfcn.h>

#include "common/base/log.h"

namespace halograph {

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

}  // namespace halograph
