
#include <gmock/gmock.h>

#include "tests/unit/partitioner_tools/program_fixture.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using CommandLineTest = ProgramFixture;

TEST_F(CommandLineTest, RunThenInspect) {
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2"}), 0) << error_;
  EXPECT_THAT(
      out_, AllOf(HasSubstr("edge cut"), HasSubstr("edges read 10,556"), HasSubstr("peak memory")));
  ASSERT_EQ(Call({"inspect", "--graph", Path("g"), "--json"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("\"edge_cut\""));
}

TEST_F(CommandLineTest, GeneratedGraphsPartitionAndVerify) {
  const std::vector<std::vector<std::string>> kinds = {
      {"sbm", "--nodes", "500", "--edges", "3000", "--features", "4", "--classes", "3"},
      {"rmat", "--log2-nodes", "9", "--edges", "3000", "--undirected"}};
  for (const auto& kind : kinds) {
    std::vector<std::string> generate = {"generate"};
    generate.insert(generate.end(), kind.begin(), kind.end());
    generate.insert(generate.end(), {"--seed", "1", "--force", "--output", Path("in")});
    ASSERT_EQ(Call(generate), 0) << error_;
    ASSERT_EQ(Call({"run", "--input", Path("in"), "--output", Path("g"), "--parts", "3", "--force",
                    "--duplicates", "drop", "--self-loops", "drop"}),
              0)
        << error_;
    EXPECT_EQ(Call({"verify", "--input", Path("in"), "--graph", Path("g")}), 0) << out_ << error_;
    EXPECT_THAT(out_, HasSubstr("all there"));
  }
}

TEST_F(CommandLineTest, VerifyAgainstAnotherGraphIsOneAndNamesDifferences) {
  ASSERT_EQ(Call({"generate", "rmat", "--log2-nodes", "5", "--output", Path("a")}), 0) << error_;
  ASSERT_EQ(Call({"generate", "rmat", "--log2-nodes", "6", "--output", Path("b")}), 0) << error_;
  ASSERT_EQ(Call({"run", "--input", Path("a"), "--output", Path("g"), "--parts", "2"}), 0)
      << error_;
  EXPECT_EQ(Call({"verify", "--input", Path("b"), "--graph", Path("g")}), 1);
  EXPECT_THAT(out_, HasSubstr("64"));
  EXPECT_THAT(error_,
              AllOf(testing::StartsWith("halograph-partition: "), HasSubstr("differences")));
}

TEST_F(CommandLineTest, QuietRunPrintsNothing) {
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2", "--quiet"}), 0);
  EXPECT_EQ(out_ + error_, "");
}

TEST_F(CommandLineTest, WrongUsageIsTwoWithOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"dance"},
      {"run"},
      {"run", "--input", "x", "--output", "y"},
      {"run", "--input", "x", "--output", "y", "--parts", "0"},
      {"run", "--input", "x", "--output", "y", "--parts", "two"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--method", "magic"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--balance", "halo"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--self-loops", "maybe"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--format", "parquet"},
      {"inspect"},
      {"generate"},
      {"generate", "sbm"},
      {"generate", "rmat", "--output", "x", "--edges", "many"},
      {"verify", "--input", "x"},
      {"inspect", "--graph", "x", "--log-level", "loud"},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Call(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(error_, testing::StartsWith("halograph-partition: "));
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
}

TEST_F(CommandLineTest, FailureIsOneWithOneLine) {
  EXPECT_EQ(Call({"run", "--input", Path("nowhere"), "--output", Path("g"), "--parts", "2"}), 1);
  EXPECT_THAT(error_, AllOf(testing::StartsWith("halograph-partition: "), HasSubstr("nowhere")));
  EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  EXPECT_EQ(Call({"inspect", "--graph", Path("nowhere")}), 1);
  EXPECT_THAT(error_, HasSubstr("nowhere"));
}

TEST_F(CommandLineTest, HelpAndVersionAreDone) {
  for (const char* word : {"--help", "--version"}) {
    EXPECT_EQ(Call({word}), 0);
    EXPECT_THAT(out_, HasSubstr("halograph-partition"));
  }
  EXPECT_EQ(Call({"run", "--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("--balance"));
}

}  // namespace
}  // namespace halograph
