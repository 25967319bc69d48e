#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/local/local_store.h"
#include "common/base/rng.h"
#include "tests/conformance/conformance_fixture.h"

namespace halograph {
namespace {

std::vector<int64_t> RandomIds(int64_t rows, size_t count, uint64_t key) {
  CounterRng rng(Mix(key));
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) {
    id = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(rows)));
  }
  return ids;
}

const TestNodeType& FindNodeType(const TestGraphSpec& spec, const std::string& name) {
  for (const TestNodeType& type : spec.node_types) {
    if (type.name == name) return type;
  }
  ADD_FAILURE() << "no node type " << name;
  return spec.node_types.front();
}

// Pulls and compares with the input that the folder was written from.
void ExpectInputRows(ConformanceGraphUnderTest& graph, const std::string& type,
                     const std::string& feature, std::span<const int64_t> ids) {
  const std::vector<int64_t> global_of_input = GlobalNodeIds(graph.spec, type);
  std::vector<int64_t> input_of_global(global_of_input.size());
  for (size_t i = 0; i < global_of_input.size(); ++i) {
    input_of_global[static_cast<size_t>(global_of_input[i])] = static_cast<int64_t>(i);
  }
  for (const TestTensor& tensor : FindNodeType(graph.spec, type).features) {
    if (tensor.spec.name != feature) continue;
    const size_t row_bytes = tensor.spec.row_bytes();
    std::vector<std::byte> found(ids.size() * row_bytes, std::byte{0x5a});
    const Status status = graph.stores.kv->Pull({false, type, feature}, ids, found, nullptr);
    ASSERT_TRUE(status.ok()) << ToString(status);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto input = static_cast<size_t>(input_of_global[static_cast<size_t>(ids[i])]);
      ASSERT_EQ(std::memcmp(&found[i * row_bytes], &tensor.data[input * row_bytes], row_bytes), 0)
          << type << "/" << feature << ": row " << i << " of global id " << ids[i];
    }
    return;
  }
  FAIL() << "no feature " << feature;
}

void PullKeepsOrderAndRepeatsOfIds(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  ExpectInputRows(graph, "node", "feat", RandomIds(3000, 5000, 3));
  ExpectInputRows(graph, "node", "feat", std::vector<int64_t>(100, 1234));
  ExpectInputRows(graph, "node", "feat", std::vector<int64_t>{2999, 0});
}

void PullOfManyMessagesGivesEveryRow(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  ExpectInputRows(graph, "node", "feat", RandomIds(3000, 200000, 4));
}

// Every tensor of the typed graph, as the embedded store reads it.
void PullReadsEveryTensorOfEveryType(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(TypedConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto reference = OpenLocalStores(graph.path, VerifyLevel::kHeaders, 0);
  ASSERT_TRUE(reference.ok()) << ToString(reference.status());
  const Schema& schema = reference->kv->info().schema;
  std::vector<TensorRef> tensors;
  for (const NodeType& type : schema.node_types) {
    tensors.push_back({false, type.name, kOriginalIdTensor});
    for (const TensorSpec& spec : type.features) tensors.push_back({false, type.name, spec.name});
  }
  for (const Relation& relation : schema.relations) {
    tensors.push_back({true, relation.triple(), kOriginalIdTensor});
    for (const TensorSpec& spec : relation.features) {
      tensors.push_back({true, relation.triple(), spec.name});
    }
  }
  ASSERT_GE(tensors.size(), 11U);
  for (const TensorRef& tensor : tensors) {
    const auto resolved = ResolveTensor(schema, tensor);
    ASSERT_TRUE(resolved.ok());
    const std::vector<int64_t> ids = RandomIds(resolved->rows, 700, 5);
    std::vector<std::byte> expected(ids.size() * resolved->spec.row_bytes());
    std::vector<std::byte> found(expected.size());
    ASSERT_TRUE(reference->kv->Pull(tensor, ids, expected, nullptr).ok());
    const Status status = graph.stores.kv->Pull(tensor, ids, found, nullptr);
    ASSERT_TRUE(status.ok()) << ToString(status);
    EXPECT_TRUE(found == expected) << tensor.ToString();
  }
  ExpectInputRows(graph, "paper", "feat", RandomIds(600, 300, 6));
  ExpectInputRows(graph, "paper", "year", RandomIds(600, 300, 7));
}

void PullOfNothingIsOk(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  CallStats stats;
  EXPECT_TRUE(graph.stores.kv->Pull({false, "node", "feat"}, {}, {}, &stats).ok());
  EXPECT_EQ(stats.local_bytes + stats.remote_bytes, 0);
}

void PullCountsItsBytes(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  CallStats stats{.local_bytes = 1, .remote_bytes = 2};
  std::vector<std::byte> rows(3 * 20);
  EXPECT_TRUE(
      graph.stores.kv->Pull({false, "node", "feat"}, std::vector<int64_t>{0, 1, 2}, rows, &stats)
          .ok());
  EXPECT_EQ(stats.local_bytes + stats.remote_bytes, 3 + 60);
}

void ExpectPullCode(const StoreKind& kind, const TensorRef& tensor, const std::vector<int64_t>& ids,
                    size_t bytes, absl::StatusCode code, const std::string& text) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  std::vector<std::byte> rows(bytes);
  const Status status = graph.stores.kv->Pull(tensor, ids, rows, nullptr);
  EXPECT_EQ(status.code(), code) << ToString(status);
  EXPECT_THAT(Message(status), testing::HasSubstr(text));
}

void ReadsTaskSetsAsTheFolderHasThem(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(TypedConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto reference = OpenLocalStores(graph.path, VerifyLevel::kHeaders, 0);
  ASSERT_TRUE(reference.ok());
  int sets = 0;
  for (const Task& task : reference->kv->info().schema.tasks) {
    for (const TaskSetSpec& spec : task.sets) {
      const auto expected = reference->kv->ReadTaskSet(task.name, spec.set, spec.type);
      const auto found = graph.stores.kv->ReadTaskSet(task.name, spec.set, spec.type);
      ASSERT_TRUE(expected.ok()) << ToString(expected.status());
      ASSERT_TRUE(found.ok()) << ToString(found.status());
      EXPECT_TRUE(found->spec == expected->spec);
      EXPECT_EQ(found->part_boundaries, expected->part_boundaries);
      ASSERT_EQ(found->arrays.size(), expected->arrays.size());
      for (size_t i = 0; i < found->arrays.size(); ++i) {
        EXPECT_TRUE(found->arrays[i].spec == expected->arrays[i].spec);
        EXPECT_TRUE(found->arrays[i].data == expected->arrays[i].data);
      }
      EXPECT_EQ(found->part_boundaries.back(), spec.rows);
      ++sets;
    }
  }
  EXPECT_EQ(sets, 6);
}

void TaskSetSeedsAndLabelsBelongTogether(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto set = graph.stores.kv->ReadTaskSet("node_classification", "train", "node");
  ASSERT_TRUE(set.ok()) << ToString(set.status());
  const auto labels = set->Find("labels");
  ASSERT_TRUE(labels.ok());
  const std::vector<int64_t> global_of_input = GlobalNodeIds(graph.spec, "node");
  std::map<int64_t, int64_t> label_of_global;
  for (size_t i = 0; i < global_of_input.size(); ++i) {
    label_of_global[global_of_input[i]] = static_cast<int64_t>(i) % 3;
  }
  ASSERT_EQ(set->seeds().size(), 1500U);
  for (size_t i = 0; i < set->seeds().size(); ++i) {
    int64_t label = 0;
    std::memcpy(&label, &(*labels)->data[i * sizeof(label)], sizeof(label));
    ASSERT_EQ(label, label_of_global[set->seeds()[i]]);
  }
}

void ExpectTaskSetNotFound(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  KVStore& kv = *graph.stores.kv;
  for (const Status& status : {kv.ReadTaskSet("none", "train", "node").status(),
                               kv.ReadTaskSet("node_classification", "none", "node").status(),
                               kv.ReadTaskSet("node_classification", "train", "none").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << ToString(status);
    EXPECT_THAT(Message(status), testing::HasSubstr("none"));
    EXPECT_THAT(Message(status), testing::HasSubstr("node"));  // what exists
  }
}

void FourThreadsPullAtOnce(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&graph, i] { ExpectInputRows(graph, "node", "feat", RandomIds(3000, 20000, i)); });
  }
  for (std::thread& thread : threads) thread.join();
}

void AfterShutdownEveryPullIsCancelled(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  KVStore& kv = *graph.stores.kv;
  kv.Shutdown();
  std::vector<std::byte> row(20);
  EXPECT_EQ(kv.Pull({false, "node", "feat"}, std::vector<int64_t>{0}, row, nullptr).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(kv.ReadTaskSet("node_classification", "train", "node").status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace

void RegisterKVStoreConformance(const StoreKind& kind) {
  const auto add = [&](const char* name, const std::function<void(const StoreKind&)>& body) {
    RegisterCase("KVStoreConformance", kind, name, body);
  };
  const TensorRef feat{false, "node", "feat"};
  add("PullKeepsOrderAndRepeatsOfIds", PullKeepsOrderAndRepeatsOfIds);
  add("PullOfManyMessagesGivesEveryRow", PullOfManyMessagesGivesEveryRow);
  add("PullReadsEveryTensorOfEveryType", PullReadsEveryTensorOfEveryType);
  add("PullOfNothingIsOk", PullOfNothingIsOk);
  add("PullCountsItsBytes", PullCountsItsBytes);
  add("PullUnknownTypeIsNotFound", [](const StoreKind& k) {
    ExpectPullCode(k, {false, "none", "feat"}, {0}, 20, absl::StatusCode::kNotFound, "none");
    ExpectPullCode(k, {true, "node", "feat"}, {0}, 20, absl::StatusCode::kNotFound, "node");
  });
  add("PullUnknownFeatureIsNotFound", [](const StoreKind& k) {
    ExpectPullCode(k, {false, "node", "none"}, {0}, 20, absl::StatusCode::kNotFound, "none");
  });
  add("PullIdOutsideIsOutOfRangeNamingIt", [feat](const StoreKind& k) {
    ExpectPullCode(k, feat, {0, 3000}, 40, absl::StatusCode::kOutOfRange, "3000");
    ExpectPullCode(k, feat, {-7, 0}, 40, absl::StatusCode::kOutOfRange, "-7");
  });
  add("PullIntoTheWrongSizeIsInvalidArgument", [feat](const StoreKind& k) {
    ExpectPullCode(k, feat, {0, 1}, 39, absl::StatusCode::kInvalidArgument, "39");
  });
  add("ReadsTaskSetsAsTheFolderHasThem", ReadsTaskSetsAsTheFolderHasThem);
  add("TaskSetSeedsAndLabelsBelongTogether", TaskSetSeedsAndLabelsBelongTogether);
  add("UnknownTaskSetIsNotFoundNamingWhatExists", ExpectTaskSetNotFound);
  add("FourThreadsPullAtOnce", FourThreadsPullAtOnce);
  add("AfterShutdownEveryPullIsCancelled", AfterShutdownEveryPullIsCancelled);
}

}  // namespace halograph
