// Products of pairs of bfloat16 by the tiles of AMX (ProductKernel, product_kernel.h). Each value
// is a sum over groups of 16 pairs, in order (amx_tiles.h): a group's even terms are added up from
// 0, its odd terms likewise, these two sums are added, and then that to the value. Each step rounds
// to nearest even; denormal numbers count as 0, before and after. Thread-safe. A process may use
// tiles once the system permitted them. Where it did not, they end it (SIGILL).
#pragma once

#include "trainer/kernels/bf16_product.h"

namespace halograph {

// Whether the processor has tiles and their products of bfloat16. That says nothing of the system.
[[nodiscard]] bool ProcessorHasAmx();

// Asks the system to permit tiles to all threads of the process, those that run already too. 0, or
// an error of errno:
//   EINVAL, EOPNOTSUPP  it does not know them: Linux before 5.16, some sandboxes
//   EPERM               it forbids to ask
//   ENOSPC              a thread has a stack for signals (sigaltstack) too small for tiles
// Requires ProcessorHasAmx. Programs that the process starts ask for themselves.
[[nodiscard]] int AskForAmx();

// These require that AskForAmx gave 0.
void MultiplyByAmx(const PairProduct& product);
void AddTransposedByAmx(const PairProduct& product);

}  // namespace halograph
