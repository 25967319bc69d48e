#include "common/sampling/merge_picks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MergePicksTest, EveryShareGoesToItsPositionsByCountsOrOffsets) {
  const std::vector<int64_t> first = {3, 0};
  const std::vector<uint32_t> counts = {2, 1};
  const std::vector<int64_t> first_sources = {31, 32, 1};
  const std::vector<int64_t> second = {1, 4};
  const NeighborPicks drawn{.offsets = {0, 0, 3}, .sources = {41, 42, 43}};
  const PicksShare shares[] = {{.positions = first, .counts = counts, .sources = first_sources},
                               ShareOf(second, drawn)};
  NeighborPicks merged{.offsets = {9}, .sources = {9, 9}, .edge_ids = {9}, .weights = {9}};
  MergePicks(5, shares, &merged);
  EXPECT_THAT(merged.offsets, ElementsAre(0, 1, 1, 1, 3, 6));
  EXPECT_THAT(merged.sources, ElementsAre(1, 31, 32, 41, 42, 43));
  EXPECT_THAT(merged.edge_ids, IsEmpty());
  EXPECT_THAT(merged.weights, IsEmpty());
}

TEST(MergePicksTest, WhatStandsBesideThemTravelsWithTheSources) {
  const std::vector<int64_t> first = {1};
  const std::vector<int64_t> second = {0, 2};
  const NeighborPicks one{
      .offsets = {0, 2}, .sources = {5, 6}, .edge_ids = {50, 60}, .weights = {0.5F, 0.25F}};
  const NeighborPicks two{
      .offsets = {0, 1, 1}, .sources = {7}, .edge_ids = {70}, .weights = {1.5F}};
  NeighborPicks merged;
  MergePicks(3, std::vector{ShareOf(first, one), ShareOf(second, two)}, &merged);
  EXPECT_THAT(merged.offsets, ElementsAre(0, 1, 3, 3));
  EXPECT_THAT(merged.sources, ElementsAre(7, 5, 6));
  EXPECT_THAT(merged.edge_ids, ElementsAre(70, 50, 60));
  EXPECT_THAT(merged.weights, ElementsAre(1.5F, 0.5F, 0.25F));
}

// One a destination, so each piece of one has it.
TEST(MergePicksTest, DegreesGoToTheirDestinations) {
  const std::vector<int64_t> first = {2, 1};
  const std::vector<int64_t> second = {1, 0};
  const NeighborPicks one{.offsets = {0, 0, 1}, .sources = {5}, .degrees = {9, 70}};
  const NeighborPicks two{.offsets = {0, 1, 1}, .sources = {6}, .degrees = {70, 0}};
  PicksShare shares[] = {ShareOf(first, one), ShareOf(second, two)};
  shares[1].first_edge = 1;
  NeighborPicks merged;
  MergePicks(3, shares, &merged);
  EXPECT_THAT(merged.sources, ElementsAre(5, 6));
  EXPECT_THAT(merged.degrees, ElementsAre(0, 70, 9));
  MergePicks(3, {}, &merged);
  EXPECT_THAT(merged.degrees, IsEmpty());
}

TEST(MergePicksTest, PiecesOfADestinationAreJoinedWhateverTheirOrder) {
  const std::vector<int64_t> two = {0, 2};
  const std::vector<int64_t> hub = {2};
  const std::vector<int64_t> hub_and_last = {2, 1};
  const std::vector<uint32_t> end_counts = {2, 1};
  const std::vector<int64_t> end_sources = {23, 24, 10};
  const NeighborPicks begin{.offsets = {0, 1, 3}, .sources = {1, 20, 21}};
  const NeighborPicks middle{.offsets = {0, 1}, .sources = {22}};
  PicksShare shares[] = {
      {.positions = hub_and_last, .counts = end_counts, .sources = end_sources, .first_edge = 3},
      ShareOf(two, begin),
      ShareOf(hub, middle)};
  shares[2].first_edge = 2;
  NeighborPicks merged;
  MergePicks(3, shares, &merged);
  EXPECT_THAT(merged.offsets, ElementsAre(0, 1, 2, 7));
  EXPECT_THAT(merged.sources, ElementsAre(1, 10, 20, 21, 22, 23, 24));
}

TEST(MergePicksTest, NoShareGivesNoEdges) {
  NeighborPicks merged;
  MergePicks(2, {}, &merged);
  EXPECT_THAT(merged.offsets, ElementsAre(0, 0, 0));
  EXPECT_THAT(merged.sources, IsEmpty());
}

}  // namespace
}  // namespace halograph
