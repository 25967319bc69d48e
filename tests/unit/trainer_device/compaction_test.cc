#include "trainer/device/compaction.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/fake_device/bits.h"

namespace halograph {
namespace {

constexpr int64_t kNodes[] = {50, 400, 7};

// Lists of ids of three types, the first of each unique; and what is made of them.
struct Batch {
  explicit Batch(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int type = 0; type < 3; ++type) {
      auto& lists = ids.emplace_back();
      std::vector<int64_t> all(static_cast<size_t>(kNodes[type]));
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), random);
      all.resize(random() % all.size());
      lists.push_back(std::move(all));
      for (int list = 0; list < 3; ++list) {
        auto& drawn = lists.emplace_back(1 + random() % 300);
        for (int64_t& id : drawn)
          id = static_cast<int64_t>(random() % static_cast<uint64_t>(kNodes[type]));
      }
    }
  }

  struct Made {
    std::vector<std::vector<int64_t>> unique;
    std::vector<std::vector<int32_t>> positions;
    bool operator==(const Made&) const = default;
  };
  Made By(const CompactIds& compact) const {
    Made made;
    made.positions.reserve(9);
    for (const auto& lists : ids) made.unique.push_back(lists.front());
    std::vector<IdsToCompact> types;
    for (size_t t = 0; t < ids.size(); ++t) {
      auto& type = types.emplace_back();
      type.node_type = static_cast<int>(t);
      type.lists = {made.unique[t]};
      type.unique = &made.unique[t];
      for (size_t list = 1; list < ids[t].size(); ++list) {
        type.lists.emplace_back(ids[t][list]);
        type.positions.emplace_back(made.positions.emplace_back(ids[t][list].size(), -7));
      }
    }
    const Status status = compact(types);
    EXPECT_TRUE(status.ok()) << status;
    return made;
  }

  std::vector<std::vector<std::vector<int64_t>>> ids;  // [type][list]
};

CompactIds On(const Device& device) {
  return [compaction =
              std::make_shared<DeviceCompaction>(device)](std::span<const IdsToCompact> types) {
    compaction->Compact(types);
    return OkStatus();
  };
}

class DeviceCompactionTest : public FakeOrdersTest {};

TEST_P(DeviceCompactionTest, GivesTheValuesOfTheMapInEveryOrder) {
  Schema schema;
  for (const int64_t nodes : kNodes) {
    NodeType& type = schema.node_types.emplace_back();
    type.name = std::to_string(nodes);
    type.count = nodes;
  }
  BuilderWorkspaces workspaces(&schema, 1);
  const CompactIds by_map = CompactByMap(&workspaces);
  const CompactIds on_device = On(Device(FakeDevice::Get(), [](int64_t bytes) {
    return FakeDevice::PinnedMemory({bytes}, torch::kUInt8);
  }));
  const CompactIds on_cpu = On(Device());
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Batch batch(seed);
    const Batch::Made wanted = batch.By(by_map);
    EXPECT_TRUE(batch.By(on_device) == wanted) << seed;
    EXPECT_TRUE(batch.By(on_cpu) == wanted) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceCompactionTest, testing::ValuesIn(FakeOrder::All()),
                         NameOfOrder);

}  // namespace
}  // namespace halograph
