#include "common/program/program.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/bus_error.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/program/out_of_memory.h"

namespace halograph {
namespace {

// Of the first write to stdout that failed; 0: none did.
std::atomic<int> stdout_error{0};

void NoteWrite(bool written) {
  int none = 0;
  if (!written) stdout_error.compare_exchange_strong(none, errno);
}

// A stream that is closed is one that takes and gives nothing: the next file to be opened would
// have its number, and get what is printed or logged.
void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free is this one.
    [[maybe_unused]] const int opened =
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Whatever leaves the action becomes a status.
Status RunAction(const std::function<Status()>& action, const std::string& memory_advice) {
  try {
    return action();
  } catch (const std::exception& error) {
    return StatusOfException(error, memory_advice);
  } catch (...) {
    return Internal("unexpected error that is no std::exception");
  }
}

}  // namespace

void PrintText(std::string_view text) {
  const std::string printable = PrintableLines(text);
  NoteWrite(std::fwrite(printable.data(), 1, printable.size(), stdout) == printable.size());
}

Status FlushStdout() {
  NoteWrite(std::fflush(stdout) == 0);
  const int error = stdout_error;
  return error == 0 ? OkStatus() : ErrnoStatus(error, "writing", "to stdout");
}

void PrintError(std::string_view program, std::string_view message) {
  const std::string line = fmt::format("{}: {}\n", program, PrintableLines(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Program::Program(std::string name, std::string about, std::string log_level)
    : command_(std::move(name), std::move(about)), log_level_(std::move(log_level)) {
  OptionTable& options = command_.options();
  options.Group(kGeneralGroup);
  options.Add("log-level", &log_level_, "what is logged to stderr")
      .OneOf({"trace", "debug", "info", "warning", "error", "off"})
      .ValueName("LEVEL");
  options.Group("Options");
}

void Program::AddStopTimeout() {
  OptionTable& options = command_.options();
  options.Group(kGeneralGroup);
  options
      .Add("stop-timeout", &stop_timeout_,
           "how long after SIGTERM or Ctrl-C the program ends, finished or not")
      .Range(std::chrono::milliseconds(1), std::chrono::hours(24));
  options.Group("Options");
}

int Program::Main(int argc, const char* const* argv) {
  OpenStandardStreams();
  stdout_error = 0;
  static std::string name;  // the handler's, for as long as the process lives
  name = command_.name();
  EndOnBusErrors(name.c_str());
  std::signal(SIGXFSZ, SIG_IGN);  // a file too large is an error of who writes it, as a full disk
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may go away, and the work go on
  EndOnAbortWithoutMemory(name, memory_advice_);
  ExitCode code = ExitCode::kFailed;
  try {
    code = Execute(std::span(argv, static_cast<size_t>(argc)));
  } catch (const std::exception& error) {
    code = Fail(ExitCode::kFailed, Message(StatusOfException(error, memory_advice_)));
  }
  stop_signal_.reset();
  return static_cast<int>(code);
}

Status Program::Start() {
  HG_RETURN_IF_ERROR(InitLog(command_.name()));
  if (!catch_stop_signals_) return OkStatus();
  HG_ASSIGN_OR_RETURN(stop_signal_, StopSignal::Install());
  return OkStatus();
}

Status Program::CheckPrinted(bool is_the_work) {
  Status printed = FlushStdout();
  if (printed.ok() || (is_the_work && stdout_error != EPIPE)) return printed;
  if (!is_the_work) {
    spdlog::warn("{}: what was printed is lost, and the work is done", Message(printed));
  }
  return OkStatus();
}

ExitCode Program::Execute(std::span<const char* const> argv) {
  if (Status started = Start(); !started.ok()) return Fail(ExitCode::kFailed, Message(started));
  const ReadWords read = ReadCommandLine(command_, argv.empty() ? argv : argv.subspan(1));
  if (!read.status.ok()) {
    const bool ours = absl::IsInternal(read.status);
    return Fail(ours ? ExitCode::kFailed : ExitCode::kWrongUsage,
                fmt::format("{} (see {} --help)", Message(read.status), read.command->FullName()));
  }
  Status status;
  if (read.help) {
    PrintText(read.command->Help());
  } else if (read.version) {
    Print("{} {}\n", command_.name(), BuildVersion());
  } else {
    spdlog::default_logger()->set_level(spdlog::level::from_str(log_level_));
    if (stop_signal_ != nullptr) stop_signal_->SetTimeout(command_.name(), stop_timeout_);
    status = RunAction(read.command->action_, memory_advice_);
  }
  if (status.ok()) {
    status = CheckPrinted(read.help || read.version || read.command->prints_its_work_);
  }
  return status.ok() ? ExitCode::kDone : Fail(ExitCode::kFailed, Message(status));
}

ExitCode Program::Fail(ExitCode code, std::string_view message) const {
  PrintError(command_.name(), message);
  return code;
}

}  // namespace halograph
