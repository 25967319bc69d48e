#include "trainer/launch/blas.h"

#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/processors.h"

namespace halograph {
namespace {

TEST(BetterCoreTypeTest, AFallBackOnANewProcessorIsCorrected) {
  const std::string fallen = "OpenBLAS 0.3.21 DYNAMIC_ARCH USE_OPENMP Prescott MAX_THREADS=64";
  EXPECT_EQ(BetterCoreType(fallen, true, true), "SkylakeX");
  EXPECT_EQ(BetterCoreType(fallen, true, false), "Haswell");
  EXPECT_EQ(BetterCoreType(fallen, false, false), "");
}

TEST(BetterCoreTypeTest, AKnownProcessorIsLeftAlone) {
  EXPECT_EQ(BetterCoreType("OpenBLAS 0.3.21 USE_OPENMP Haswell", true, true), "");
  EXPECT_EQ(BetterCoreType("MKL", true, true), "");
  EXPECT_EQ(BetterCoreType("", true, true), "");
}

// In a process of its own, whose address space ends where it is.
template <typename Check>
int CodeWithoutAddressSpace(const Check& check) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;
  setrlimit(RLIMIT_AS, &limit);
  const Status status = check();
  const bool named = Message(status).find("out of memory") == 0 &&
                     Message(status).find("ulimit -v") != std::string::npos;
  return absl::IsResourceExhausted(status) && named ? 7 : 5;
}

TEST(BlasThreadsTest, TheEnvironmentLowersThem) {
  const auto threads = [](std::map<std::string, std::string> variables) {
    return BlasThreads([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  };
  const int most = threads({});
  EXPECT_EQ(most, std::min(AvailableProcessors(), 64));
  EXPECT_EQ(threads({{"OMP_NUM_THREADS", "1"}}), 1);
  EXPECT_EQ(threads({{"OMP_NUM_THREADS", "100000"}}), most);
  EXPECT_EQ(threads({{"OPENBLAS_NUM_THREADS", "1"}, {"OMP_NUM_THREADS", "100000"}}), 1);
  EXPECT_EQ(threads({{"OMP_NUM_THREADS", "all"}}), most);
}

TEST(BlasMemoryTest, TooLittleAddressSpaceIsAnErrorWithAName) {
  EXPECT_TRUE(CheckAddressSpace(2).ok());
  EXPECT_TRUE(CheckBlasMemory("OpenBLAS 0.3.21 Haswell").ok());
  EXPECT_EXIT(_exit(CodeWithoutAddressSpace([] { return CheckAddressSpace(1); })),
              testing::ExitedWithCode(7), "");
  EXPECT_EXIT(_exit(CodeWithoutAddressSpace([] { return CheckBlasMemory("OpenBLAS 0.3.21"); })),
              testing::ExitedWithCode(7), "");
  EXPECT_EXIT(_exit(CheckBlasMemory("MKL").ok() ? 7 : 5), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace halograph
