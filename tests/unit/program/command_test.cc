#include "common/program/command.h"

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A program with the commands run and make, of which make has tree and ring.
class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    program_.options().Add("quiet", &quiet_, "no progress");
    Command& run = program_.Add("run", "Runs it");
    run.options().Group("Input");
    run.options().Add("input", &input_, "what is read").ValueName("PATH").Required();
    run.options().Add("fanouts", &fanouts_, "one a layer").Range(-1, 100);
    run.options().Add("threads", &threads_, "threads for computation").Range(0, 8);
    run.Check([this] {
      return threads_ == 7 ? FailedPrecondition("--threads 7 and this do not go together")
                           : OkStatus();
    });
    Command& make = program_.Add("make", "Makes a graph");
    make.Add("tree", "A tree").options().Add("a", &a_, "the first share").AtMost(1);
    make.Add("ring", "A ring");
  }

  ReadWords Read(std::vector<const char*> words) { return ReadCommandLine(program_, words); }
  std::string Refusal(const std::vector<const char*>& words) {
    const ReadWords read = Read(words);
    EXPECT_FALSE(read.status.ok());
    EXPECT_FALSE(read.help || read.version);
    EXPECT_THAT(Message(read.status), Not(HasSubstr("\n")));
    return Message(read.status);
  }
  std::string Given(const std::vector<const char*>& words) {
    const ReadWords read = Read(words);
    EXPECT_TRUE(read.status.ok()) << Message(read.status);
    return read.command->FullName();
  }

  bool quiet_ = false;
  std::string input_;
  std::vector<int> fanouts_ = {15};
  int threads_ = 0;
  double a_ = 0.5;
  Command program_{"prog", "Does things."};
};

TEST_F(CommandTest, ValuesFollowOrStandAfterAnEqualsSign) {
  EXPECT_EQ(Given({"run", "--input", "x", "--threads=3"}), "prog run");
  EXPECT_EQ(input_, "x");
  EXPECT_EQ(threads_, 3);
  EXPECT_EQ(Given({"run", "--input=--odd=name"}), "prog run");
  EXPECT_EQ(input_, "--odd=name");
  EXPECT_EQ(Given({"run", "--input", "-"}), "prog run");
  EXPECT_EQ(input_, "-");
}

TEST_F(CommandTest, OptionsOfTheProgramStandBeforeOrAfterTheCommand) {
  Given({"--quiet", "run", "--input", "x"});
  EXPECT_TRUE(quiet_);
  Given({"run", "--input", "x", "--quiet=false"});
  EXPECT_FALSE(quiet_);
}

TEST_F(CommandTest, ListsTakeCommasAndFurtherWords) {
  Given({"run", "--fanouts", "5,-1,2", "--input", "x"});
  EXPECT_THAT(fanouts_, ElementsAre(5, -1, 2));
  Given({"run", "--fanouts", "5", "-1", "--input", "x"});
  EXPECT_THAT(fanouts_, ElementsAre(5, -1));
}

TEST_F(CommandTest, OfAnOptionGivenTwiceTheLastCounts) {
  Given({"run", "--input", "x", "--input", "y", "--fanouts", "5,4", "--fanouts", "3"});
  EXPECT_EQ(input_, "y");
  EXPECT_THAT(fanouts_, ElementsAre(3));
}

TEST_F(CommandTest, LettersTakeTheirValueInTheWordOrAfterIt) {
  EXPECT_EQ(Given({"make", "tree", "-a", "0.25"}), "prog make tree");
  EXPECT_EQ(a_, 0.25);
  Given({"make", "tree", "-a.75"});
  EXPECT_EQ(a_, 0.75);
  Given({"make", "tree", "-a", "-1"});
  EXPECT_EQ(a_, -1);
}

TEST_F(CommandTest, UnknownOptionsSuggestTheNearestOfThisCommandAndTheProgram) {
  EXPECT_EQ(Refusal({"run", "--thread", "3"}), "unknown option --thread; did you mean --threads?");
  EXPECT_EQ(Refusal({"run", "--inptu=3"}), "unknown option --inptu; did you mean --input?");
  EXPECT_EQ(Refusal({"run", "--no-such"}), "unknown option --no-such");
  EXPECT_EQ(Refusal({"make", "tree", "--threads", "3"}), "unknown option --threads");
  EXPECT_EQ(Refusal({"run", "-x"}), "unknown option -x");
  EXPECT_EQ(Refusal({"run", "--versoin"}), "unknown option --versoin; did you mean --version?");
}

TEST_F(CommandTest, CommandsMustBeKnownAndGiven) {
  EXPECT_EQ(Refusal({}), "no command is given, expected run or make");
  EXPECT_EQ(Refusal({"make"}), "no command is given, expected tree or ring");
  EXPECT_EQ(Refusal({"dance"}), "unknown command 'dance', expected run or make");
  EXPECT_EQ(Refusal({"mkae"}), "unknown command 'mkae', expected run or make; did you mean make?");
  EXPECT_EQ(Refusal({"run", "--threads", "2", "more"}),
            "unexpected word 'more': options start with --");
}

TEST_F(CommandTest, MissingValuesAndOptionsAreNamed) {
  EXPECT_EQ(Refusal({"run", "--input"}), "--input has no value: give --input PATH");
  EXPECT_EQ(Refusal({"run", "--input", "--threads", "2"}),
            "--input has no value: give --input PATH");
  EXPECT_EQ(Refusal({"run", "--threads", "2"}), "--input is missing: give --input PATH");
  EXPECT_EQ(Refusal({"run", "--input", ""}),
            "--input is empty: give a value, or leave the option out");
  EXPECT_EQ(Refusal({"run", "--input="}),
            "--input is empty: give a value, or leave the option out");
}

TEST_F(CommandTest, BadValuesAreTheRowsErrors) {
  EXPECT_EQ(Refusal({"run", "--threads", "9"}), "--threads is 9, expected 0 to 8");
  EXPECT_EQ(Refusal({"run", "--threads", "-9"}), "--threads is -9, expected 0 to 8");
  EXPECT_EQ(Refusal({"run", "--quiet=perhaps"}), "--quiet is 'perhaps', expected true or false");
}

TEST_F(CommandTest, ChecksRunAfterAllWordsOfTheirCommandOnly) {
  EXPECT_THAT(Refusal({"run", "--threads", "7", "--input", "x"}), HasSubstr("do not go together"));
  EXPECT_EQ(Given({"make", "ring"}), "prog make ring");
}

TEST_F(CommandTest, RowsCanDependOnOtherOptions) {
  std::string model = "small";
  int heads = 1;
  program_.options().Add("model", &model, "which");
  program_.BeforeReading([&](std::span<const char* const> words) -> Status {
    const std::string named = ValueAmong(words, "model").value_or(model);
    if (named == "none") return InvalidArgument("--model is 'none', expected small or large");
    OptionTable& options = program_.options();
    if (named == "large" && options.Find("heads") == nullptr) {
      options.Add("heads", &heads, "attention heads");
    }
    return OkStatus();
  });
  EXPECT_EQ(Refusal({"run", "--input", "x", "--heads", "4"}), "unknown option --heads");
  EXPECT_EQ(Refusal({"run", "--heads", "4", "--model", "none"}),
            "--model is 'none', expected small or large");
  EXPECT_TRUE(Read({"--model=none", "--help"}).help);
  Given({"run", "--heads", "4", "--input", "x", "--model", "large"});
  EXPECT_EQ(heads, 4);
}

TEST(ValueAmongTest, TheLastOneCounts) {
  const auto value = [](std::vector<const char*> words) { return ValueAmong(words, "model"); };
  EXPECT_EQ(value({"run", "--model", "a", "--model=b", "x"}), "b");
  EXPECT_EQ(value({"--model=a", "--model", "--b"}), "--b");
  EXPECT_EQ(value({"--models", "a", "model", "b", "--model"}), std::nullopt);
}

TEST_F(CommandTest, HelpAndVersionNeedNothingElse) {
  ReadWords read = Read({"run", "--threads", "2", "--help", "--no-such"});
  EXPECT_TRUE(read.help && read.status.ok());
  EXPECT_EQ(read.command->FullName(), "prog run");
  EXPECT_TRUE(Read({"-h"}).help);
  read = Read({"make", "--version"});
  EXPECT_TRUE(read.version && read.status.ok());
}

TEST_F(CommandTest, HelpShowsWhatRowsAllowAndTheirDefaults) {
  const std::string help = Read({"run", "--help"}).command->Help();
  EXPECT_THAT(help, HasSubstr("Usage: prog run [options]\nRuns it\n"));
  EXPECT_THAT(help, HasSubstr("\nInput:\n  --input PATH                what is read (required)\n"));
  EXPECT_THAT(help, HasSubstr("--fanouts N,...             one a layer (-1 to 100; default: 15)"));
  EXPECT_THAT(help, HasSubstr("--threads N                 threads for computation (0 to 8; "
                              "default: 0)"));
  EXPECT_THAT(Read({"make", "--help"}).command->Help(),
              HasSubstr("Usage: prog make COMMAND [options]"));
}

TEST_F(CommandTest, LongHelpIsBrokenIntoLines) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word" + std::to_string(i) + " ";
  bool flag = false;
  program_.options().Add("a-name-that-takes-the-whole-column", &flag, text);
  const std::string help = program_.Help();
  size_t begin = 0;
  for (size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
  for (int i = 0; i < 60; ++i) EXPECT_THAT(help, HasSubstr(" word" + std::to_string(i)));
}

TEST_F(CommandTest, AProgramThatRunsByItselfTakesACommandAsItsFirstWordOnly) {
  program_.Run([] { return OkStatus(); });
  EXPECT_EQ(Given({}), "prog");
  EXPECT_EQ(Given({"--quiet"}), "prog");
  EXPECT_EQ(Given({"run", "--input", "x", "--quiet"}), "prog run");
  EXPECT_THAT(Refusal({"--quiet", "run", "--input", "x"}),
              HasSubstr("unexpected word 'run': options start with --, and run or make may come"));
  EXPECT_THAT(Refusal({"ruin"}), HasSubstr("unexpected word 'ruin'"));
  EXPECT_THAT(program_.Help(), HasSubstr("Usage: prog [options]\nDoes things.\n\nCommands"));
}

TEST_F(CommandTest, ARowThatIsAddedTwiceIsOurError) {
  program_.options().Add("quiet", &quiet_, "again");
  EXPECT_TRUE(absl::IsInternal(Read({"run", "--input", "x"}).status));
}

}  // namespace
}  // namespace halograph
