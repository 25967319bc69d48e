#include "trainer/kernels/product_kernel.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/kernels/amx_product.h"
#include "trainer/kernels/avx512_product.h"

namespace halograph {
namespace {

constexpr const char* kVariable = "HALOGRAPH_PRODUCT_KERNEL";

// The best first.
constexpr std::array kKernels = {
    ProductKernel{"amx", MultiplyByAmx, AddTransposedByAmx},
    ProductKernel{"avx512_bf16", MultiplyByAvx512, AddTransposedByAvx512},
    ProductKernel{"float32"},
};
constexpr size_t kAmx = 0, kAvx512 = 1, kFloat32 = 2;

std::atomic<const ProductKernel*> in_place = nullptr;

bool CanRun(const ProductMachine& machine, size_t kernel) {
  if (kernel == kAmx) return machine.amx && machine.amx_error == 0;
  return kernel == kFloat32 || machine.avx512_bf16;
}

StatusOr<const ProductKernel*> Forced(const ProductMachine& machine, std::string_view name) {
  std::vector<std::string_view> names, there;
  for (size_t i = 0; i < kKernels.size(); ++i) {
    names.push_back(kKernels[i].name);
    if (CanRun(machine, i)) there.push_back(kKernels[i].name);
    if (CanRun(machine, i) && kKernels[i].name == name) return &kKernels[i];
  }
  for (const std::string_view known : names) {
    if (known != name) continue;
    return FailedPrecondition(
        "{}={}: this machine cannot make products that way{}; it can by {}: give one of them, or "
        "leave it out",
        kVariable, name,
        name == "amx" && machine.amx ? fmt::format(", as the system does not permit it ({})",
                                                   std::strerror(machine.amx_error))
                                     : "",
        fmt::join(there, ", "));
  }
  return InvalidArgument("{}={}: no such kernel; there are {}", kVariable, name,
                         fmt::join(names, ", "));
}

}  // namespace

ProductMachine ThisProductMachine() {
  ProductMachine machine;
  machine.amx = ProcessorHasAmx();
  if (machine.amx) machine.amx_error = AskForAmx();
  machine.avx512_bf16 = ProcessorHasAvx512Bf16();
#if defined(__x86_64__)
  machine.amd = __builtin_cpu_is("amd") != 0;
#endif
  return machine;
}

StatusOr<ProductChoice> ChooseProducts(const ProductMachine& machine, std::string_view forced) {
  ProductChoice choice{.kernel = &kKernels[kFloat32], .denied = {}};
  if (!forced.empty()) {
    HG_ASSIGN_OR_RETURN(choice.kernel, Forced(machine, forced));
    choice.forced = true;
    return choice;
  }
  if (CanRun(machine, kAmx)) {
    choice.kernel = &kKernels[kAmx];
  } else if (machine.avx512_bf16 && machine.amd) {
    choice.kernel = &kKernels[kAvx512];
  }
  if (machine.amx && machine.amx_error != 0) choice.denied = std::strerror(machine.amx_error);
  return choice;
}

const StatusOr<ProductChoice>& ChosenProducts() {
  static const StatusOr<ProductChoice> choice = [] {
    const char* const forced = std::getenv(kVariable);
    return ChooseProducts(ThisProductMachine(), forced == nullptr ? "" : forced);
  }();
  return choice;
}

const ProductKernel& ProductKernelInUse() {
  const ProductKernel* const kernel = in_place.load();
  if (kernel != nullptr) return *kernel;
  const StatusOr<ProductChoice>& choice = ChosenProducts();
  if (!choice.ok()) throw std::runtime_error(std::string(Message(choice.status())));
  return *choice->kernel;
}

void UseProductKernel(const ProductKernel* kernel) { in_place = kernel; }

}  // namespace halograph
