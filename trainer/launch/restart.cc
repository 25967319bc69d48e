#include "trainer/launch/restart.h"

#include <climits>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "trainer/launch/blas.h"

namespace halograph {
namespace {

// True if the variable was unset and now has the value.
bool SetIfUnset(const char* name, const std::string& value) {
  return std::getenv(name) == nullptr && setenv(name, value.c_str(), 1) == 0;
}

}  // namespace

void RestartWithBetterEnvironment(char** argv) {
  char program[PATH_MAX] = "";
  if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0) return;
  bool changed = SetIfUnset("OMP_WAIT_POLICY", "passive");
  const std::string core_type = BetterCoreTypeHere();
  if (!core_type.empty()) changed = SetIfUnset("OPENBLAS_CORETYPE", core_type) || changed;
  // All are set when main begins again: no circle.
  if (changed) execv(program, argv);
}

}  // namespace halograph
