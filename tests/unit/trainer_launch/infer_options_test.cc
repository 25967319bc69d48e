#include "trainer/launch/infer_options.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/file.h"
#include "tests/support/test_folder.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/launch/command_line.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/registry.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The options of a run of GAT, as its checkpoint has them.
class TrainedAsTest : public testing::Test {
 protected:
  TrainedAsTest() {
    TrainOptions run;
    run.model = "gat";
    run.layers = 3;
    run.features = {"feat", "more"};
    run.fanouts = {4, 3, 2};
    run.epochs = 70;
    run.seed = 9;
    run.batch_size = 17;
    run.model_options = (*FindModelKind("gat"))->options();
    OptionTable rows;
    run.model_options->AddRows(rows);
    EXPECT_TRUE(rows.Set("heads", "4").ok());
    EXPECT_TRUE(rows.Set("gatv2", "true").ok());
    // What a run is told of its length and of what it leaves.
    run.checkpoint.folder = "run1";
    run.checkpoint.resume = true;
    run.predict = "p.npy";
    run.control.max_steps = 500;
    run.control.patience = 3;
    run.control.eval_every_steps = 50;
    run.eval_every = 0;
    Resolve(&run);
    trained_ = {.model = "gat", .task = "classes", .options = SharedFacts(run)};
    options_.model = "gat";
    options_.model_options = (*FindModelKind("gat"))->options();
    AddTrainRows(rows_, &options_);
  }

  TrainedAs trained_;
  TrainOptions options_;
  OptionTable rows_;
};

TEST_F(TrainedAsTest, OptionsAreThoseOfTheRunButForItsLengthAndRanks) {
  const Status applied = ApplyTrainedAs(trained_, rows_, &options_);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(options_.task, "classes");
  EXPECT_EQ(options_.layers, 3);
  EXPECT_THAT(options_.features, testing::ElementsAre("feat", "more"));
  EXPECT_THAT(options_.fanouts, testing::ElementsAre(4, 3, 2));
  EXPECT_EQ(options_.seed, 9);
  EXPECT_EQ(rows_.Find("heads")->Text(), "4");
  EXPECT_EQ(rows_.Find("gatv2")->Text(), "true");
  EXPECT_EQ(options_.epochs, 0);
  EXPECT_EQ(options_.world_size, 1);
  EXPECT_FALSE(options_.checkpoint.resume);
  EXPECT_THAT(options_.checkpoint.folder, testing::IsEmpty());
  EXPECT_THAT(options_.predict, testing::IsEmpty());
  EXPECT_EQ(options_.control.max_steps, 0);
  EXPECT_EQ(options_.control.patience, 0);
  options_.graph = "parts";
  EXPECT_TRUE(Validate(options_).ok()) << Validate(options_);
  EXPECT_FALSE(rows_.given("layers"));
  EXPECT_TRUE(CheckTrainedAs(trained_, rows_, options_).ok());
}

TEST_F(TrainedAsTest, WhatTheWeightsMeanMayNotDifferAndTheRestMay) {
  ASSERT_TRUE(ApplyTrainedAs(trained_, rows_, &options_).ok());
  ASSERT_TRUE(rows_.Set("seed", "1").ok());
  ASSERT_TRUE(rows_.Set("eval-batch-size", "99").ok());
  EXPECT_TRUE(CheckTrainedAs(trained_, rows_, options_).ok());
  ASSERT_TRUE(rows_.Set("heads", "2").ok());
  ASSERT_TRUE(rows_.Set("features", "feat").ok());
  options_.task = "other";
  EXPECT_THAT(
      Message(CheckTrainedAs(trained_, rows_, options_)),
      AllOf(HasSubstr("--heads is 2, not 4"), HasSubstr("--features is feat, not feat,more"),
            HasSubstr("--task is other, not classes"), Not(HasSubstr("seed"))));
  trained_.options["layers"] = "many";
  EXPECT_EQ(ApplyTrainedAs(trained_, rows_, &options_).code(), absl::StatusCode::kDataLoss);
}

// Of an older build.
TEST_F(TrainedAsTest, WhatTheCheckpointLacksIsAsItsDefault) {
  for (const char* key : {"normalize_features", "gatv2"}) {
    EXPECT_EQ(trained_.options.erase(key), 1) << key;
  }
  ASSERT_TRUE(ApplyTrainedAs(trained_, rows_, &options_).ok());
  EXPECT_TRUE(CheckTrainedAs(trained_, rows_, options_).ok())
      << CheckTrainedAs(trained_, rows_, options_);
  ASSERT_TRUE(rows_.Set("normalize-features", "row").ok());
  ASSERT_TRUE(rows_.Set("gatv2", "true").ok());
  EXPECT_THAT(Message(CheckTrainedAs(trained_, rows_, options_)),
              AllOf(HasSubstr("--normalize-features is row, not none"),
                    HasSubstr("--gatv2 is true, not false")));
}

TEST_F(TrainedAsTest, OptionsOfAnotherModelAreLeftToTheCheck) {
  TrainOptions options;
  options.model = "sage";
  options.model_options = (*FindModelKind("sage"))->options();
  OptionTable rows;
  AddTrainRows(rows, &options);
  const Status applied = ApplyTrainedAs(trained_, rows, &options);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_THAT(Message(CheckTrainedAs(trained_, rows, options)),
              HasSubstr("--model is sage, not gat"));
}

// A folder with checkpoints of some steps, none of which has the files of its weights.
class ReadTrainedAsTest : public testing::Test {
 protected:
  void Write(int64_t steps, const std::string& model, const Json& options = Json::object()) {
    const auto folder = folder_.path() / CheckpointName(steps);
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    CheckpointManifest manifest;
    manifest.run = {.graph = "graph", .model = model, .task = "classes", .options = options};
    manifest.place = {.epoch = 1, .step = 0, .steps_done = steps, .steps_per_epoch = 1};
    manifest.files = {{.path = kModelFile, .bytes = 8, .checksums = {"0123456789abcdef"}}};
    ASSERT_TRUE(WriteManifest(folder / kManifestFile, ToJson(manifest)).ok());
  }

  TestFolder folder_;
};

TEST_F(ReadTrainedAsTest, ReadsTheNewestManifestThatCanBeReadAndNothingElse) {
  Write(3, "gat");
  Write(7, "sage");
  EXPECT_EQ(ReadTrainedAs(folder_.path())->model, "sage");
  EXPECT_EQ(ReadTrainedAs(folder_.path() / CheckpointName(3))->model, "gat");
  const auto newest = folder_.path() / CheckpointName(7) / kManifestFile;
  ASSERT_TRUE(WriteFileAtomically(newest, "{}").ok());
  EXPECT_EQ(ReadTrainedAs(folder_.path())->model, "gat");
  std::filesystem::remove_all(folder_.path() / CheckpointName(3));
  EXPECT_THAT(Message(ReadTrainedAs(folder_.path()).status()),
              AllOf(HasSubstr("none of 1 checkpoints is whole"), HasSubstr(newest.string())));
  EXPECT_THAT(Message(ReadTrainedAs(folder_.path() / "none").status()),
              HasSubstr("there is no such folder"));
}

// infer and evaluate on the command line, of a checkpoint of a run of sage.
class InferCommandTest : public ReadTrainedAsTest {
 protected:
  void SetUp() override {
    TrainOptions run;
    run.fanouts = {7, 6};
    Resolve(&run);
    Write(3, "sage", SharedFacts(run));
  }
  // The exit code of infer, or of another command, with these words beside the checkpoint.
  int Read(std::vector<std::string> words, const std::string& command = "infer") {
    Program program(kTrainProgram, kAboutTrainProgram);
    options_ = {};
    infer_ = {};
    AddTrainCommands(
        program, &options_, &infer_, [](const char*) { return std::nullopt; },
        [](TrainCommand) { return OkStatus(); });
    words.insert(words.begin(),
                 {kTrainProgram, command, "--graph", "g", "--checkpoint", folder_.path().string()});
    if (command == "infer") words.insert(words.end(), {"--predict", "p.npy"});
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return program.Main(static_cast<int>(arguments.size()), arguments.data());
  }
  std::string Refusal(const std::vector<std::string>& words, const std::string& command = "infer") {
    testing::internal::CaptureStderr();
    const int code = Read(words, command);
    std::string message = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 2) << message;
    return message;
  }

  TrainOptions options_;
  InferOptions infer_;
};

TEST_F(InferCommandTest, WhatIsOfTrainingIsRefusedByName) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--tensorboard", "events"},
                                             {"--average-every=2"},
                                             {"--epochs", "3"},
                                             {"--resume"},
                                             {"--checkpoint-every", "5"},
                                             {"--patience", "2"},
                                             {"--embed-lr", "0.1"}}) {
    const std::string option = words.front().substr(0, words.front().find('='));
    EXPECT_THAT(Refusal(words), HasSubstr(option + " is for training: infer does not train"));
    EXPECT_THAT(Refusal(words, "evaluate"), HasSubstr("evaluate does not train"));
  }
  EXPECT_THAT(Refusal({"--fanouts", "5,5"}),
              HasSubstr("--fanouts is for training; infer has --eval-fanouts"));
  EXPECT_THAT(Refusal({"--predict-nodes", "test"}), HasSubstr("infer has --nodes"));
  EXPECT_THAT(Refusal({"--predict-what", "class"}, "evaluate"),
              HasSubstr("--predict-what: evaluate predicts nothing"));
}

TEST_F(InferCommandTest, TheFileOfTheRunMayHaveWhatIsOfTraining) {
  const std::string path = (folder_.path() / "run.yaml").string();
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "epochs: 3\neval-fanouts: [4, 4]\nfanouts: [2]\npart-only: true\n"
                                  "average-every: 1\nresume: true\nlog: run.jsonl\n"
                                  "predict: run.npy\npredict-nodes: test\npredict-what: logits\n")
                  .ok());
  ASSERT_EQ(Read({"--config", path}), 0);
  EXPECT_THAT(options_.eval_fanouts, testing::ElementsAre(4, 4));
  EXPECT_THAT(options_.fanouts, testing::ElementsAre(7, 6));
  EXPECT_FALSE(options_.part_only);
  EXPECT_EQ(options_.log, "") << "the run's";
  EXPECT_EQ(options_.predict, "p.npy");
  EXPECT_EQ(options_.predict_what, PredictWhat::kLogits);
  ASSERT_EQ(Read({"--config", path}, "evaluate"), 0);
  EXPECT_EQ(options_.predict, "");
  EXPECT_EQ(options_.average_every, 0);
  ASSERT_TRUE(WriteFileAtomically(path, "layers: 3\n").ok());
  EXPECT_THAT(Refusal({"--config", path}), HasSubstr("--layers is 3, not 2"));
}

TEST_F(InferCommandTest, WhatTheWayOfInferenceDoesNotReadIsRefused) {
  EXPECT_EQ(Read({"--eval-fanouts", "3,3", "--memory", "1GiB"}), 0);
  EXPECT_EQ(Read({"--exact", "--memory", "1GiB"}, "evaluate"), 0);
  EXPECT_EQ(Read({"--exact", "--eval-fanouts", "0,3"}), 0) << "relations are left out by it";
  EXPECT_THAT(Refusal({"--exact", "--eval-batch-size", "10"}),
              HasSubstr("--exact and --eval-batch-size: nothing is sampled"));
  EXPECT_THAT(Refusal({"--memory", "1GiB"}, "evaluate"), HasSubstr("--memory is for --exact"));
}

// Which edges weigh what is of what the weights of the model mean.
TEST_F(InferCommandTest, WeightsOfEdgesAreThoseOfTheRunAndNothingExact) {
  EXPECT_THAT(Refusal({"--edge-weight", "w"}), HasSubstr("--edge-weight is w, not its default"));
  TrainOptions run;
  run.fanouts = {7, 6};
  run.edge_weight = "w";
  Resolve(&run);
  Write(4, "sage", SharedFacts(run));
  EXPECT_EQ(Read({}), 0);
  EXPECT_EQ(options_.edge_weight, "w");
  EXPECT_EQ(Read({"--edge-weight", "w"}, "evaluate"), 0);
  EXPECT_THAT(Refusal({"--edge-weight", "v"}), HasSubstr("--edge-weight is v, not w"));
  for (const char* const command : {"infer", "evaluate"}) {
    EXPECT_THAT(Refusal({"--exact"}, command),
                AllOf(HasSubstr("--exact and --edge-weight w: exact inference weighs no edges"),
                      HasSubstr("--eval-fanouts -1")));
  }
}

TEST_F(InferCommandTest, AnotherModelIsNamedBeforeWhatFollowsFromIt) {
  EXPECT_THAT(Refusal({"--layers", "3"}),
              AllOf(HasSubstr("--layers is 3, not 2"), Not(HasSubstr("fanouts"))));
}

}  // namespace
}  // namespace halograph
