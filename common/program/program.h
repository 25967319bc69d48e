// The frame of every program: it reads the command line, sets up the log and signals, runs the
// command, and reports what went wrong.
//
//   int main(int argc, char** argv) {
//     Program program("halograph-server", "Serves partitions of a graph");
//     ServerOptions options;
//     AddServerOptions(program.options(), &options);
//     program.CatchStopSignals();
//     program.Run([&] { return Serve(options, *program.stop_signal()); });
//     return program.Main(argc, argv);
//   }
//
// Every program has --help (-h), --version and --log-level. What is wrong is one line on stderr,
// "PROGRAM: message"; wrong usage ends with the way to --help.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/program/command.h"
#include "common/program/stop_signal.h"

namespace halograph {

enum class ExitCode : int { kDone = 0, kFailed = 1, kWrongUsage = 2 };

class Program {
 public:
  // `name` is the executable's. Adds --log-level.
  Program(std::string name, std::string about, std::string log_level = "info");

  [[nodiscard]] Command& command() { return command_; }
  [[nodiscard]] OptionTable& options() { return command_.options(); }
  // As Command's, of the program itself.
  void Check(std::function<Status()> check) { command_.Check(std::move(check)); }
  void Run(std::function<Status()> action) { command_.Run(std::move(action)); }

  // trace, debug, info, warning, error, off. A check may change it.
  void set_log_level(std::string level) { log_level_ = std::move(level); }
  // What the user can do where memory runs out; the message ends with it.
  void set_out_of_memory_advice(std::string advice) { memory_advice_ = std::move(advice); }
  // SIGINT, SIGTERM and SIGHUP are an event (stop_signal.h) from the start of Main on. Without this
  // they end the process as the system does it.
  void CatchStopSignals() { catch_stop_signals_ = true; }
  // --stop-timeout, of StopSignal::SetTimeout.
  void AddStopTimeout();
  // Not null while a command of a program that catches them runs.
  [[nodiscard]] StopSignal* stop_signal() { return stop_signal_.get(); }

  // The whole program. Never throws; the exit code: 0 done (--help and --version too, which go to
  // stdout), 1 failed, 2 wrong usage. Exceptions that leave the command are failures. Where stdout
  // takes nothing (closed, or its disk full), a command that did its work ends with 0 and a
  // warning, and one that prints its work (Command::PrintsItsWork), as --help and --version do,
  // with 1. Where the reader of stdout went away it is 0: it has what it wanted. From here on a
  // mapped file that is cut short ends the process with 1 (EndOnBusErrors), and SIGPIPE is ignored,
  // also in what this program becomes or starts: a write to a pipe that nobody reads any more
  // fails, and the work goes on. Call it once.
  [[nodiscard]] int Main(int argc, const char* const* argv);

 private:
  [[nodiscard]] Status Start();
  [[nodiscard]] static Status CheckPrinted(bool is_the_work);
  [[nodiscard]] ExitCode Execute(std::span<const char* const> argv);
  [[nodiscard]] ExitCode Fail(ExitCode code, std::string_view message) const;

  Command command_;
  std::string log_level_;
  std::string memory_advice_;
  bool catch_stop_signals_ = false;
  std::chrono::nanoseconds stop_timeout_ = StopSignal::kTimeout;
  std::unique_ptr<StopSignal> stop_signal_;
};

// What a program prints on stdout: Main says where that was lost. With names that others wrote: as
// PrintableLines has it (common/base/printable.h). JSON is made by PrintableJson
// (common/storage/json.h), which leaves nothing to escape here.
void PrintText(std::string_view text);
template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  PrintText(fmt::format(format, std::forward<Args>(args)...));
}

// Lets all that was printed out. The error of this or an earlier write to stdout, if one failed.
[[nodiscard]] Status FlushStdout();

// One line on stderr as every program reports what is wrong: "PROGRAM: message".
void PrintError(std::string_view program, std::string_view message);

}  // namespace halograph
