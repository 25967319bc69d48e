// Which rows stay on a device, and where they stand among those that do not.
#include "trainer/training/device_cache.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// By the rules' words: sorts all rows, and takes from the front what fits.
NodesByType ChooseSlowly(const NodeChances& reads, std::span<const int64_t> row_bytes,
                         int64_t memory) {
  std::vector<std::tuple<float, size_t, size_t>> rows;
  for (size_t type = 0; type < reads.size(); ++type) {
    if (row_bytes[type] == 0) continue;
    for (size_t id = 0; id < reads[type].size(); ++id)
      rows.emplace_back(-reads[type][id], type, id);
  }
  std::sort(rows.begin(), rows.end());
  NodesByType chosen(reads.size());
  for (const auto& [reads_of, type, id] : rows) {
    if (memory < row_bytes[type]) break;
    memory -= row_bytes[type];
    chosen[type].push_back(static_cast<int64_t>(id));
  }
  for (auto& of_type : chosen) std::sort(of_type.begin(), of_type.end());
  return chosen;
}

TEST(ChooseRowsTest, TakesThoseThatAreReadMost) {
  CounterRng rng(Mix(5));
  NodeChances reads(3);
  for (size_t type = 0; type < 3; ++type) {
    for (int i = 0; i < 200; ++i) {
      // Many alike, some nearly so, and some of none.
      const float about = static_cast<float>(rng.NextBounded(40)) / 1e3F;
      reads[type].push_back(about * (1 + 1e-5F * static_cast<float>(rng.NextBounded(3))));
    }
  }
  const int64_t row_bytes[] = {16, 0, 16};
  for (const int64_t memory : {int64_t{0}, int64_t{15}, int64_t{16}, int64_t{160}, int64_t{1000},
                               int64_t{3333}, int64_t{16 * 399}, int64_t{1} << 40}) {
    const NodesByType found = ChooseRows(reads, row_bytes, memory);
    EXPECT_EQ(found, ChooseSlowly(reads, row_bytes, memory)) << memory;
    EXPECT_TRUE(found[1].empty()) << "of a type without features";
  }
  EXPECT_EQ(ChooseRows(reads, row_bytes, int64_t{1} << 40)[2].size(), 200U) << "where all fit, all";
}

TEST(ChooseRowsTest, RowsOfAllSizesComeToNoMoreThanTheMemory) {
  const NodeChances reads = {{0.5F, 0.1F, 0.9F}, {0.7F, 0.5F, std::nanf("")}};
  const int64_t row_bytes[] = {100, 40};
  EXPECT_EQ(ChooseRows(reads, row_bytes, 140), (NodesByType{{2}, {0}}));
  EXPECT_EQ(ChooseRows(reads, row_bytes, 200), (NodesByType{{2}, {0, 1}}))
      << "of equal ones the one that fits";
  EXPECT_EQ(ChooseRows(reads, row_bytes, 240), (NodesByType{{0, 2}, {0}}));
  EXPECT_EQ(ChooseRows(reads, row_bytes, 1000), (NodesByType{{0, 1, 2}, {0, 1, 2}}));
}

TEST(DeviceCacheTest, OtherCachesNeedNoRoomForRowsThatAreHeld) {
  NodeChances reads = {{0.5F, 0.1F, 0.9F}, {0.7F}, {}};
  LeaveOutHeld({HeldIds(std::vector<int64_t>{0, 2}, 3), HeldIds(), HeldIds()}, &reads);
  EXPECT_EQ(reads, (NodeChances{{0, 0.1F, 0}, {0.7F}, {}}));
}

TEST(DeviceCacheTest, MoreThanIsFreeIsRefused) {
  const Device cpu;
  EXPECT_TRUE(CheckRoomOnDevice(cpu, 1 << 20, {}).ok()) << "not known";
  EXPECT_TRUE(CheckRoomOnDevice(cpu, 1 << 20, DeviceMemory{1 << 20, 1 << 30}).ok());
  const Status status = CheckRoomOnDevice(cpu, (1 << 20) + 1, DeviceMemory{1 << 20, 1 << 30});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("cpu has 1.0 MiB of its 1.0 GiB free"), HasSubstr("give less")));
}

}  // namespace
}  // namespace halograph
