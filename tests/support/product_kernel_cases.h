// The kernels of bf16 products that tests go through, and what puts one in use.
#pragma once

#include <vector>

#include "tests/support/emulated_products.h"
#include "trainer/kernels/product_kernel.h"

namespace halograph {

// A kernel and what it is on this machine: null if that cannot run it.
struct KernelCase {
  const char* name;
  const ProductKernel* kernel;
  const ProductKernel* each_value;  // the oracle
};

inline const ProductKernel* KernelHere(const char* name) {
  static const ProductMachine machine = ThisProductMachine();
  const StatusOr<ProductChoice> choice = ChooseProducts(machine, name);
  return choice.ok() ? choice->kernel : nullptr;
}

inline std::vector<KernelCase> KernelCases() {
  return {{"avx512_bf16", KernelHere("avx512_bf16"), &kEachValue<Avx512Sum>},
          {"amx", KernelHere("amx"), &kEachValue<AmxSum>},
          {"emulated_amx", &kEmulatedAmx, &kEachValue<AmxSum>}};
}

// Those for layers to be tested by: of widened rows, each that this machine can run, and, where it
// lacks AVX512-BF16, what computes the same bits.
inline std::vector<const ProductKernel*> KernelsHere() {
  std::vector<const ProductKernel*> kernels = {KernelHere("float32")};
  for (const KernelCase& each : KernelCases()) {
    if (each.kernel != nullptr) kernels.push_back(each.kernel);
  }
  if (KernelHere("avx512_bf16") == nullptr) kernels.push_back(&kEachValue<Avx512Sum>);
  return kernels;
}

// In use as long as it lives.
class KernelInUse {
 public:
  explicit KernelInUse(const ProductKernel* kernel) { UseProductKernel(kernel); }
  ~KernelInUse() { UseProductKernel(nullptr); }
  KernelInUse(const KernelInUse&) = delete;
  KernelInUse& operator=(const KernelInUse&) = delete;
};

// Layers are compared with compositions of rounded values. What these do not round are the rows of
// the layer that are means, and the gradient of the product, to 8 bits each: errors of 2^-9 of a
// term, of either sign, in each of two factors. Relative to the largest value sums of them stay
// below 2^-6.
inline constexpr double kBf16Error = 0x1p-6;

}  // namespace halograph
