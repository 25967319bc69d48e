#include "common/program/program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/progress.h"
#include "common/base/sanitizers.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ProgramTest : public testing::Test {
 protected:
  int Main(std::vector<const char*> words, std::function<Status()> action = OkStatus) {
    Program program("halograph-test", "Tests.");
    int rows = 1;
    program.options().Add("rows", &rows, "how many").Range(1, 9);
    program.set_out_of_memory_advice("lower --rows");
    program.Check([&] {
      if (rows == 3) program.set_log_level("error");
      return rows == 2 ? OutOfRange("--rows 2 is not for today") : OkStatus();
    });
    program.Run(std::move(action));
    words.insert(words.begin(), "anything");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = program.Main(static_cast<int>(words.size()), words.data());
    out_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string out_, error_;
};

TEST_F(ProgramTest, DoneIsZeroAndSilent) {
  EXPECT_EQ(Main({"--rows", "1"}), 0);
  EXPECT_EQ(out_ + error_, "");
}

TEST_F(ProgramTest, HelpAndVersionGoToStdout) {
  EXPECT_EQ(Main({"--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("Usage: halograph-test [options]"));
  EXPECT_THAT(out_, HasSubstr("--log-level LEVEL"));
  EXPECT_EQ(Main({"--version"}), 0);
  EXPECT_THAT(out_, StartsWith("halograph-test 0."));
  EXPECT_EQ(error_, "");
}

TEST_F(ProgramTest, WrongUsageIsTwoWithOneLineAndTheWayToHelp) {
  EXPECT_EQ(Main({"--row", "1"}), 2);
  EXPECT_EQ(error_,
            "halograph-test: unknown option --row; did you mean --rows? (see halograph-test "
            "--help)\n");
  EXPECT_EQ(Main({"--rows", "2"}), 2);
  EXPECT_EQ(error_, "halograph-test: --rows 2 is not for today (see halograph-test --help)\n");
  EXPECT_EQ(Main({"--log-level", "loud"}), 2);
  EXPECT_EQ(out_, "");
}

TEST_F(ProgramTest, FailureIsOneWithOneLine) {
  EXPECT_EQ(Main({}, [] { return NotFound("no file 'x': give another"); }), 1);
  EXPECT_EQ(error_, "halograph-test: no file 'x': give another\n");
  EXPECT_EQ(Main({"--log-level", "off"}, [] { return DataLoss("cut short"); }), 1);
  EXPECT_EQ(error_, "halograph-test: cut short\n");
}

TEST_F(ProgramTest, ExceptionsAreFailuresAndMemoryHasAName) {
  EXPECT_EQ(Main({}, []() -> Status { throw std::bad_alloc(); }), 1);
  EXPECT_EQ(error_, "halograph-test: out of memory; lower --rows\n");
  EXPECT_EQ(Main({}, []() -> Status { throw std::runtime_error("of a library"); }), 1);
  EXPECT_EQ(error_, "halograph-test: unexpected error: of a library\n");
  EXPECT_EQ(Main({},
                 []() -> Status {
                   throw std::system_error(
                       std::make_error_code(std::errc::resource_unavailable_try_again));
                 }),
            1);
  EXPECT_THAT(
      error_,
      StartsWith("halograph-test: no memory to start a thread, or too many of them: raise "));
  EXPECT_EQ(Main({}, []() -> Status { throw 5; }), 1);
  EXPECT_THAT(error_, StartsWith("halograph-test: unexpected error"));
}

TEST_F(ProgramTest, AWriteThatNobodyReadsEndsNoProgram) {
  const auto main = [] {
    Program program("halograph-test", "Tests.");
    program.Run([] {
      std::array<int, 2> ends{};
      if (pipe(ends.data()) != 0) return Internal("no pipe");
      close(ends[0]);
      dup2(ends[1], STDERR_FILENO);
      spdlog::error("to nobody");
      Progress("to nobody").Done();
      return write(ends[1], "x", 1) == -1 && errno == EPIPE ? OkStatus() : Internal("written");
    });
    const char* words[] = {"anything"};
    return program.Main(1, words);
  };
  EXPECT_EXIT(std::_Exit(main()), testing::ExitedWithCode(0), "");
}

// Exit code of a program whose stdout is `path`, or closed if that is empty; in a process of its
// own.
int MainTo(const char* path, std::vector<const char*> words, bool prints_its_work) {
  Program program("halograph-test", "Tests.");
  program.Run([] {
    const int file = open("/dev/null", O_RDWR);
    if (file <= STDERR_FILENO) return Internal("a file has the number of a stream");
    Print("printed\n");
    return OkStatus();
  });
  if (prints_its_work) program.command().PrintsItsWork();
  close(STDOUT_FILENO);
  if (*path != '\0') static_cast<void>(open(path, O_WRONLY));
  words.insert(words.begin(), "anything");
  return program.Main(static_cast<int>(words.size()), words.data());
}

TEST_F(ProgramTest, WorkThatIsDoneIsDoneWithoutStdoutToo) {
  constexpr char kWarning[] = "warning halograph-test: writing to stdout: .*the work is done";
  for (const char* path : {"", "/dev/full"}) {
    EXPECT_EXIT(std::_Exit(MainTo(path, {}, false)), testing::ExitedWithCode(0), kWarning) << path;
    EXPECT_EXIT(std::_Exit(MainTo(path, {}, true)), testing::ExitedWithCode(1),
                "^halograph-test: writing to stdout: ")
        << path;
  }
}

TEST_F(ProgramTest, HelpThatStdoutDoesNotTakeIsAFailureWithTheCause) {
  for (const char* word : {"--help", "--version"}) {
    EXPECT_EXIT(std::_Exit(MainTo("/dev/full", {word}, false)), testing::ExitedWithCode(1),
                "^halograph-test: writing to stdout: No space left on device\n$")
        << word;
  }
}

// What a library does that gets no memory.
TEST_F(ProgramTest, AnAbortForWantOfMemoryIsAnErrorWithAName) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer itself needs memory when a signal comes";
  const auto main = [](Status (*action)()) {
    Program program("halograph-test", "Tests.");
    program.set_out_of_memory_advice("lower --rows");
    program.Run(action);
    const char* words[] = {"anything"};
    return program.Main(1, words);
  };
  EXPECT_EXIT(main([]() -> Status {
                rlimit limit{};
                getrlimit(RLIMIT_AS, &limit);
                limit.rlim_cur = 1;
                setrlimit(RLIMIT_AS, &limit);
                std::abort();
              }),
              testing::ExitedWithCode(1), "^halograph-test: out of memory; lower --rows\n$");
  EXPECT_EXIT(main([]() -> Status { std::abort(); }), testing::KilledBySignal(SIGABRT), "^$");
}

TEST_F(ProgramTest, LogGoesToStderrFromTheLevelOnThatOptionOrCheckSays) {
  const auto log = [] {
    spdlog::info("for information");
    spdlog::warn("for attention");
    return OkStatus();
  };
  Main({}, log);
  EXPECT_THAT(error_, HasSubstr("info halograph-test: for information"));
  Main({"--log-level", "warning"}, log);
  EXPECT_THAT(error_, HasSubstr("for attention"));
  EXPECT_THAT(error_, testing::Not(HasSubstr("for information")));
  Main({"--rows", "3"}, log);
  EXPECT_EQ(error_, "");
}

}  // namespace
}  // namespace halograph
