#include "tests/integration/server/attackers.h"

#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halograph::server {

Attackers::Attackers(const Attack& attack, int connections, int port) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "attacker";
  const std::string connections_text = std::to_string(connections);
  const std::string port_text = std::to_string(port);
  const pid_t parent = getpid();
  process_ = fork();
  EXPECT_GE(process_, 0);
  if (process_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // also of the program that follows
  if (getppid() == parent) {
    close_range(3, ~0U, 0);  // the server's sockets
    execl(program.c_str(), "attacker", attack.name, connections_text.c_str(), port_text.c_str(),
          nullptr);
  }
  _exit(1);
}

Attackers::~Attackers() {
  if (process_ <= 0) return;
  EXPECT_EQ(kill(process_, SIGKILL), 0);
  int status = 0;
  EXPECT_EQ(waitpid(process_, &status, 0), process_);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the attackers had ended";
}

}  // namespace halograph::server
