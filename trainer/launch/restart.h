// Settings that libraries read as they are loaded, before main.
#pragma once

namespace halograph {

// Sets, where the user did not, the environment variables below and starts this program again in
// the same process (same pid, same arguments), which takes a tenth of a second. Call first thing
// in main. Returns if all are set, or the program cannot be started again.
//   OMP_WAIT_POLICY=passive  threads of OpenMP sleep while they wait. Those that spin, as libgomp's
//                            do by default, take the cores from the threads that prepare
//                            minibatches: 10.6 s of CPU time instead of 1.7 for three epochs on a
//                            generated graph of 1 M edges, on two busy cores.
//   OPENBLAS_CORETYPE        as BetterCoreType (blas.h) says, if it says so.
void RestartWithBetterEnvironment(char** argv);

}  // namespace halograph
