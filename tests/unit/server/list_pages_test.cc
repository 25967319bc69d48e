// Pages of tensors and snapshots, without their messages.
#include "server/handlers/list_pages.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/graph/row_source.h"
#include "tests/support/plain_env.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/support/written_graph.h"

namespace halograph::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Lists of both parts in pages.
class ListPagesTest : public testing::Test {
 protected:
  static constexpr int64_t kEnough = 1 << 20;
  static constexpr size_t kTensorBytes = 300, kSnapshotBytes = 100, kSpecBytes = 200;

  void SetUp() override {
    auto set = PartitionSet::Open(
        WriteGraphInto(&graph_, RandomTypedGraph({.seed = 7, .parts = 3, .nodes = 60})), {0, 2},
        VerifyLevel::kHeaders);
    ASSERT_TRUE(set.ok()) << set.status();
    set_ = std::move(set).value();
    features_ = MakeSchemaCatalog(&set_->schema(), &set_->book(), set_.get());
    auto states = PartStates::Open(
        {.folder = state_.path() / "state", .sync = SyncLevel::kNever, .segment_bytes = 1 << 20},
        *set_, *features_, env_);
    ASSERT_TRUE(states.ok()) << states.status();
    states_ = std::move(states).value();
    ASSERT_TRUE(
        states_
            ->Create({.ref = {false, "paper", "emb"}, .dim = 2, .initializer = {}, .optimizer = {}})
            .ok());
    for (const char* name : {"c", "a/b", "", "d"}) Make(name);
    ASSERT_TRUE(states_->Snapshot("one", std::nullopt, {}).ok());
    Make("e");
    ASSERT_TRUE(states_->Snapshot("two", std::nullopt, {}).ok());
    ASSERT_TRUE(states_->Find(2)->Snapshot("of-two", std::nullopt, {}).ok());
  }
  void Make(const std::string& name) {
    const MutableTensorSpec spec{.ref = {false, "", "range-" + name},
                                 .placement = Placement::kRange,
                                 .rows = 3,
                                 .initializer = {},
                                 .optimizer = {}};
    const Status made = states_->Create(spec);
    ASSERT_TRUE(made.ok()) << made;
  }
  static EntryBytes Bytes() {
    return {.tensor = [](const MutableTensorStats&) { return kTensorBytes; },
            .snapshot = [](const SnapshotInfo&) { return kSnapshotBytes; },
            .spec = [](const MutableTensorSpec&) { return kSpecBytes; }};
  }
  // All tensors and how they came: "part: name" of each, by pages.
  std::vector<std::vector<std::string>> TensorPages(int64_t size, int64_t max_bytes = kEnough) {
    std::vector<std::vector<std::string>> pages;
    PageRequest request{.size = size};
    do {
      const auto page = PageOfTensors(*states_, request, max_bytes, Bytes());
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      std::vector<std::string>& told = pages.emplace_back();
      for (const auto& [part, state] : page->parts) {
        for (const auto& tensor : state.tensors) {
          told.push_back(fmt::format("{}: {}", part, tensor.spec.ref.name));
        }
      }
      request.token = page->next;
    } while (!request.token.empty() && pages.size() < 100);
    return pages;
  }
  std::vector<std::vector<std::string>> SnapshotPages(SnapshotsRequest request,
                                                      int64_t max_bytes = kEnough) {
    std::vector<std::vector<std::string>> pages;
    do {
      const auto page = PageOfSnapshots(*states_, request, max_bytes, Bytes());
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      std::vector<std::string>& told = pages.emplace_back();
      for (const auto& [part, snapshots] : page->parts) {
        for (const SnapshotInfo& info : snapshots) {
          // One that goes on is told once more.
          if (const std::string head = fmt::format("{}: {}", part, info.name); head != last_) {
            told.push_back(last_ = head);
          }
          for (const auto& spec : info.tensors) told.push_back(spec.ref.name);
        }
      }
      request.page.token = page->next;
    } while (!request.page.token.empty() && pages.size() < 100);
    last_.clear();
    return pages;
  }
  static std::vector<std::string> Joined(const std::vector<std::vector<std::string>>& pages) {
    std::vector<std::string> all;
    for (const auto& page : pages) all.insert(all.end(), page.begin(), page.end());
    return all;
  }

  std::unique_ptr<TestFolder> graph_;
  const TestFolder state_;
  PlainEnv env_;
  std::unique_ptr<PartitionSet> set_;
  std::unique_ptr<TensorCatalog> features_;
  std::unique_ptr<PartStates> states_;
  std::string last_;
};

TEST_F(ListPagesTest, PagesOfTensorsAddUpToTheWhole) {
  const auto whole = TensorPages(0);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_THAT(whole[0], ElementsAre("0: range-", "0: range-a/b", "0: range-c", "0: range-d",
                                    "0: range-e", "0: emb", "2: range-", "2: range-a/b",
                                    "2: range-c", "2: range-d", "2: range-e", "2: emb"));
  for (int64_t size = 1; size <= 13; ++size) {
    const auto pages = TensorPages(size);
    EXPECT_EQ(Joined(pages), whole[0]) << size;
    EXPECT_EQ(std::ssize(pages), (12 + size - 1) / size) << size;
    EXPECT_EQ(std::ssize(pages[0]), std::min<int64_t>(size, 12));
  }
}

TEST_F(ListPagesTest, PagesStayWithinAMessage) {
  const auto whole = TensorPages(0);
  for (const int64_t bytes : {2048 + 256 + 2 * 300, 2048 + 256 + 5 * 300 + 299, 100}) {
    const auto pages = TensorPages(1000, bytes);
    EXPECT_EQ(Joined(pages), whole[0]) << bytes;
    const size_t most = std::max<int64_t>((bytes - 2048 - 256) / 300, 1);
    for (const auto& page : pages) EXPECT_LE(page.size(), most) << bytes;
  }
  // Whoever knows no pages gets all, or is told of them.
  const Status refused = PageOfTensors(*states_, {}, 5000, Bytes()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("page_size"));
  EXPECT_THAT(Message(refused), HasSubstr("message of 5000 bytes"));
  EXPECT_TRUE(PageOfTensors(*states_, {}, 2048 + 2 * 256 + 12 * 300, Bytes()).ok());
}

TEST_F(ListPagesTest, WhatIsThereAllTheWhileComesOnce) {
  auto page = PageOfTensors(*states_, {.size = 3}, kEnough, Bytes());
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->parts.at(0).tensors.back().spec.ref.name, "range-c");
  ASSERT_TRUE(states_->Drop({false, "", "range-c"}).ok());
  Make("b");  // before the place
  Make("dd");
  page = PageOfTensors(*states_, {.size = 3, .token = page->next}, kEnough, Bytes());
  ASSERT_TRUE(page.ok()) << page.status();
  std::vector<std::string> names;
  for (const auto& tensor : page->parts.at(0).tensors) names.push_back(tensor.spec.ref.name);
  EXPECT_THAT(names, ElementsAre("range-d", "range-dd", "range-e"));
}

TEST_F(ListPagesTest, PagesOfSnapshotsAddUpToTheWhole) {
  const auto whole = SnapshotPages({});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].size(), 6 + 7 + 7 + 6 + 7U);
  EXPECT_THAT(SnapshotPages({.without_tensors = true})[0],
              ElementsAre("0: one", "0: two", "2: of-two", "2: one", "2: two"));
  EXPECT_THAT(SnapshotPages({.name = "of-two", .without_tensors = true})[0],
              ElementsAre("2: of-two"));
  for (int64_t size = 1; size <= 40; ++size) {
    EXPECT_EQ(Joined(SnapshotPages({.page = {.size = size}})), whole[0]) << size;
    const auto names = SnapshotPages({.page = {.size = size}, .without_tensors = true});
    EXPECT_EQ(Joined(names).size(), 5U) << size;
    EXPECT_EQ(std::ssize(names), (5 + size - 1) / size) << size;
  }
  for (const int64_t bytes : {100, 2048 + 700, 2048 + 1500}) {
    EXPECT_EQ(Joined(SnapshotPages({.page = {.size = 1000}}, bytes)), whole[0]) << bytes;
  }
  const Status refused = PageOfSnapshots(*states_, {}, 5000, Bytes()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("page_size"));
}

TEST_F(ListPagesTest, SizesAndTokensThatCannotBeAreInvalid) {
  const auto refused = [&](const PageRequest& request) {
    const Status status = PageOfTensors(*states_, request, kEnough, Bytes()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(Message(status));
  };
  EXPECT_THAT(refused({.size = -1}), HasSubstr("page_size is -1"));
  for (const char* token :
       {"x", "tensors", "tensors/", "tensors/x/", "tensors/0", "tensors/0/1", "tensors/0/0/9/abc",
        "snapshots/0/", "tensors/99999999999999999999/", "tensors/0/0/99999999999999999999/x"}) {
    EXPECT_THAT(refused({.size = 1, .token = token}), HasSubstr("page_token")) << token;
  }
  const auto page = PageOfTensors(*states_, {.size = 1}, kEnough, Bytes());
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      PageOfSnapshots(*states_, {.page = {.token = page->next}}, kEnough, Bytes()).status()));
}

}  // namespace
}  // namespace halograph::server
