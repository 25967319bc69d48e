#include "common/program/config_file.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Rows of several kinds, and files that set them.
class ConfigFileTest : public testing::Test {
 protected:
  ConfigFileTest() {
    rows_.Add("graph", &graph_, "graph");
    rows_.Add("batch-size", &batch_size_, "seeds").Range(1, 100);
    rows_.Add("lr", &lr_, "rate");
    rows_.Add("replace", &replace_, "flag");
    rows_.Add("fanouts", &fanouts_, "list");
    rows_.Add("names", &names_, "list of words");
    rows_.Add("timeout", &timeout_, "duration");
    rows_.AddBytes("memory", &memory_, "bytes");
  }

  std::string Write(const std::string& text) {
    const std::string path = (folder_.path() / "run.yaml").string();
    std::ofstream(path) << text;
    return path;
  }
  Status Apply(const std::string& text) {
    const auto file = ConfigFile::Read(Write(text));
    if (!file.ok()) return file.status();
    const std::string_view refused[] = {"config"};
    return file->Apply(rows_, refused);
  }
  // The message, with the path shortened.
  std::string Refusal(const std::string& text) {
    const Status status = Apply(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    std::string message = Message(status);
    const std::string folder = folder_.path().string() + "/";
    if (const size_t at = message.find(folder); at != std::string::npos) {
      message.erase(at, folder.size());
    }
    return message;
  }

  TestFolder folder_;
  std::string graph_ = "none";
  int64_t batch_size_ = 7;
  double lr_ = 0.5;
  bool replace_ = false;
  std::vector<int> fanouts_ = {1};
  std::vector<std::string> names_;
  std::chrono::nanoseconds timeout_{0};
  int64_t memory_ = 0;
  OptionTable rows_;
};

TEST_F(ConfigFileTest, OptionsOfEveryKindAreSetAndCountAsGiven) {
  const Status applied = Apply(
      "# a run\n"
      "graph: 'a: b'\n"
      "batch_size: 12\n"
      "lr: 1e-3\n"
      "replace: yes\n"
      "fanouts: [15, -1]\n"
      "names:\n  - x:y\n  - z\n"
      "timeout: 2m\n"
      "memory: 2KiB\n");
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(graph_, "a: b");
  EXPECT_EQ(batch_size_, 12);
  EXPECT_EQ(lr_, 0.001);
  EXPECT_TRUE(replace_);
  EXPECT_THAT(fanouts_, ElementsAre(15, -1));
  EXPECT_THAT(names_, ElementsAre("x:y", "z"));
  EXPECT_EQ(timeout_, std::chrono::minutes(2));
  EXPECT_EQ(memory_, 2048);
  EXPECT_TRUE(rows_.given("batch-size") && rows_.given("fanouts"));
}

TEST_F(ConfigFileTest, AListMayBeTextAndAnEmptyFileSaysNothing) {
  ASSERT_TRUE(Apply("fanouts: 3,4\n").ok());
  EXPECT_THAT(fanouts_, ElementsAre(3, 4));
  EXPECT_TRUE(Apply("").ok());
  EXPECT_TRUE(Apply("# nothing\n").ok());
  EXPECT_FALSE(rows_.given("lr"));
}

TEST_F(ConfigFileTest, AWordOfAListMayHaveCommas) {
  ASSERT_TRUE(Apply("names: [a, 'b,c']\n").ok());
  EXPECT_THAT(names_, ElementsAre("a", "b,c"));
  ASSERT_TRUE(Apply("names: '\"b,c\",a'\n").ok());
  EXPECT_THAT(names_, ElementsAre("b,c", "a"));
}

TEST_F(ConfigFileTest, WhatIsWrongIsNamedWithFileAndLine) {
  EXPECT_THAT(Refusal("lr: 1\nbatch-sise: 3\n"),
              AllOf(HasSubstr("run.yaml:2: "), HasSubstr("no option --batch-sise"),
                    HasSubstr("did you mean --batch-size?")));
  EXPECT_THAT(Refusal("lr: 1\n\nbatch-size: many\n"),
              AllOf(HasSubstr("run.yaml:3: "), HasSubstr("--batch-size is 'many', expected")));
  EXPECT_THAT(Refusal("batch-size: 101\n"), HasSubstr("--batch-size is 101, expected 1 to 100"));
  EXPECT_THAT(Refusal("lr: 1\nlr: 2\n"), AllOf(HasSubstr("run.yaml:2: "), HasSubstr("twice")));
  EXPECT_THAT(Refusal("batch-size: 1\nlr: 1\nbatch_size: 2\n"),
              AllOf(HasSubstr("run.yaml:3: "), HasSubstr("twice")));
  EXPECT_THAT(Refusal("lr: [1, 2]\n"), HasSubstr("--lr takes one value, found a list of 2"));
  EXPECT_THAT(Refusal("lr: {a: 1}\n"), HasSubstr("expected a value of --lr, found a map"));
  EXPECT_THAT(Refusal("names: [a, '']\n"), HasSubstr("expected a word"));
  EXPECT_THAT(Refusal("names: [[a]]\n"), HasSubstr("expected a word"));
  EXPECT_THAT(Refusal("fanouts: ['3,4']\n"), HasSubstr("--fanouts has '3,4', expected a whole"));
  EXPECT_THAT(Refusal("graph:\n"), AllOf(HasSubstr("run.yaml:1: "), HasSubstr("--graph is empty")));
  EXPECT_THAT(Refusal("names: []\n"), HasSubstr("--names is empty"));
  EXPECT_THAT(Refusal("- lr\n"), HasSubstr("expected a map from options to values"));
  EXPECT_THAT(Refusal("config: other.yaml\n"), HasSubstr("--config belongs on the command line"));
  EXPECT_THAT(Refusal("lr: 1\nnames: [a\n"), AllOf(HasSubstr("run.yaml:"), HasSubstr("not YAML")));
}

TEST_F(ConfigFileTest, AFileThatIsNotThereIsNamed) {
  const auto file = ConfigFile::Read(folder_.path() / "no.yaml");
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(file.status()), HasSubstr("no.yaml"));
}

TEST_F(ConfigFileTest, OneOptionCanBeLookedUpBeforeThereAreRows) {
  const auto file = ConfigFile::Read(Write("cache_dir: here\nnames: [a]\n"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("cache-dir"), "here");
  EXPECT_EQ(file->Find("names"), std::nullopt) << "no single word";
  EXPECT_EQ(file->Find("lr"), std::nullopt);
  EXPECT_THAT(Message(file->Annotated("names", InvalidArgument("wrong"))),
              AllOf(HasSubstr("run.yaml:2: "), HasSubstr("wrong")));
  EXPECT_EQ(Message(file->Annotated("lr", InvalidArgument("wrong"))), "wrong");
}

TEST_F(ConfigFileTest, WhatAProgramWroteOfItselfIsReadBackAsDefaults) {
  names_ = {"x,z", "\"y"};
  fanouts_ = {9, -1};
  timeout_ = std::chrono::milliseconds(1500);
  memory_ = 3 << 20;
  lr_ = 0.1;
  graph_.clear();
  Json written = rows_.ToJson();
  written["found"] = {{"a", 1}};
  const Json wanted = rows_.ToJson();
  names_.clear();
  fanouts_ = {1};
  timeout_ = {};
  memory_ = 0;
  lr_ = 3;
  auto map = YamlValue::Parse(written.dump(), "log.jsonl");
  ASSERT_TRUE(map.ok()) << map.status();
  const auto file = ConfigFile::Of(*std::move(map));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string_view ignored[] = {"found"};
  const Status applied = file->ApplyWritten(rows_, ignored);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(rows_.ToJson(), wanted);
  EXPECT_FALSE(rows_.given("lr"));
  EXPECT_THAT(Message(file->ApplyWritten(rows_, {})), HasSubstr("no option --found"));
}

}  // namespace
}  // namespace halograph
