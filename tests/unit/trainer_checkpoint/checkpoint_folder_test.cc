#include "trainer/checkpoint/files/checkpoint_folder.h"

#include <csignal>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "tests/support/test_folder.h"
#include "trainer/checkpoint/files/checkpoint_thread.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

// The moment after `steps` steps: weights that tell which one it is.
CheckpointImage ImageOf(int64_t steps, size_t weights = 4) {
  CheckpointImage image;
  image.manifest.build = "1.0";
  image.manifest.time = 17.5;
  image.manifest.run = {"graph-1", "sage", "label", Json{{"seed", 3}, {"lr", 0.5}}};
  image.manifest.place = {steps / 10, steps % 10, steps, 10};
  image.manifest.progress = Json{{"epochs", steps / 10}};
  const auto values =
      std::make_shared<std::vector<float>>(weights, static_cast<float>(steps) + 0.25F);
  const auto tensor = [&](std::string name) {
    return TensorBytes{std::move(name),
                       DType::kFloat32,
                       {static_cast<int64_t>(weights)},
                       std::as_bytes(std::span(*values))};
  };
  image.files[kModelFile] = {tensor("model.weight")};
  image.files[kOptimizerFile] = {tensor("model.weight.exp_avg")};
  image.owners.push_back(values);
  return image;
}

float FirstWeight(const StoredCheckpoint& checkpoint) {
  float value = 0;
  const TensorBytes* const tensor = (*checkpoint.Find(kModelFile))->contents().Find("model.weight");
  std::memcpy(&value, tensor->data.data(), sizeof(value));
  return value;
}

class CheckpointFolderTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path dir() const { return folder_.path() / "run" / "checkpoints"; }
  [[nodiscard]] CheckpointFolder Open(int keep = 3) const {
    auto opened = CheckpointFolder::Open(dir(), keep);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  [[nodiscard]] std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  static void FlipLastByte(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(-1, std::ios::end);
    file.put(byte);
  }

  TestFolder folder_;
};

TEST_F(CheckpointFolderTest, WhatIsWrittenIsRead) {
  const CheckpointImage image = ImageOf(42);
  const auto written = Open().Write(image);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, dir() / "step-000000042");
  for (const fs::path& from : {dir(), *written}) {
    const auto read = ReadNewestCheckpoint(from);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->folder, *written);
    EXPECT_EQ(FirstWeight(*read), 42.25F);
    EXPECT_EQ(read->manifest.place, image.manifest.place);
    EXPECT_EQ(read->manifest.build, "1.0");
    EXPECT_EQ(read->manifest.time, 17.5);
    EXPECT_EQ(read->manifest.progress, image.manifest.progress);
    EXPECT_TRUE(CheckSameRun(read->manifest.run, image.manifest.run, {}, "x").ok());
    EXPECT_THAT(read->manifest.files, SizeIs(2));
    EXPECT_NE(read->manifest.Find(kModelFile), nullptr);
    EXPECT_EQ(read->manifest.Find(kBestFile), nullptr);
    EXPECT_THAT(Message(read->Find(kBestFile).status()),
                HasSubstr("has no best.safetensors; it has model.safetensors, optimizer"));
  }
}

TEST_F(CheckpointFolderTest, ScalesOfFeaturesAreThereOnlyWhereARunHasSome) {
  CheckpointImage image = ImageOf(1);
  EXPECT_FALSE(ToJson(image.manifest).contains("feature_scales")) << "as older builds wrote it";
  EXPECT_EQ(ManifestFromJson(ToJson(image.manifest), "x")->feature_scales, Json::object());
  image.manifest.feature_scales =
      Json{{"node", {{"feat", {{"mean", {0.1}}, {"deviation", {1.0 / 3}}}}}}};
  const auto read = ManifestFromJson(ToJson(image.manifest), "x");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->feature_scales, image.manifest.feature_scales);
}

TEST_F(CheckpointFolderTest, TheLastOnesAreKept) {
  const CheckpointFolder folder = Open(2);
  for (const int64_t steps : {1, 5, 30, 1'000'000'000}) {
    ASSERT_TRUE(folder.Write(ImageOf(steps)).ok());
  }
  EXPECT_THAT(Names(), ElementsAre("step-000000030", "step-1000000000"));
  EXPECT_EQ(FirstWeight(*ReadNewestCheckpoint(dir())), 1e9F);
}

TEST_F(CheckpointFolderTest, ADamagedOneIsPassedOver) {
  const CheckpointFolder folder = Open(9);
  for (const int64_t steps : {10, 20, 30, 40, 50}) {
    ASSERT_TRUE(folder.Write(ImageOf(steps)).ok());
  }
  FlipLastByte(dir() / "step-000000050" / kModelFile);
  fs::resize_file(dir() / "step-000000040" / kOptimizerFile, 40);
  fs::remove(dir() / "step-000000030" / kManifestFile);
  std::ostringstream warnings;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(warnings)));
  const auto silent = ReadNewestCheckpoint(dir(), {}, OnDamaged::kPassOver);
  EXPECT_EQ(warnings.str(), "");
  const auto read = ReadNewestCheckpoint(dir());
  spdlog::set_default_logger(before);
  const std::string warned = warnings.str();
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_EQ(silent->folder, dir() / "step-000000020");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->manifest.place.steps_done, 20);
  EXPECT_THAT(warned, HasSubstr("step-000000050 is damaged"));
  EXPECT_THAT(warned, HasSubstr("step-000000040 is damaged"));
  EXPECT_THAT(warned, HasSubstr("step-000000030 is damaged"));
  EXPECT_THAT(warned, HasSubstr("using the previous one"));
  EXPECT_THAT(warned, Not(HasSubstr("step-000000020")));

  // Asked for by itself, it is an error.
  EXPECT_EQ(ReadNewestCheckpoint(dir() / "step-000000050").status().code(),
            absl::StatusCode::kDataLoss);
  for (const char* name : {"step-000000020", "step-000000010"}) {
    FlipLastByte(dir() / name / kModelFile);
  }
  const auto none = ReadNewestCheckpoint(dir());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(none.status()), HasSubstr("none of 5 checkpoints is whole; of the newest"));
  EXPECT_THAT(Message(none.status()), HasSubstr("or name another folder to begin anew"));
}

// A link that leads to itself stands for all that the system may say: no memory, too many files.
TEST_F(CheckpointFolderTest, OneThatCannotBeReadForNowIsNotPassedOver) {
  const CheckpointFolder folder = Open(9);
  for (const int64_t steps : {10, 20}) ASSERT_TRUE(folder.Write(ImageOf(steps)).ok());
  const fs::path model = dir() / "step-000000020" / kModelFile;
  fs::rename(model, dir() / "model");
  fs::create_symlink(model, model);
  const auto read = ReadNewestCheckpoint(dir());
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInternal) << read.status();
  EXPECT_THAT(Message(read.status()), HasSubstr(model.string()));
  fs::rename(dir() / "model", model);
  EXPECT_EQ(ReadNewestCheckpoint(dir())->manifest.place.steps_done, 20);
}

TEST_F(CheckpointFolderTest, OneWithoutWhatItNeedsIsPassedOver) {
  const CheckpointFolder folder = Open(9);
  for (const int64_t steps : {10, 20, 30}) {
    CheckpointImage image = ImageOf(steps);
    image.manifest.snapshot = {.name = CheckpointName(steps), .next_step = steps};
    ASSERT_TRUE(folder.Write(image).ok());
  }
  const auto read = [&](const Status& of_30, const Status& of_20) {
    return ReadNewestCheckpoint(dir(), [&](const StoredCheckpoint& checkpoint) {
      const CheckpointSnapshot& snapshot = checkpoint.manifest.snapshot.value();
      EXPECT_EQ(snapshot.name, CheckpointName(snapshot.next_step));
      return snapshot.next_step == 30 ? of_30 : snapshot.next_step == 20 ? of_20 : OkStatus();
    });
  };
  EXPECT_EQ(read(OkStatus(), OkStatus())->manifest.place.steps_done, 30);
  EXPECT_EQ(read(NotFound("gone"), OkStatus())->manifest.place.steps_done, 20);
  EXPECT_EQ(read(NotFound("gone"), DataLoss("broken"))->manifest.place.steps_done, 10);
  // What may be there, or is another run's, is no reason to go further back.
  EXPECT_EQ(read(Unavailable("a server"), OkStatus()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(read(FailedPrecondition("other"), OkStatus()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CheckpointFolderTest, AFolderWithoutCheckpointsSaysSoAndWhatToGive) {
  EXPECT_THAT(*ListCheckpoints(dir()), IsEmpty());
  EXPECT_EQ(ReadNewestCheckpoint(dir()).status().code(), absl::StatusCode::kNotFound);
  const CheckpointFolder folder = Open();
  fs::create_directory(dir() / "step-7");
  fs::create_directory(dir() / "step-00000000x");
  fs::create_directory(dir() / "other");
  EXPECT_EQ(Message(ReadNewestCheckpoint(dir()).status()),
            dir().string() +
                ": has no checkpoint; give the folder that a run was given as "
                "--checkpoint, or one of the folders step-N in it");
  EXPECT_THAT(Message(ReadNewestCheckpoint(dir() / "nowhere").status()),
              HasSubstr("nowhere: there is no such folder; give the folder that"));
}

// What lies ahead was damaged, or is of steps that were taken back.
TEST_F(CheckpointFolderTest, AnEarlierStepThanTheNewestTakesItsPlace) {
  const CheckpointFolder folder = Open();
  for (const int64_t steps : {10, 20, 30}) ASSERT_TRUE(folder.Write(ImageOf(steps)).ok());
  ASSERT_TRUE(folder.Write(ImageOf(15)).ok());
  EXPECT_THAT(Names(), ElementsAre("step-000000010", "step-000000015"));
  ASSERT_TRUE(folder.Write(ImageOf(15, 8)).ok()) << "in the place of the one of this name";
  EXPECT_THAT(Names(), SizeIs(2));
}

TEST_F(CheckpointFolderTest, WhatAKilledWriterLeftBehindIsRemoved) {
  fs::create_directories(dir() / "step-000000007.tmp-1-0");
  fs::create_directories(dir() / "mine.tmp-1-0");
  EXPECT_TRUE(ListCheckpoints(dir())->empty());
  fs::create_directories(dir() / "step-000000006");
  fs::create_directories(dir() / "step-000000006.old-1-0");
  EXPECT_THAT(*ListCheckpoints(dir()), ElementsAre(Pair(6, dir() / "step-000000006")));
  const CheckpointFolder folder = Open();
  EXPECT_THAT(Names(), ElementsAre("mine.tmp-1-0", "step-000000006"));
}

// As where the file system cannot let two folders change places.
TEST_F(CheckpointFolderTest, OneWhoseReplacementWasNotThereYetIsBack) {
  ASSERT_TRUE(Open().Write(ImageOf(6)).ok());
  fs::rename(dir() / "step-000000006", dir() / "step-000000006.old-1-0");
  fs::create_directories(dir() / "step-000000006.tmp-1-1");
  ASSERT_TRUE(ReadNewestCheckpoint(dir()).ok());
  const CheckpointFolder folder = Open();
  ASSERT_THAT(Names(), ElementsAre("step-000000006"));
  EXPECT_EQ(FirstWeight(*ReadNewestCheckpoint(dir())), 6.25F);
}

TEST_F(CheckpointFolderTest, ACheckpointIsNoFolderOfCheckpoints) {
  const fs::path written = *Open().Write(ImageOf(1));
  const fs::path copy = folder_.path() / "run" / "copy";
  fs::copy(written, copy, fs::copy_options::recursive);
  for (const auto& [given, parent] :
       {std::pair{written, dir()}, {written / "", dir()}, {copy, folder_.path() / "run"}}) {
    const Status status = CheckpointFolder::Open(given, 3).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(Message(status),
                HasSubstr("is a checkpoint itself; give the folder that it is in, " +
                          parent.string() + ":"));
  }
  fs::create_directories(dir() / "another");  // with a manifest, but of something else
  ASSERT_TRUE(WriteManifest(dir() / "another" / kManifestFile, Json::object()).ok());
  EXPECT_TRUE(CheckpointFolder::Open(dir() / "another", 3).ok());
}

TEST_F(CheckpointFolderTest, OneRunAtATimeHasTheFolder) {
  {
    const CheckpointFolder folder = Open();
    EXPECT_EQ(CheckpointFolder::Open(dir(), 3).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(CheckpointFolder::Open(dir(), 3).ok());
}

TEST_F(CheckpointFolderTest, WeightsThatAreNotFiniteTakeNoPlace) {
  const CheckpointFolder folder = Open(1);
  ASSERT_TRUE(folder.Write(ImageOf(1)).ok());
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    CheckpointImage image = ImageOf(2);
    const std::vector<float> weights = {0, 1, bad};
    image.files[kModelFile] = {
        {"model.bias", DType::kFloat32, {3}, std::as_bytes(std::span(weights))}};
    const auto written = folder.Write(image);
    EXPECT_EQ(written.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(written.status()), HasSubstr("'model.bias' has the value"));
  }
  EXPECT_THAT(Names(), ElementsAre("step-000000001"));
}

TEST_F(CheckpointFolderTest, AFullDiskLeavesNothingHalfWritten) {
  const CheckpointFolder folder = Open();
  ASSERT_TRUE(folder.Write(ImageOf(1)).ok());
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 1 << 16, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = folder.Write(ImageOf(2, 1 << 16));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(written.status().code(), absl::StatusCode::kResourceExhausted) << written.status();
  EXPECT_THAT(Names(), ElementsAre("step-000000001"));
  EXPECT_TRUE(folder.Write(ImageOf(3)).ok()) << "the next one is written";
}

TEST_F(CheckpointFolderTest, AnotherFormatIsRefused) {
  const CheckpointFolder folder = Open();
  ASSERT_TRUE(folder.Write(ImageOf(1)).ok());
  const auto written = folder.Write(ImageOf(2));
  ASSERT_TRUE(written.ok());
  Json manifest = *ReadManifest(*written / kManifestFile);
  manifest["format_version"] = 2;
  ASSERT_TRUE(WriteManifest(*written / kManifestFile, manifest).ok());
  const auto read = ReadNewestCheckpoint(dir());
  EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(read.status()), HasSubstr("has format version 2, this build reads 1"));
}

TEST(CheckpointManifestTest, FieldsThatAreMissingOrWrongAreNamed) {
  const Json whole = ToJson(ImageOf(12).manifest);
  ASSERT_TRUE(ManifestFromJson(whole, "m").ok());
  for (const auto& [key, value] : whole.items()) {
    if (key == "time") continue;
    Json less = whole;
    less.erase(key);
    EXPECT_THAT(Message(ManifestFromJson(less, "m").status()),
                HasSubstr("field '" + key + "' is missing"));
    Json wrong = whole;
    wrong[key] = nullptr;
    EXPECT_THAT(Message(ManifestFromJson(wrong, "m").status()), HasSubstr("'" + key + "' is null"));
  }
  CheckpointManifest with = ImageOf(12).manifest;
  with.snapshot = {.name = "kept", .next_step = 13};
  const Json named = ToJson(with);
  EXPECT_EQ(ManifestFromJson(named, "m")->snapshot, with.snapshot);
  EXPECT_EQ(ManifestFromJson(whole, "m")->snapshot, std::nullopt);
  for (const char* key : {"name", "next_step"}) {
    Json less = named;
    less["snapshot"].erase(key);
    EXPECT_THAT(Message(ManifestFromJson(less, "m").status()), HasSubstr(key));
  }
  Json far = whole;
  far["step"] = 11;
  EXPECT_THAT(Message(ManifestFromJson(far, "m").status()), HasSubstr("beyond the epoch's 10"));
  far["step"] = -1;
  EXPECT_THAT(Message(ManifestFromJson(far, "m").status()), HasSubstr("below 0"));
  far["format"] = "other";
  EXPECT_THAT(Message(ManifestFromJson(far, "m").status()), HasSubstr("'format' is 'other'"));
}

const MayDiffer kMay{.always = {"predict", "patience"}, .length = {"epochs", "max_steps"}};

TEST(RunIdentityTest, EveryDifferenceIsNamed) {
  const RunIdentity was = {"g1", "sage", "label", Json{{"seed", 1}, {"lr", 0.5}, {"epochs", 3}}};
  EXPECT_TRUE(CheckSameRun(was, was, kMay, "there").ok());
  RunIdentity is = was;
  is.options["epochs"] = 9;
  is.options["predict"] = true;
  EXPECT_TRUE(CheckSameRun(was, is, kMay, "there").ok()) << "no step depends on them";
  is = {"g2", "gcn", "other", Json{{"seed", 2}, {"hidden", 16}}};
  const Status status = CheckSameRun(was, is, kMay, "there");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(status),
            "there: this checkpoint is of another run: the graph's identity was g1, is g2; the "
            "model was sage, is gcn; the task was label, is other; --hidden was not there, is 16; "
            "--lr was 0.5, is not there; --seed was 1, is 2. Give what was given then, or another "
            "folder");
}

TEST(RunIdentityTest, AnOptionThatAnOlderBuildHadNotCountsAsItsDefault) {
  const RunIdentity was = {"g1", "sage", "label", Json{{"seed", 1}}};
  const MayDiffer may{.always = {}, .length = {}, .defaults = Json{{"seed", 0}, {"norm", "none"}}};
  RunIdentity is = was;
  is.options["norm"] = "none";
  EXPECT_TRUE(CheckSameRun(was, is, may, "there").ok()) << CheckSameRun(was, is, may, "there");
  is.options["norm"] = "batch";
  EXPECT_THAT(Message(CheckSameRun(was, is, may, "there")),
              HasSubstr(R"(another run: --norm was "none", is "batch". Give)"));
  is.options = Json{{"seed", 0}, {"norm", "none"}};
  EXPECT_THAT(Message(CheckSameRun(was, is, may, "there")),
              HasSubstr("another run: --seed was 1, is 0. Give"));
}

// The cosine comes to its end at the run's last step, wherever that is.
TEST(RunIdentityTest, ALengthThatTheLearningRateDependsOnMustStay) {
  for (const char* schedule : {"constant", "step", "cosine"}) {
    const Json options{{"lr_schedule", schedule}, {"epochs", 3}, {"max_steps", 0}};
    const RunIdentity was = {"g1", "sage", "label", options};
    EXPECT_TRUE(CheckSameRun(was, was, kMay, "there").ok());
    RunIdentity is = was;
    is.options["epochs"] = 9;
    is.options["max_steps"] = 50;
    is.options["patience"] = 2;
    const Status status = CheckSameRun(was, is, kMay, "there");
    if (std::string_view(schedule) != "cosine") {
      EXPECT_TRUE(status.ok()) << schedule << ": " << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("--epochs was 3, is 9; --max-steps was 0, is 50. Give "
                                           "what was given then, or another folder; with "
                                           "--lr-schedule cosine every step's learning rate"));
  }
}

class CheckpointThreadTest : public CheckpointFolderTest {};

TEST_F(CheckpointThreadTest, WritesBehindAndSaysWhatBecameOfIt) {
  CheckpointThread writer(Open());
  EXPECT_FALSE(writer.last().has_value());
  writer.Start(ImageOf(1));
  writer.Start(ImageOf(2));  // waits for the first
  CheckpointImage bad = ImageOf(3);
  bad.files[kModelFile].push_back(bad.files[kModelFile].front());  // a name twice
  writer.Start(std::move(bad));
  writer.Wait();
  EXPECT_FALSE(writer.busy());
  const auto outcomes = writer.TakeOutcomes();
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_TRUE(outcomes[0].status.ok());
  EXPECT_EQ(outcomes[1].folder, dir() / "step-000000002");
  EXPECT_EQ(outcomes[2].steps_done, 3);
  EXPECT_EQ(outcomes[2].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_GT(outcomes[0].seconds, 0);
  EXPECT_EQ(writer.last(), dir() / "step-000000002");
  EXPECT_THAT(writer.TakeOutcomes(), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("step-000000001", "step-000000002"));
}

TEST_F(CheckpointThreadTest, AfterEachItCallsWhoFollowsIt) {
  std::vector<size_t> there;
  CheckpointThread writer(Open(), [&] { there.push_back(Names().size()); });
  writer.Start(ImageOf(1));
  writer.Wait();
  EXPECT_THAT(there, ElementsAre(1));
  CheckpointImage bad = ImageOf(2);
  bad.files[kModelFile].push_back(bad.files[kModelFile].front());
  writer.Start(std::move(bad));
  writer.Wait();
  EXPECT_THAT(there, ElementsAre(1, 1)) << "also after a failure";
}

TEST_F(CheckpointThreadTest, ItsEndWaitsForWhatIsBeingWritten) {
  { CheckpointThread(Open()).Start(ImageOf(5, 1 << 20)); }
  EXPECT_EQ(ReadNewestCheckpoint(dir())->manifest.place.steps_done, 5);
}

}  // namespace
}  // namespace halograph
