#include "trainer/launch/start.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "common/base/processors.h"
#include "trainer/launch/blas.h"

namespace halograph {
namespace {

void SetIfUnset(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 0);
}

}  // namespace

Status BecomeTorchProgram(char** argv) {
  HG_RETURN_IF_ERROR(CheckAddressSpace(BlasThreads(ProcessEnvironment())));
  SetIfUnset("OMP_WAIT_POLICY", "passive");
  // Left alone, OpenMP and OpenBLAS know of no quota.
  SetIfUnset("OMP_NUM_THREADS", std::to_string(AvailableProcessors()));
  // The BLAS that libtorch is about to load says what processor it takes this one for.
  if (dlopen("libblas.so.3", RTLD_NOW | RTLD_GLOBAL) != nullptr) {
    SetIfUnset("OPENBLAS_CORETYPE", BetterCoreTypeHere());
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoStatus(error.value(), "cannot read", "/proc/self/exe");
  const std::filesystem::path program = self.string() + "-torch";
  execv(program.c_str(), argv);
  return ErrnoStatus(errno, "cannot start the program that trains, which belongs beside this one:",
                     program.string());
}

}  // namespace halograph
