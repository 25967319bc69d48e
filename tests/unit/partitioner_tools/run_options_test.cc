// What `run` does with the options of methods, memory and parts.
#include <fstream>

#include "common/storage/json.h"
#include "partitioner/methods/registry/registry.h"
#include "tests/unit/partitioner_tools/program_fixture.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RunOptionsTest : public ProgramFixture {
 protected:
  int Run(std::vector<std::string> more) {
    std::vector<std::string> words = {"run", "--input", Cora(), "--output", Path("g"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }
  Json Options() { return ReadManifest(folder_.path() / "g" / "manifest.json")->at("options"); }
};

TEST_F(RunOptionsTest, MethodIsChosenAndTheChoiceIsKept) {
  ASSERT_EQ(Run({"--parts", "2"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("method metis: METIS fits"));
  EXPECT_THAT(out_, HasSubstr("metis in"));
  EXPECT_EQ(Options().at("method"), "auto");
  EXPECT_EQ(Options().at("report").at("method"), "metis");
}

TEST_F(RunOptionsTest, PartsComeFromTheMemoryOfOnePart) {
  // 2,708 nodes of 1,433 bytes: 3.9 MB, and 10,556 edges.
  ASSERT_EQ(Run({"--parts", "auto", "--memory-per-part", "2MB"}), 0) << error_;
  EXPECT_THAT(error_, AllOf(HasSubstr("--parts auto: 3 partitions"), HasSubstr("2 would need")));
  EXPECT_EQ(Options().at("parts"), 3);
}

TEST_F(RunOptionsTest, PartsOfTooLittleMemoryFail) {
  EXPECT_EQ(Run({"--parts", "auto", "--memory-per-part", "1KiB"}), 1);
  EXPECT_THAT(error_, HasSubstr("--memory-per-part 1.0 KiB"));
}

TEST_F(RunOptionsTest, BudgetOfOneMebibyteIsRefusedWithWhatWouldDo) {
  EXPECT_EQ(Run({"--parts", "2", "--memory", "1MiB", "--method", "metis"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("--memory 1.0 MiB"), HasSubstr("give at least --memory")));
  EXPECT_FALSE(std::filesystem::exists(Path("g")));
}

TEST_F(RunOptionsTest, OwnersTakeThePlaceOfAMethod) {
  std::filesystem::create_directory(Path("owners"));
  std::ofstream file(Path("owners/node.txt"));
  for (int i = 0; i < 2708; ++i) file << i % 3 << '\n';
  file.close();
  ASSERT_EQ(Run({"--owners", Path("owners/node.txt")}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("owners in"));
  EXPECT_EQ(Options().at("parts"), 3);
  EXPECT_EQ(Options().at("method"), "owners");
  ASSERT_EQ(Run({"--owners", Path("owners"), "--parts", "4"}), 0) << error_;
  EXPECT_EQ(Options().at("parts"), 4);
  EXPECT_EQ(Run({"--owners", Path("owners"), "--parts", "2"}), 1);
  EXPECT_EQ(Run({"--owners", Path("nowhere")}), 1);
  EXPECT_THAT(error_, HasSubstr("nowhere"));
}

TEST_F(RunOptionsTest, OptionsThatWouldBeIgnoredAreWrongUsage) {
  for (const char* option : {"--hdrf-lambda", "--volume-factor", "--edge-imbalance", "--clusters",
                             "--refinement-rounds"}) {
    EXPECT_EQ(Run({"--parts", "2", "--method", "random", option, "2"}), 2) << option;
    EXPECT_THAT(error_, AllOf(HasSubstr(option), HasSubstr("method random has no such option")));
    EXPECT_EQ(Run({"--parts", "2", option, "2"}), 2) << option << " with auto";
  }
  EXPECT_EQ(Run({"--parts", "2", "--method", "metis", "--owner", "random"}), 2);
}

TEST_F(RunOptionsTest, WrongWordsAreWrongUsageWithOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--parts", "some"},
      {"--parts", "0"},
      {"--parts", "4097"},
      {"--parts", "2.5"},
      {"--parts", "auto"},
      {"--parts", "2", "--memory-per-part", "1GiB"},
      {"--parts", "auto", "--memory-per-part", "much"},
      {"--parts", "2", "--memory", "lots"},
      {"--parts", "2", "--method", "magic"},
      {"--parts", "2", "--owner", "nobody"},
      {"--parts", "2", "--hdrf-lambda", "0"},
      {"--parts", "2", "--hdrf-lambda", "nan"},
      {"--parts", "2", "--volume-factor", "-1"},
      {"--parts", "2", "--edge-imbalance", "0.9"},
      {"--parts", "2", "--clusters", "-1"},
      {"--parts", "2", "--refinement-rounds", "17"},
      {"--owners", "x", "--method", "metis"},
      {"--owners", "x", "--parts", "auto", "--memory-per-part", "1GiB"},
      {},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Run(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(error_, testing::StartsWith("halograph-partition: "));
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
}

TEST_F(RunOptionsTest, HelpNamesThem) {
  ASSERT_EQ(Call({"run", "--help"}), 0);
  for (const char* word : {"--memory", "--memory-per-part", "--owners", "--owner", "--clusters",
                           "--hdrf-lambda", "auto", "stream-metis"}) {
    EXPECT_THAT(out_, HasSubstr(word));
  }
}

}  // namespace
}  // namespace halograph
