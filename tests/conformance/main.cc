#include <gtest/gtest.h>

#include "tests/conformance/conformance_fixture.h"
#include "tests/conformance/kinds.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const halograph::StoreKind& kind : halograph::StoreKinds()) {
    halograph::RegisterGraphStoreConformance(kind);
    halograph::RegisterEdgesConformance(kind);
    halograph::RegisterSubgraphConformance(kind);
    halograph::RegisterRowStoreConformance(kind);
  }
  for (const halograph::StoreKind& kind : halograph::MutableStoreKinds()) {
    halograph::RegisterMutableConformance(kind);
  }
  const int code = RUN_ALL_TESTS();
  halograph::CloseConformanceStores();
  return code;
}
