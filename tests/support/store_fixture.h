// A store of part 0 of a graph of two parts, in a temporary folder, with small log segments. What
// it must hold is in a ReferenceState.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/state/state_store.h"
#include "tests/support/plain_env.h"
#include "tests/support/reference_state.h"
#include "tests/support/test_folder.h"

namespace halograph {

inline constexpr int64_t kNodes = 1000;
inline constexpr int64_t kOwnedNodes = 600;  // of part 0: global ids 0 to 599
inline constexpr int64_t kDim = 4;

inline int64_t OriginalId(int64_t global) { return (global * 7 + 3) % kNodes; }

inline MutableTensorSpec Embedding(const std::string& name = "emb") {
  MutableTensorSpec spec;
  spec.ref = {false, "node", name};
  spec.dim = kDim;
  spec.initializer.kind = Initializer::Kind::kUniform;
  spec.initializer.a = -1;
  spec.initializer.b = 1;
  spec.initializer.seed = 7;
  spec.optimizer.kind = RowOptimizer::Kind::kAdagrad;
  spec.optimizer.learning_rate = 0.1;
  return spec;
}

// One push and the memory that it borrows.
struct TestPush {
  PushKind kind = PushKind::kGradient;
  uint64_t client = 1;
  uint64_t sequence = 1;
  std::optional<SyncStep> step;
  std::vector<int64_t> ids;
  std::vector<float> values;
  std::string tensor = "emb";
  bool registered = false;
  uint64_t answered = 0;

  [[nodiscard]] StatePush request() const {
    return {.push = {.tensor = {false, "node", tensor},
                     .kind = kind,
                     .step = step,
                     .ids = ids,
                     .rows = std::as_bytes(std::span(values))},
            .id = {client, sequence, registered, answered}};
  }
};

// `count` ids with repeats, and values.
inline TestPush RandomPush(uint64_t client, uint64_t sequence, size_t count = 40) {
  std::mt19937_64 random(client * 1000 + sequence);
  TestPush push;
  push.client = client;
  push.sequence = sequence;
  for (size_t i = 0; i < count; ++i) {
    push.ids.push_back(static_cast<int64_t>(random() % kOwnedNodes));
    for (int64_t c = 0; c < kDim; ++c) {
      push.values.push_back(static_cast<float>(random() % 2001) / 1000.0f - 1);
    }
  }
  return push;
}

inline TestPush StepPush(int64_t step, int32_t rank, int32_t world_size, uint64_t run = 9) {
  TestPush push =
      RandomPush(100 * run + static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(step) + 1);
  push.step = SyncStep{step, rank, world_size, run};
  return push;
}

inline std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void SetContents(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
// A bit of the byte at `at`, counted round a file that is shorter.
inline void Flip(const std::filesystem::path& path, int64_t at) {
  std::string bytes = Contents(path);
  ASSERT_FALSE(bytes.empty()) << path;
  bytes[static_cast<size_t>(at) % bytes.size()] ^= 0x10;
  SetContents(path, bytes);
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    schema_.graph_name = "test";
    schema_.node_types = {{.name = "node", .count = kNodes, .features = {}}};
    book_ = *PartitionBook::Create(schema_, {{0, kOwnedNodes, kNodes}}, {});
    for (int64_t global = 0; global < kOwnedNodes; ++global) {
      original_ids_.push_back(OriginalId(global));
    }
    graph_.identity = "identity-of-the-graph";
    graph_.schema = &schema_;
    graph_.book = &book_;
    graph_.original_ids = [this](bool, int) -> StatusOr<std::span<const int64_t>> {
      return std::span<const int64_t>(original_ids_);
    };
    options_.folder = folder_.path() / "state";
    options_.segment_bytes = 64 << 10;
    options_.sync_interval_ns = 1'000'000;
    options_.step_timeout_ns = 50'000'000;
    if (const char* memory = std::getenv("HALOGRAPH_STATE_MEMORY"); memory != nullptr) {
      options_.memory_bytes = std::atoll(memory);
    }
    env_ = std::make_unique<PlainEnv>();
  }

  [[nodiscard]] Status Open() {
    store_.reset();
    StatusOr<std::unique_ptr<StateStore>> store = StateStore::Open(options_, graph_, *env_);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    return OkStatus();
  }
  void MustOpen() {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << ToString(opened);
  }
  void OpenWith(const MutableTensorSpec& spec) {
    MustOpen();
    const Status created = store_->Create(spec);
    ASSERT_TRUE(created.ok()) << ToString(created);
  }

  // Until the catalogue names a segment file.
  void AwaitNamed(int segment) const {
    const std::string name = "[" + std::to_string(segment) + ",";
    while (true) {
      const std::string text = Contents(options_.folder / "catalogue");
      const size_t used = text.find("\"used\":");
      if (used != std::string::npos && text.find(name, used) != std::string::npos) return;
      std::this_thread::yield();
    }
  }

  // Ends the store, and leaves the folder as it was before: as a process that is killed does.
  void CrashStore() {
    const std::filesystem::path copy = folder_.path() / "copy";
    std::filesystem::remove_all(copy);
    // Made anew if a segment was named meanwhile, which may be half in the copy.
    const auto catalogue = [](const std::filesystem::path& folder) {
      return Contents(folder / "catalogue");
    };
    std::string before;
    do {
      before = catalogue(options_.folder);
      std::filesystem::remove_all(copy);
      std::error_code gone;
      std::filesystem::copy(options_.folder, copy, std::filesystem::copy_options::recursive, gone);
    } while (before != catalogue(copy) || before != catalogue(options_.folder));
    store_.reset();
    std::filesystem::remove_all(options_.folder);
    std::filesystem::rename(copy, options_.folder);
  }

  // Keeps the folder as it is, no store using it; puts that back, any number of times.
  void Keep() const {
    std::filesystem::remove_all(kept());
    std::filesystem::copy(options_.folder, kept(), std::filesystem::copy_options::recursive);
  }
  void PutBack() {
    store_.reset();
    std::filesystem::remove_all(options_.folder);
    std::filesystem::copy(kept(), options_.folder, std::filesystem::copy_options::recursive);
  }
  [[nodiscard]] std::filesystem::path kept() const { return folder_.path() / "kept"; }

  PushReceipt MustPush(const TestPush& push) {
    const StatusOr<PushReceipt> receipt = store_->Push(push.request(), {});
    EXPECT_TRUE(receipt.ok()) << ToString(receipt.status());
    return receipt.ok() ? *receipt : PushReceipt{};
  }

  // All rows of part 0 as they are pulled.
  [[nodiscard]] std::vector<float> PullAll(int64_t min_lsn = 0, const std::string& name = "emb") {
    std::vector<int64_t> ids(kOwnedNodes);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> rows(kOwnedNodes * kDim);
    const Status pulled = store_->Pull({false, "node", name}, ids, {}, min_lsn,
                                       reinterpret_cast<std::byte*>(rows.data()), {});
    EXPECT_TRUE(pulled.ok()) << ToString(pulled);
    return rows;
  }

  // What all rows must be after pushes that were applied alone, one after the other; a step's
  // pushes stand together in one list.
  static std::vector<float> Expected(const std::vector<std::vector<TestPush>>& applied,
                                     const MutableTensorSpec& spec = Embedding()) {
    ReferenceState reference(spec, kNodes);
    for (const std::vector<TestPush>& together : applied) {
      std::vector<std::vector<int64_t>> ids;
      std::vector<PushedRows> lists;
      for (const TestPush& push : together) {
        ids.emplace_back();
        for (const int64_t id : push.ids) ids.back().push_back(OriginalId(id));
      }
      for (size_t i = 0; i < together.size(); ++i) {
        lists.push_back({ids[i], DType::kFloat32, std::as_bytes(std::span(together[i].values))});
      }
      reference.Apply(together.front().kind, lists);
    }
    std::vector<float> rows;
    for (int64_t global = 0; global < kOwnedNodes; ++global) {
      const std::vector<std::byte> row = reference.Pull(OriginalId(global));
      rows.resize(rows.size() + kDim);
      std::memcpy(rows.data() + rows.size() - kDim, row.data(), row.size());
    }
    return rows;
  }

  TestFolder folder_;
  Schema schema_;
  PartitionBook book_;
  std::vector<int64_t> original_ids_;
  StateGraph graph_;
  StateOptions options_;
  std::unique_ptr<Env> env_;
  std::unique_ptr<StateStore> store_;
};

}  // namespace halograph
