#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/conformance/conformance_fixture.h"
#include "tests/conformance/started_call.h"
#include "tests/support/local_stores.h"
#include "tests/support/one_call.h"
#include "tests/support/told_of_rows.h"

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
    const Status status = PullOne(*graph.stores.rows, {false, type, feature}, ids, found, nullptr);
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
  const Schema& schema = reference->graph->info().schema;
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
    ASSERT_TRUE(PullOne(*reference->rows, tensor, ids, expected, nullptr).ok());
    const Status status = PullOne(*graph.stores.rows, tensor, ids, found, nullptr);
    ASSERT_TRUE(status.ok()) << ToString(status);
    EXPECT_TRUE(found == expected) << tensor.ToString();
  }
  ExpectInputRows(graph, "paper", "feat", RandomIds(600, 300, 6));
  ExpectInputRows(graph, "paper", "year", RandomIds(600, 300, 7));
}

// Only stores that have every row mapped offer rows in place; these are then what Pull copies.
void RowsInPlaceAreThoseThatPullCopies(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(TypedConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const Stores& stores = graph.stores;
  for (const TensorRef& tensor : {TensorRef{false, "paper", "feat"},
                                  {false, "paper", "year"},
                                  {false, "author", "emb"},
                                  {false, "paper", kOriginalIdTensor}}) {
    SCOPED_TRACE(tensor.ToString());
    const auto in_place = stores.rows->InPlace(tensor);
    ASSERT_EQ(in_place.has_value(), kind.in_place);
    if (!kind.in_place) continue;
    const auto resolved = ResolveTensor(stores.graph->info().schema, tensor);
    ASSERT_TRUE(resolved.ok());
    const std::vector<int64_t> ids = RandomIds(resolved->rows, 700, 8);
    const size_t row_bytes = resolved->spec.row_bytes();
    ASSERT_EQ(in_place->row_bytes, row_bytes);
    std::vector<std::byte> pulled(ids.size() * row_bytes);
    ASSERT_TRUE(PullOne(*stores.rows, tensor, ids, pulled).ok());
    std::vector<const std::byte*> rows(ids.size());
    in_place->Find(ids, rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(std::memcmp(rows[i], &pulled[i * row_bytes], row_bytes), 0) << ids[i];
    }
  }
  EXPECT_FALSE(stores.rows->InPlace({false, "paper", "none"}).has_value());
  EXPECT_FALSE(stores.rows->InPlace({true, "paper", "feat"}).has_value());
}

void PullOfNothingIsOk(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  CallStats stats;
  EXPECT_TRUE(PullOne(*graph.stores.rows, {false, "node", "feat"}, {}, {}, &stats).ok());
  EXPECT_EQ(stats.local_bytes + stats.remote_bytes, 0);
}

void PullCountsItsBytes(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  CallStats stats;
  stats.local_bytes = 1;
  stats.remote_bytes = 2;
  std::vector<std::byte> rows(3 * 20);
  EXPECT_TRUE(PullOne(*graph.stores.rows, {false, "node", "feat"}, std::vector<int64_t>{0, 1, 2},
                      rows, &stats)
                  .ok());
  EXPECT_EQ(stats.local_bytes + stats.remote_bytes, 3 + 60);
}

void ExpectPullCode(const StoreKind& kind, const TensorRef& tensor, const std::vector<int64_t>& ids,
                    size_t bytes, absl::StatusCode code, const std::string& text) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  std::vector<std::byte> rows(bytes);
  const Status status = PullOne(*graph.stores.rows, tensor, ids, rows, nullptr);
  EXPECT_EQ(status.code(), code) << ToString(status);
  EXPECT_THAT(Message(status), testing::HasSubstr(text));
}

void ReadsTaskSetsAsTheFolderHasThem(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(TypedConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto reference = OpenLocalStores(graph.path, VerifyLevel::kHeaders, 0);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(graph.stores.graph->info().task_rows, reference->graph->info().task_rows);
  int sets = 0;
  for (const Task& task : reference->graph->info().schema.tasks) {
    for (const TaskSetSpec& spec : task.sets) {
      const auto expected = ReadWholeTaskSet(*reference, {task.name, spec.set, spec.type});
      const auto found = ReadWholeTaskSet(graph.stores, {task.name, spec.set, spec.type});
      ASSERT_TRUE(expected.ok()) << ToString(expected.status());
      ASSERT_TRUE(found.ok()) << ToString(found.status());
      EXPECT_TRUE(found->spec == expected->spec);
      ASSERT_EQ(found->arrays.size(), expected->arrays.size());
      for (size_t i = 0; i < found->arrays.size(); ++i) {
        EXPECT_TRUE(found->arrays[i].spec == expected->arrays[i].spec);
        EXPECT_TRUE(found->arrays[i].data == expected->arrays[i].data);
      }
      EXPECT_EQ(found->rows.size(), spec.rows);
      ++sets;
    }
  }
  EXPECT_EQ(sets, 6);
}

void TaskSetSeedsAndLabelsBelongTogether(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto set = ReadWholeTaskSet(graph.stores, {"node_classification", "train", "node"});
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
  const Stores& stores = graph.stores;
  for (const Status& status :
       {ReadWholeTaskSet(stores, {"none", "train", "node"}).status(),
        ReadWholeTaskSet(stores, {"node_classification", "none", "node"}).status(),
        ReadWholeTaskSet(stores, {"node_classification", "train", "none"}).status()}) {
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

void ACancelledTokenEndsItsPullsAndNoOthers(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const Stores& stores = graph.stores;
  CancelToken token;
  token.Cancel();
  std::vector<std::byte> row(20);
  const std::vector<int64_t> ids = {0};
  const TensorRef feat{false, "node", "feat"};
  const TaskSetRef train{"node_classification", "train", "node"};
  EXPECT_EQ(PullOne(*stores.rows, feat, ids, row, nullptr, &token).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(PullOne(*stores.rows, feat, {}, {}, nullptr, &token).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(ReadWholeTaskSet(stores, train, &token).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(PullOne(*stores.rows, feat, ids, row).ok());
  EXPECT_TRUE(ReadWholeTaskSet(stores, train).ok());
}

void APullPastItsDeadlineIsDeadlineExceeded(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  std::vector<std::byte> row(20);
  const std::vector<int64_t> ids = {0};
  CallContext context{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(
      graph.stores.rows->Pull({.tensor = {false, "node", "feat"}, .ids = ids, .out = row}, context)
          .code(),
      absl::StatusCode::kDeadlineExceeded);
}

// Tensors of several types in one call, each row of them at a place of its own.
void OnePullOfSeveralTensorsIsOneExchange(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(TypedConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const auto reference = OpenLocalStores(graph.path, VerifyLevel::kHeaders, 0);
  ASSERT_TRUE(reference.ok());
  const Schema& schema = reference->graph->info().schema;
  std::vector<RowRequest> requests;
  std::vector<std::vector<int64_t>> ids;
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::vector<std::byte>> expected;
  for (const NodeType& type : schema.node_types) {
    for (const TensorSpec& spec : type.features) {
      ids.push_back(RandomIds(type.count, 400, ids.size()));
      const TensorRef tensor{false, type.name, spec.name};
      expected.emplace_back(ids.back().size() * spec.row_bytes());
      ASSERT_TRUE(PullOne(*reference->rows, tensor, ids.back(), expected.back()).ok());
      rows.emplace_back(expected.back().size());
      requests.push_back({.tensor = tensor});
      // Every other one backwards.
      positions.emplace_back();
      if (requests.size() % 2 == 1) continue;
      positions.back().resize(ids.back().size());
      std::iota(positions.back().begin(), positions.back().end(), 0);
      std::reverse(positions.back().begin(), positions.back().end());
      std::reverse(ids.back().begin(), ids.back().end());
    }
  }
  ASSERT_GE(requests.size(), 3U);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].ids = ids[i];
    requests[i].positions = positions[i];
    requests[i].out = rows[i];
  }
  ToldOfRows told;
  CallContext context{.pulled = &told};
  const Status status = graph.stores.rows->Pull(requests, context);
  ASSERT_TRUE(status.ok()) << ToString(status);
  EXPECT_LE(context.stats.rounds, kRoundsOfAnExchange);
  int64_t bytes = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(rows[i] == expected[i]) << requests[i].tensor.ToString();
    bytes += static_cast<int64_t>(rows[i].size());
    EXPECT_EQ(told.of(requests[i].tensor), (std::pair(std::ssize(ids[i]), std::ssize(rows[i]))))
        << requests[i].tensor.ToString();
  }
  EXPECT_EQ(context.stats.local_bytes + context.stats.remote_bytes, bytes);
  EXPECT_EQ(told.bytes(PulledFrom::kRemote), context.stats.remote_bytes);
}

// All are under way at once, and go on by this thread when they are answered.
void PullsStartedByOneThreadGiveTheSameRows(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const TensorRef feat{false, "node", "feat"};
  struct Started {
    explicit Started(PostedWork* work) : call(work) {}
    std::vector<int64_t> ids;
    std::vector<std::byte> rows;
    RowRequest request = {};
    StartedCall<Status> call;
  };
  PostedWork work;
  std::deque<Started> pulls;
  for (uint64_t i = 0; i < 10; ++i) {
    Started& pull = pulls.emplace_back(&work);
    pull.ids = RandomIds(3000, 100 * i, i);
    if (i == 9) pull.ids.back() = 3000;
    pull.rows.resize(pull.ids.size() * 20);
    pull.request = {.tensor = feat, .ids = pull.ids, .out = pull.rows};
    graph.stores.rows->StartPull({&pull.request, 1}, pull.call.context, pull.call.Done());
  }
  for (Started& pull : pulls) {
    const Status& status = pull.call.Await();
    EXPECT_EQ(pull.call.ends(), 1);
    if (&pull == &pulls.back()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
      continue;
    }
    ASSERT_TRUE(status.ok()) << ToString(status);
    std::vector<std::byte> expected(pull.rows.size());
    ASSERT_TRUE(PullOne(*graph.stores.rows, feat, pull.ids, expected, nullptr).ok());
    EXPECT_TRUE(pull.rows == expected);
    const CallStats& stats = pull.call.context.stats;
    EXPECT_EQ(stats.local_bytes + stats.remote_bytes, static_cast<int64_t>(expected.size()));
  }
}

// Nothing is asked before all of it is checked.
void OneBadRequestOfSeveralIsNamedBeforeAnythingIsRead(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const std::vector<int64_t> good = {0};
  const std::vector<int64_t> bad = {3000};
  const std::vector<int64_t> elsewhere = {2};
  std::vector<std::byte> row(20, std::byte{0x5a});
  const std::vector<std::byte> before = row;
  std::vector<std::byte> other(20);
  const TensorRef feat{false, "node", "feat"};
  for (const auto& [request, code, text] :
       {std::tuple{RowRequest{.tensor = feat, .ids = bad, .out = other},
                   absl::StatusCode::kOutOfRange, "request 1: node node / feat: id 3000"},
        {RowRequest{.tensor = feat, .ids = good, .positions = elsewhere, .out = other},
         absl::StatusCode::kInvalidArgument, "position 2 of id 0"}}) {
    const RowRequest requests[] = {{.tensor = feat, .ids = good, .out = row}, request};
    CallContext context;
    const Status status = graph.stores.rows->Pull(requests, context);
    EXPECT_EQ(status.code(), code) << ToString(status);
    EXPECT_THAT(Message(status), testing::HasSubstr(text));
    EXPECT_TRUE(row == before);
  }
}

void RowsOfATaskSetAreThoseOfTheWhole(const StoreKind& kind) {
  ConformanceGraphUnderTest graph(ConformanceGraph(), kind);
  ASSERT_TRUE(graph.ok());
  const Stores& stores = graph.stores;
  const TaskSetRef train{"node_classification", "train", "node"};
  const auto whole = ReadWholeTaskSet(stores, train);
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  const std::vector<int64_t>& boundaries = stores.graph->info().task_rows[0][0];
  ASSERT_EQ(boundaries.size(), 5U);
  ASSERT_EQ(boundaries.back(), whole->spec.rows);
  for (const IdRange rows : {IdRange{0, 1}, IdRange{boundaries[1] - 1, boundaries[1] + 1},
                             IdRange{boundaries[1], boundaries[2]}, IdRange{3, boundaries[3] + 5},
                             IdRange{boundaries[4], boundaries[4]}, IdRange{7, 7}}) {
    CallContext context;
    const auto part = stores.tasks->Read(train, rows, context);
    ASSERT_TRUE(part.ok()) << ToString(part.status());
    EXPECT_EQ(part->rows.begin, rows.begin);
    EXPECT_EQ(part->spec.rows, whole->spec.rows);
    ASSERT_EQ(part->arrays.size(), whole->arrays.size());
    for (size_t a = 0; a < part->arrays.size(); ++a) {
      const size_t row_bytes = part->arrays[a].spec.row_bytes();
      const auto expected = std::span(whole->arrays[a].data)
                                .subspan(static_cast<size_t>(rows.begin) * row_bytes,
                                         static_cast<size_t>(rows.size()) * row_bytes);
      EXPECT_TRUE(std::ranges::equal(part->arrays[a].data, expected));
    }
  }
  for (const IdRange rows : {IdRange{-1, 3}, IdRange{0, whole->spec.rows + 1}, IdRange{5, 4}}) {
    CallContext context;
    const Status status = stores.tasks->Read(train, rows, context).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(Message(status), testing::HasSubstr(std::to_string(whole->spec.rows)));
  }
}

}  // namespace

void RegisterRowStoreConformance(const StoreKind& kind) {
  const auto add = [&](const char* name, const std::function<void(const StoreKind&)>& body) {
    RegisterCase("RowStoreConformance", kind, name, body);
  };
  const TensorRef feat{false, "node", "feat"};
  add("PullKeepsOrderAndRepeatsOfIds", PullKeepsOrderAndRepeatsOfIds);
  add("PullOfManyMessagesGivesEveryRow", PullOfManyMessagesGivesEveryRow);
  add("PullReadsEveryTensorOfEveryType", PullReadsEveryTensorOfEveryType);
  add("RowsInPlaceAreThoseThatPullCopies", RowsInPlaceAreThoseThatPullCopies);
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
  add("ACancelledTokenEndsItsPullsAndNoOthers", ACancelledTokenEndsItsPullsAndNoOthers);
  add("APullPastItsDeadlineIsDeadlineExceeded", APullPastItsDeadlineIsDeadlineExceeded);
  add("OnePullOfSeveralTensorsIsOneExchange", OnePullOfSeveralTensorsIsOneExchange);
  add("PullsStartedByOneThreadGiveTheSameRows", PullsStartedByOneThreadGiveTheSameRows);
  add("OneBadRequestOfSeveralIsNamedBeforeAnythingIsRead",
      OneBadRequestOfSeveralIsNamedBeforeAnythingIsRead);
  add("RowsOfATaskSetAreThoseOfTheWhole", RowsOfATaskSetAreThoseOfTheWhole);
}

}  // namespace halograph
