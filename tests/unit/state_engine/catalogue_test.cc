// The catalogue of a state: one file, written whole.
#include "common/state/engine/catalogue/catalogue_file.h"
#include "common/state/engine/catalogue/number_ranges.h"
#include "common/state/engine/catalogue/state_catalogue.h"
#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CatalogueTest : public StoreTest {
 protected:
  CatalogueTest() { env_ = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_)); }

  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "catalogue"; }
  [[nodiscard]] std::unique_ptr<CatalogueFile> Made(CatalogueFile::Values values) {
    auto made = CatalogueFile::Make(path(), std::move(values), *env_);
    EXPECT_TRUE(made.ok()) << ToString(made.status());
    return std::move(*made);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<CatalogueFile>> Read() {
    return CatalogueFile::Read(path(), *env_);
  }
  static Status Write(CatalogueFile& file, const std::string& key,
                      std::optional<std::string> value) {
    const CatalogueFile::Change change = {key, std::move(value)};
    return file.Write(std::span(&change, 1));
  }
  static std::vector<CatalogueSnapshot> SnapshotsIn(const StateCatalogue& catalogue) {
    std::vector<CatalogueSnapshot> snapshots;
    const Status visited = catalogue.VisitSnapshots(
        [&](const CatalogueSnapshot& snapshot) { snapshots.push_back(snapshot); });
    EXPECT_TRUE(visited.ok()) << ToString(visited);
    return snapshots;
  }

  FailingFiles::Switches switches_;
};

TEST_F(CatalogueTest, HoldsWhatWasWrittenAndCountsItsWrites) {
  const auto file = Made({{"a/2", "\"two\""}, {"gone", "{}"}});
  const CatalogueFile::Change changes[] = {{"a/10", "[1,2]"}, {"b", "7"}, {"gone", std::nullopt}};
  ASSERT_TRUE(file->Write(changes).ok());
  EXPECT_EQ(file->generation(), 2);
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << ToString(read.status());
  EXPECT_EQ((*read)->generation(), 2);
  std::vector<std::string> keys;
  for (const CatalogueFile::Entry& entry : (*read)->Scan("a/")) keys.push_back(entry.key);
  EXPECT_THAT(keys, ElementsAre("a/10", "a/2"));
  EXPECT_EQ((*read)->Get("b"), "7");
  EXPECT_EQ((*read)->Get("gone"), std::nullopt);
  EXPECT_TRUE(absl::IsNotFound(CatalogueFile::Read(folder_.path() / "none", *env_).status()));
}

TEST_F(CatalogueTest, EveryCutAndEveryFlippedByteIsDataLossAndNamesTheFile) {
  static_cast<void>(Made({{"key", "{\"number\":1}"}}));
  const std::string whole = Contents(path());
  EXPECT_THAT(whole, HasSubstr("HLAGCAT1"));
  const auto expect_damage = [&](const std::string& bytes) {
    SetContents(path(), bytes);
    const Status damaged = Read().status();
    EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
    EXPECT_THAT(Message(damaged), HasSubstr(path().string()));
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    expect_damage(whole.substr(0, at));
    std::string flipped = whole;
    flipped[at] ^= 1;
    expect_damage(flipped);
  }
  expect_damage(whole + "x");
  SetContents(path(), whole);
  EXPECT_TRUE(Read().ok());
}

TEST_F(CatalogueTest, FullDiskChangesNothingAndTheNextWriteIsTried) {
  const auto file = Made({{"key", "1"}});
  switches_.full = true;
  const Status full = Write(*file, "key", "2");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << ToString(full);
  EXPECT_THAT(Message(full), HasSubstr("bytes are needed in " + folder_.path().string()));
  EXPECT_EQ(file->Get("key"), "1");
  EXPECT_EQ((*Read())->Get("key"), "1");
  switches_.full = false;
  EXPECT_TRUE(Write(*file, "key", "3").ok());
  EXPECT_EQ((*Read())->Get("key"), "3");
}

TEST_F(CatalogueTest, AfterAWriteThatFailedNothingIsWritten) {
  const auto file = Made({{"key", "1"}});
  switches_.syncs = true;
  EXPECT_FALSE(Write(*file, "key", "2").ok());
  switches_.syncs = false;
  EXPECT_FALSE(Write(*file, "key", "3").ok());
  EXPECT_EQ(file->Get("key"), "1");
  EXPECT_EQ((*Read())->Get("key"), "1");
}

TEST_F(CatalogueTest, SetsOfNumbersAreRangesOfText) {
  using Numbers = std::set<uint32_t>;
  for (const auto& [numbers, text] : {std::pair<Numbers, std::string>{{}, ""},
                                      {{7}, "7"},
                                      {{1, 2, 3, 7, 9, 10}, "1-3,7,9-10"},
                                      {{0, 4294967294, 4294967295}, "0,4294967294-4294967295"}}) {
    EXPECT_EQ(RangesOf(numbers), text);
    EXPECT_EQ(NumbersIn(text), numbers);
  }
  for (const char* text :
       {"x", "1-", "-1", "3-1", "1,", ",1", "1--2", "4294967296", "1 2", "0-4294967295"}) {
    EXPECT_EQ(NumbersIn(text), std::nullopt) << text;
  }
}

TEST_F(CatalogueTest, TensorThatOnlyASnapshotHasIsKeptAndGoesWithIt) {
  StateCatalogue catalogue(Made(StateCatalogue::Empty(graph_)), env_->scheduler());
  ASSERT_TRUE(catalogue.Check(graph_).ok());
  for (uint32_t number = 1; number <= 3; ++number) {
    EXPECT_EQ(catalogue.NextNumber().value(), number);
    ASSERT_TRUE(catalogue.AddTensor({number, Embedding(fmt::format("t{}", number))}).ok());
  }
  CatalogueSnapshot snapshot;
  snapshot.info.name = "s";
  snapshot.files = {1};
  snapshot.tensors = catalogue.Tensors().value();
  ASSERT_TRUE(catalogue.SetCheckpoint({.files = {1}}, {}, &snapshot, nullptr).ok());
  for (uint32_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(catalogue.RemoveTensor(number).ok());
  }
  EXPECT_TRUE(catalogue.Tensors().value().empty());
  EXPECT_EQ(SnapshotsIn(catalogue).at(0).tensors.at(2).spec, Embedding("t3"));
  EXPECT_THAT(Contents(path()), HasSubstr("\"t3\""));
  ASSERT_TRUE(catalogue.RemoveSnapshot("s", {}).ok());
  EXPECT_THAT(Contents(path()), testing::Not(HasSubstr("\"t3\"")));
  EXPECT_EQ(catalogue.NextNumber().value(), 4U) << "numbers are never used again";
}

TEST_F(CatalogueTest, CheckpointEndsTheNamesOfSegmentsBeforeIt) {
  StateCatalogue catalogue(Made(StateCatalogue::Empty(graph_)), env_->scheduler());
  for (int file = 1; file <= 3; ++file) {
    ASSERT_TRUE(catalogue.NameSegment({file, static_cast<uint64_t>(10 + file), 4096}, file).ok());
  }
  ASSERT_TRUE(catalogue.SetCheckpoint({{}, 1, 2, 13}, {}, nullptr, nullptr).ok());
  const NamedSegments named = catalogue.Segments().value();
  ASSERT_EQ(named.used.size(), 1U);
  EXPECT_EQ(named.used[0].epoch, 13U);
  EXPECT_EQ(named.next_epoch, 14U);
  EXPECT_EQ(catalogue.SyncedLsn().value(), 3) << "what a segment's name told";
  ASSERT_TRUE(catalogue.NameSegment({3, 14, 4096}, 0).ok());
  EXPECT_EQ(catalogue.Segments().value().used.size(), 1U) << "another use of the file";
  const int64_t before = catalogue.generation();
  ASSERT_TRUE(catalogue.SetSegments(catalogue.Segments().value(), 3).ok());
  EXPECT_EQ(catalogue.generation(), before) << "nothing was new";
}

TEST_F(CatalogueTest, KeysOfAnOlderBuildAreConverted) {
  const std::string tensor =
      CanonicalJson(Json{{"number", 3}, {"spec", Embedding("live").ToJson()}});
  const Json kept = {{"number", 2}, {"spec", Embedding("dropped").ToJson()}};
  const Json snapshot = {{"name", "s"}, {"lsn", 9},     {"step", -1},
                         {"bytes", 5},  {"files", {1}}, {"tensors", {kept}}};
  const auto values = StateCatalogue::Converted(
      {{"format", CanonicalJson(Json{{"format", 1}, {"identity", graph_.identity}, {"part", 0}})},
       {"closed", "{\"lsn\":12}"},
       {"epochs", "{\"next\":8589934592}"},
       {"next_tensor", "{\"number\":4}"},
       {"tensor/0000000003", tensor},
       {"snapshot/s", CanonicalJson(snapshot)}});
  ASSERT_TRUE(values.ok()) << ToString(values.status());
  const StateCatalogue catalogue(Made(*values), env_->scheduler());
  EXPECT_TRUE(catalogue.Check(graph_).ok());
  EXPECT_EQ(catalogue.Tensors().value().at(0).spec, Embedding("live"));
  EXPECT_EQ(SnapshotsIn(catalogue).at(0).tensors.at(0).spec, Embedding("dropped"));
  EXPECT_EQ(catalogue.SyncedLsn().value(), 12);
  EXPECT_FALSE(catalogue.Segments().value().known);
  EXPECT_EQ(catalogue.Segments().value().next_epoch, 8589934592U);
  EXPECT_FALSE(catalogue.Left().value().known);
  EXPECT_TRUE(absl::IsDataLoss(StateCatalogue::Converted({{"closed", "{\"lsn\":12}"}}).status()));
}

}  // namespace
}  // namespace halograph
