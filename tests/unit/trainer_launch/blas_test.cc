#include "trainer/launch/blas.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace halograph
