#include "trainer/launch/run_config.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/test_folder.h"
#include "trainer/launch/command_line.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// --config as the two programs read it.
class RunConfigTest : public testing::Test {
 protected:
  struct Parsed {
    bool begins = false;
    int code = 0;
    TrainOptions options;
  };

  std::string Write(const std::string& text, const std::string& name = "run.yaml") {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static Parsed Parse(const std::vector<std::string>& words,
                      const std::map<std::string, std::string>& variables = {}) {
    Program program("halograph-train", "Trains.");
    Parsed parsed;
    AddTrainOptions(program, &parsed.options, [&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
    program.Run([&] {
      parsed.begins = true;
      return OkStatus();
    });
    std::vector<const char*> arguments = {"halograph-train"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    parsed.code = program.Main(static_cast<int>(arguments.size()), arguments.data());
    return parsed;
  }
  static std::string Refusal(const std::vector<std::string>& words,
                             const std::map<std::string, std::string>& variables = {}) {
    testing::internal::CaptureStderr();
    const Parsed parsed = Parse(words, variables);
    std::string message = testing::internal::GetCapturedStderr();
    EXPECT_EQ(parsed.code, 2) << message;
    return message;
  }
  // The log of a run with these options.
  std::string LogOf(const TrainOptions& options, const Json& facts = Json::object()) {
    Json config = ToJson(options);
    config.update(facts);
    return Write(Json{{"config", config}}.dump() + "\n{\"epoch\":0}\n", "log.jsonl");
  }

  TestFolder folder_;
};

TEST_F(RunConfigTest, AFileSaysWhatTheCommandLineWouldSay) {
  const std::string path = Write(
      "graph: g\nlayers: 3\nfanouts: [5, -1, 2]\nlr-schedule: step\nlr_step_epochs: 4\n"
      "model: gat\nheads: 2\nhidden: 32\nresidual: true\ntimeout: 500ms\nclass-weights: [1, 2.5]\n"
      "embed: ['a:8', b]\ntime-limit: 30m\nseed: 18446744073709551615\nlog-level: warning\n");
  const Parsed file = Parse({"--config", path});
  const Parsed words = Parse({"--graph",
                              "g",
                              "--layers",
                              "3",
                              "--fanouts",
                              "5,-1,2",
                              "--lr-schedule",
                              "step",
                              "--lr-step-epochs",
                              "4",
                              "--model",
                              "gat",
                              "--heads",
                              "2",
                              "--hidden",
                              "32",
                              "--residual",
                              "--timeout",
                              "500ms",
                              "--class-weights",
                              "1,2.5",
                              "--embed",
                              "a:8,b",
                              "--time-limit",
                              "30m",
                              "--seed",
                              "18446744073709551615"});
  ASSERT_TRUE(file.begins && words.begins);
  EXPECT_EQ(ToJson(file.options), ToJson(words.options));
}

TEST_F(RunConfigTest, TheCommandLineWinsOverTheFile) {
  const std::string path = Write("graph: g\nepochs: 3\nfanouts: [7, 7]\nmodel: sage\n");
  const Parsed parsed =
      Parse({"--epochs", "5", "--config", path, "--fanouts", "1", "2", "--model", "gcn"});
  ASSERT_TRUE(parsed.begins);
  EXPECT_EQ(parsed.options.epochs, 5);
  EXPECT_EQ(FanoutsText(parsed.options.AllFanouts()), "1,2");
  EXPECT_EQ(parsed.options.model, "gcn");
  EXPECT_EQ(parsed.options.graph, "g");
}

TEST_F(RunConfigTest, WhatIsWrongInTheFileIsWrongUsageWithItsLine) {
  EXPECT_THAT(Refusal({"--config", Write("graph: g\nepoch: 3\n")}),
              AllOf(HasSubstr("run.yaml:2: "), HasSubstr("did you mean --epochs?")));
  EXPECT_THAT(Refusal({"--config", Write("graph: g\n\nmodel: gta\n")}),
              AllOf(HasSubstr("run.yaml:3: "), HasSubstr("no model 'gta'")));
  EXPECT_THAT(Refusal({"--config", Write("graph: g\nmodel: sgc\nheads: 4\n")}),
              HasSubstr("these have it: gat"));
  EXPECT_THAT(Refusal({"--config", Write("config: run.yaml\n")}),
              HasSubstr("--config belongs on the command line"));
  EXPECT_THAT(Refusal({"--config", (folder_.path() / "none").string()}), HasSubstr("none"));
  const std::string pipe = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Refusal({"--config", pipe}), HasSubstr("not a file"));
}

TEST_F(RunConfigTest, ARunIsRepeatedFromTheFirstLineOfItsLog) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--graph", "g"},
           {"--graph", "g", "--model", "embedding", "--precision", "bf16"},
           {"--servers", "a:1,b:2", "--model", "gat", "--heads", "2", "--hidden", "16", "--lr",
            "1e-05", "--timeout", "1500ms", "--seed", "18446744073709551615"},
           {"--servers",     "a:1",         "--topology",
            "local",         "--cache-dir", "d",
            "--model",       "rgcn",        "--fanouts",
            "cites=4:-1",    "*=3:2",       "--class-weights",
            "1,0.1",         "--metric",    "macro-f1,accuracy",
            "--lr-schedule", "cosine",      "--lr-min",
            "1e-4",          "--patience",  "3",
            "--min-delta",   "0.001",       "--max-message-bytes",
            "1MiB",          "--embed",     "a:3,b"}}) {
    const Parsed first = Parse(words);
    ASSERT_TRUE(first.begins);
    const std::string log =
        LogOf(first.options,
              {{"build", "x"}, {"nodes", 7}, {"mode", "m"}, {"learnt_inputs", {{"a", 3}}}});
    const Parsed again = Parse({"--config", log});
    ASSERT_TRUE(again.begins);
    Json wanted = ToJson(first.options);
    EXPECT_EQ(ToJson(again.options), wanted);
    wanted["epochs"] = 9;
    EXPECT_EQ(ToJson(Parse({"--config", log, "--epochs", "9"}).options), wanted);
  }
}

TEST_F(RunConfigTest, WhatARunWroteAndWhereItsRanksStoodAreNotRepeated) {
  TrainOptions options = Parse({"--graph", "g", "--log", "l", "--predict", "p.csv"}).options;
  options.world_size = 2;
  options.rank = 1;
  options.master_addr = "host";
  const std::string log = LogOf(options);
  const std::map<std::string, std::string> launcher = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "77"}};
  const Parsed again = Parse({"--config", log}, launcher);
  ASSERT_TRUE(again.begins);
  EXPECT_EQ(again.options.log, "");
  EXPECT_EQ(again.options.predict, "");
  EXPECT_EQ(again.options.rank, 0);
  EXPECT_EQ(again.options.world_size, 2);
  EXPECT_EQ(again.options.master_addr, "h");
}

TEST_F(RunConfigTest, TheRanksOfALogAreSharedByTheProcessesThatAreHere) {
  TrainOptions options = Parse({"--graph", "g"}).options;
  options.world_size = 4;
  const std::string log = LogOf(options);
  const Parsed alone = Parse({"--config", log});
  ASSERT_TRUE(alone.begins);
  EXPECT_EQ(alone.options.world_size, 1);
  EXPECT_EQ(alone.options.ranks_here(), 4);
  const auto processes = [](const char* count) {
    return std::map<std::string, std::string>{
        {"RANK", "0"}, {"WORLD_SIZE", count}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "77"}};
  };
  EXPECT_EQ(Parse({"--config", log}, processes("2")).options.ranks_here(), 2);
  EXPECT_EQ(Parse({"--config", log}, processes("4")).options.logical_ranks, 0);
  EXPECT_THAT(Refusal({"--config", log}, processes("3")),
              HasSubstr("of a run of 4 ranks, which 3 processes cannot share"));
  EXPECT_EQ(Parse({"--config", log, "--world-size", "1"}).options.ranks_here(), 1);
  EXPECT_EQ(Parse({"--config", log, "--logical-ranks", "2"}).options.ranks_here(), 2);
}

// The numbers of threads of its log are the most that it tried; no choice of the user's.
TEST_F(RunConfigTest, ATunedRunIsTunedAgainUnlessToldOtherwise) {
  const std::string log = LogOf(Parse({"--graph", "g", "--tune"}).options);
  const Parsed again = Parse({"--config", log});
  ASSERT_TRUE(again.begins);
  EXPECT_TRUE(again.options.tune);
  EXPECT_THAT(Refusal({"--config", log, "--threads", "1"}), HasSubstr("--tune=false"));
  const Parsed fixed = Parse({"--config", log, "--tune=false", "--threads", "3"});
  ASSERT_TRUE(fixed.begins);
  EXPECT_EQ(fixed.options.threads, 3);
  const std::string plain = LogOf(Parse({"--graph", "g", "--threads", "1"}).options);
  EXPECT_TRUE(Parse({"--config", plain, "--tune"}).begins);
}

TEST_F(RunConfigTest, AKeyOfALogThatNobodyKnowsIsRefused) {
  const TrainOptions options = Parse({"--graph", "g"}).options;
  EXPECT_THAT(Refusal({"--config", LogOf(options, {{"quantum", true}})}),
              AllOf(HasSubstr("log.jsonl:1: "), HasSubstr("no option --quantum")));
}

}  // namespace
}  // namespace halograph
