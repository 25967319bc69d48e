#include "trainer/launch/blas.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <dlfcn.h>
#include <sys/mman.h>

#include "common/base/log.h"
#include "common/base/processors.h"
#include "common/base/units.h"

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

// Whether there is so much address space: nothing of it is used.
bool CanMap(size_t bytes) {
  void* const taken = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return false;
  munmap(taken, bytes);
  return true;
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

Status CheckBlasMemory(const std::string& blas_name) {
  constexpr size_t kBufferBytes = size_t{160} << 20;  // the buffer, and some for what comes with it
  if (blas_name.find("OpenBLAS") == std::string::npos || CanMap(kBufferBytes)) return OkStatus();
  return ResourceExhausted(
      "out of memory: OpenBLAS, which libtorch computes with, needs a buffer of 128 MiB of address "
      "space; raise the limit of this process (ulimit -v)");
}

Status CheckAddressSpace(int threads) {
  // Measured with libtorch 1.13: with 1 and 2 threads it loads within 750 and 850 MiB, not 50 less.
  constexpr int64_t kLibraryBytes = int64_t{640} << 20;
  constexpr int64_t kBytesAThread = int64_t{130} << 20;
  const int64_t bytes = kLibraryBytes + threads * kBytesAThread;
  if (CanMap(static_cast<size_t>(bytes))) return OkStatus();
  return ResourceExhausted(
      "out of memory: libtorch and OpenBLAS with {} threads take {} of address space before all "
      "else; raise the limit of this process (ulimit -v) or set OMP_NUM_THREADS lower",
      threads, FormatBytes(bytes));
}

int BlasThreads(const Environment& environment) {
  constexpr int kMostThreads = 64;
  int threads = std::min(AvailableProcessors(), kMostThreads);
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const std::string text = environment(name).value_or("");
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && value > 0) return std::min(threads, value);
  }
  return threads;
}

std::string BetterCoreType(const std::string& blas_name, bool has_avx2, bool has_avx512) {
  // Prescott is what OpenBLAS falls back to: no processor with AVX2 is one.
  if (blas_name.find("Prescott") == std::string::npos) return {};
  if (has_avx512) return "SkylakeX";
  return has_avx2 ? "Haswell" : "";
}

std::string BetterCoreTypeHere() { return BetterCoreType(FastBlasName(), HasAvx2(), HasAvx512()); }

}  // namespace halograph
