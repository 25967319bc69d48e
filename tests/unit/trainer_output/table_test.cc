#include "trainer/output/table.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(SummaryTableTest, NamesTheMetricAndTheBestEpoch) {
  EXPECT_EQ(SummaryTable({.epochs = 4,
                          .loss = 0.25,
                          .metric = "accuracy",
                          .valid = 0.5,
                          .test = std::nullopt,
                          .best_epoch = 2,
                          .train_seconds = 2,
                          .sampled_edges = 3000000}),
            "epochs                                  4\n"
            "loss                               0.2500\n"
            "validation accuracy                0.5000\n"
            "test accuracy                        none   (of the best epoch by validation, 2)\n"
            "seconds per epoch                   0.500\n"
            "sampled edges per second        1,500,000\n");
}

}  // namespace
}  // namespace halograph
