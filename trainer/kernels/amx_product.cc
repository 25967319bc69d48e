#include "trainer/kernels/amx_product.h"

#include <cerrno>
#include <cstdlib>

#include "trainer/kernels/amx_tiles.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define HALOGRAPH_AMX 1
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#define HALOGRAPH_AMX 0
#endif

namespace halograph {

#if HALOGRAPH_AMX

namespace {

// Of the instruction CPUID, leaf 7, register EDX.
constexpr unsigned kAmxBf16 = 1U << 22;
constexpr unsigned kAmxTile = 1U << 24;

// Of the system call arch_prctl; older headers lack them.
constexpr int kGetPermissions = 0x1022;
constexpr int kAskForPermission = 0x1023;
constexpr unsigned long kTileData = 18;  // the processor's number of this part of its state

// Instructions as text: they need no flags of the compiler, and what they read and write is told
// (GCC 12's own functions for tiles do not tell it).
struct ProcessorTiles {
  static void Configure(const TileShapes& shapes) {
    asm volatile("ldtilecfg %0" : : "m"(shapes) : "memory");
  }
  static void Release() { asm volatile("tilerelease" : : : "memory"); }
  template <int T>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static void Load(const void* rows, int64_t bytes) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(T), "r"(rows), "r"(bytes) : "memory");
  }
  template <int T>
  static void Store(void* rows, int64_t bytes) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(T), "r"(rows), "r"(bytes) : "memory");
  }
  template <int S, int L, int R>
  static void MultiplyAdd() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(S), "i"(L), "i"(R));
  }
};

}  // namespace

bool ProcessorHasAmx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kAmxBf16) != 0 && (edx & kAmxTile) != 0;
}

int AskForAmx() {
  if (syscall(SYS_arch_prctl, kAskForPermission, kTileData) != 0) return errno;
  // A sandbox may say yes to whatever it does not know.
  unsigned long permitted = 0;
  if (syscall(SYS_arch_prctl, kGetPermissions, &permitted) != 0) return errno;
  return (permitted >> kTileData & 1) != 0 ? 0 : EOPNOTSUPP;
}

void MultiplyByAmx(const PairProduct& product) {
  ProcessorTiles unit;
  MultiplyByTiles(unit, product, /*add=*/false);
}

void AddTransposedByAmx(const PairProduct& product) {
  ProcessorTiles unit;
  AddTransposedByTiles(unit, product);
}

#else

bool ProcessorHasAmx() { return false; }
int AskForAmx() { return EOPNOTSUPP; }
// Nobody calls these here: they require AskForAmx.
void MultiplyByAmx(const PairProduct&) { std::abort(); }
void AddTransposedByAmx(const PairProduct&) { std::abort(); }

#endif

}  // namespace halograph
