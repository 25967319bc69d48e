// Runs of halograph-train over a small written graph, and what they leave behind.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/storage/json.h"
#include "tests/integration/trainer/program.h"
#include "tests/support/graph_fixture.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {

inline constexpr int64_t kNodes = 240;

class TrainProgramTest : public testing::Test {
 protected:
  void SetUp() override { graph_ = Write(LearnableGraph(kNodes, 2), "graph"); }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string Write(const TestGraphSpec& spec, const std::string& name) {
    auto graph = WriteTestGraph(spec, folder_.path() / name);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return Path(name);
  }

  // Options for a run of seconds, embedded; `more` may repeat none of them.
  std::vector<std::string> Options(const std::vector<std::string>& more, int epochs = 3,
                                   const std::string& fanouts = "4,3") const {
    std::vector<std::string> options = {"--graph", graph_, "--fanouts", fanouts};
    for (const std::string& option : OptionsOfAnyMode(epochs)) options.push_back(option);
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  static std::vector<std::string> OptionsOfAnyMode(int epochs) {
    return {"--hidden", "16",       "--batch-size",         "25",     "--lr", "0.02", "--threads",
            "1",        "--epochs", std::to_string(epochs), "--seed", "5"};
  }
  Finished Run(const std::vector<std::string>& options) {
    return Trainer(folder_.path().string(), options).Wait();
  }
  // Every line of a log, each of which must be an object.
  static std::vector<Json> ReadLog(const std::string& path) {
    std::vector<Json> lines;
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);) {
      auto line = ParseJson(text, path);
      EXPECT_TRUE(line.ok() && line->is_object()) << text;
      if (line.ok()) lines.push_back(*line);
    }
    return lines;
  }
  std::vector<double> Losses(const std::vector<std::string>& more,
                             const std::string& fanouts = "4,3") {
    const std::string log = Path("losses.jsonl");
    std::vector<std::string> options = {"--log", log};
    options.insert(options.end(), more.begin(), more.end());
    const Finished finished = Run(Options(options, 3, fanouts));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::vector<double> losses;
    for (const Json& line : ReadLog(log)) {
      if (line.contains("epoch")) losses.push_back(line["loss"]);
    }
    return losses;
  }
  // original id -> prediction
  std::map<int64_t, int64_t> ReadCsv(const std::string& path) {
    std::map<int64_t, int64_t> rows;
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "original_id,prediction");
    while (std::getline(file, line))
      rows[std::stoll(line)] = std::stoll(line.substr(line.find(',') + 1));
    return rows;
  }

  TestFolder folder_;
  std::string graph_;
};

// A log in a FIFO: what the run wrote is read as it comes, so that the test knows where it is.
class RunningTrainer {
 public:
  RunningTrainer(const std::string& folder, const std::string& log,
                 const std::vector<std::string>& options)
      : trainer(folder, options), log_(log) {}
  // Returns once so many lines were written.
  void AwaitLines(int count) {
    for (std::string line; count > 0 && std::getline(log_, line); --count) {
    }
    EXPECT_EQ(count, 0);
  }
  // What is written until the end.
  std::vector<std::string> Rest() {
    std::vector<std::string> lines;
    for (std::string line; std::getline(log_, line);) lines.push_back(line);
    return lines;
  }
  Trainer trainer;

 private:
  std::ifstream log_;
};

}  // namespace halograph
