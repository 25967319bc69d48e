// From halograph-train, which has read the command line, to the program that computes with
// libtorch: the same process, with the same arguments, and with the settings that libraries read as
// they are loaded.
#pragma once

#include "common/base/status.h"

namespace halograph {

// Replaces this program by the one beside it with "-torch" at the end of its name
// (halograph-train-torch), after it has set, where the user did not, these environment variables.
// Returns only an error:
//   ResourceExhausted   there is less address space than libtorch and OpenBLAS take before anything
//                       else
//   else                the program is missing or cannot be started (ErrnoStatus)
//
//   OMP_WAIT_POLICY=passive  threads of OpenMP sleep while they wait. Those that spin, as libgomp's
//                            do by default, take the cores from the threads that prepare
//                            minibatches: 10.6 s of CPU time instead of 1.7 for three epochs on a
//                            generated graph of 1 M edges, on two busy cores.
//   OPENBLAS_CORETYPE        as BetterCoreType (blas.h) says, if it says so.
[[nodiscard]] Status BecomeTorchProgram(char** argv);

}  // namespace halograph
