// How --precision bf16 makes products, as a value that is chosen once a process:
//   amx          by AMX's tiles (amx_product.h), where the processor has them and the system
//                permits them
//   avx512_bf16  by AVX512-BF16 (avx512_product.h), else, on processors of AMD: Intel's run it at
//                half the rate of float32
//   float32      else: rows are widened, a few at a time (dense_products.h)
// Kernels round sums at different places. So one gives other bits than another, of the same
// accuracy; the same kernel gives the same bits whatever the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "trainer/kernels/bf16_product.h"

namespace halograph {

struct ProductKernel {
  std::string_view name;
  // Both null: products are float32, of rows that are widened.
  // out = left * right. `left`: [rows, pairs].
  void (*multiply)(const PairProduct& product) = nullptr;
  // out += the transpose of left * right. `left`: [pairs, rows].
  void (*add_transposed)(const PairProduct& product) = nullptr;

  [[nodiscard]] bool has_pairs() const { return multiply != nullptr; }
};

// What the choice depends on.
struct ProductMachine {
  bool amx = false;   // the processor has its tiles and their products of bfloat16
  int amx_error = 0;  // what the system answers who asks for them, of errno; 0: it permits them
  bool avx512_bf16 = false;
  bool amd = false;
};
// Of this machine. Asks the system for the tiles, if the processor has them: from then on all
// threads of the process may use them.
[[nodiscard]] ProductMachine ThisProductMachine();

struct ProductChoice {
  const ProductKernel* kernel;
  // Why the system does not permit AMX; empty where it does, and where there is none.
  std::string denied;
  bool forced = false;
};
// `forced`: a kernel's name, or empty: the best. InvalidArgument, if there is no kernel of that
// name; FailedPrecondition, if the machine cannot run it. Says which it can.
[[nodiscard]] StatusOr<ProductChoice> ChooseProducts(const ProductMachine& machine,
                                                     std::string_view forced);

// The process's choice, made by the first call; thread-safe. HALOGRAPH_PRODUCT_KERNEL in the
// environment forces it, for tests.
[[nodiscard]] const StatusOr<ProductChoice>& ChosenProducts();
// Its kernel, or what UseProductKernel put in its place. Throws std::runtime_error if there is no
// choice.
[[nodiscard]] const ProductKernel& ProductKernelInUse();
// For tests: products are made by this one from now on, which must live as long; null: by the
// chosen one again. Between steps.
void UseProductKernel(const ProductKernel* kernel);

}  // namespace halograph
