#include <csignal>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "partitioner/methods/metis/metis_method.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

// Whether the process has a handler for the signal, as the system tells.
bool Catches(pid_t process, int signal) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigCgt:")) {
      return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
    }
  }
  return false;
}

// METIS takes SIGTERM for an error of its own: a run that is to end must end, and not be told to
// use another method. In a child, since signals are a process's.
TEST(MetisSignalTest, TerminationWhileMetisRunsEndsTheProcess) {
  DatasetBuilder builder;
  builder.Nodes("node", 50'000)
      .Edges("node", "edge", "node", RandomEdges(50'000, 50'000, 400'000, 1));
  const Dataset dataset = builder.dataset();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(MetisMethod().Assign(dataset, {.parts = 8}).ok() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!Catches(child, SIGTERM)) continue;  // METIS does while it runs
    ::kill(child, SIGTERM);
    ::waitpid(child, &status, 0);
    break;
  }
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(MetisSignalTest, SignalsAreAsBeforeAfterwards) {
  DatasetBuilder builder;
  builder.Nodes("node", 200).Edges("node", "edge", "node", RandomEdges(200, 200, 2000, 1));
  ASSERT_TRUE(MetisMethod().Assign(builder.dataset(), {.parts = 2}).ok());
  sigset_t mask{};
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
  EXPECT_EQ(::sigismember(&mask, SIGTERM), 0);
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace halograph
