#include "tests/integration/trainer/program.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halograph {
namespace {

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Redirect(const std::string& path, int fd) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, fd) < 0) _exit(126);
}

}  // namespace

Trainer::Trainer(const std::string& folder, const std::vector<std::string>& arguments) {
  static std::atomic<int> next = 0;
  const std::string stem = folder + "/process" + std::to_string(next++);
  out_path_ = stem + ".out";
  err_path_ = stem + ".err";
  std::vector<std::string> words = {std::getenv("HALOGRAPH_TRAIN_PROGRAM")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  Redirect(out_path_, STDOUT_FILENO);
  Redirect(err_path_, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

Trainer::~Trainer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Trainer::Signal(int signal) const { kill(pid_, signal); }

Finished Trainer::Wait() {
  int status = 0;
  Finished finished;
  if (waitpid(pid_, &status, 0) == pid_) {
    finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_ = -1;
  finished.out = ReadAll(out_path_);
  finished.err = ReadAll(err_path_);
  return finished;
}

}  // namespace halograph
