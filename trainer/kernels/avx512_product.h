// Products of pairs of bfloat16 by the instructions of AVX512-BF16 (ProductKernel,
// product_kernel.h): to each value, pair after pair, the product of the odd terms is added and then
// that of the even ones. Each step rounds once, to nearest even; denormal numbers count as 0,
// before and after. Thread-safe.
#pragma once

#include "trainer/kernels/bf16_product.h"

namespace halograph {

// Whether this processor has the instructions.
[[nodiscard]] bool ProcessorHasAvx512Bf16();

// These require it.
void MultiplyByAvx512(const PairProduct& product);
void AddTransposedByAvx512(const PairProduct& product);

}  // namespace halograph
