#include "tests/bench/pull/child_process.h"

#include <csignal>
#include <ctime>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halograph {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe(ends) != 0) return;
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
  std::string line;
  for (char c = 0; read(output_, &c, 1) == 1 && c != '\n';) line.push_back(c);
  const std::string prefix = "listening on ";
  if (line.rfind(prefix, 0) == 0) address_ = line.substr(prefix.size());
}

ChildProcess::~ChildProcess() {
  if (output_ >= 0) close(output_);
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

double ChildProcess::CpuSeconds() const {
  clockid_t clock = 0;
  timespec now{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace halograph
