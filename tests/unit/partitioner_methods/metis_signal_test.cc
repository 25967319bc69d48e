#include <csignal>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "partitioner/methods/metis_method.h"
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

// METIS takes SIGTERM for an error of its own: a run that is to end must not be told to use another
// method. A child, since signals are a process's; it takes no notice of them but in METIS.
TEST(MetisSignalTest, TerminationWhileMetisRunsIsCancelled) {
  DatasetBuilder builder;
  builder.Nodes("node", 50'000)
      .Edges("node", "edge", "node", RandomEdges(50'000, 50'000, 400'000, 1));
  const Dataset dataset = builder.dataset();
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_IGN);
    const auto assignment = MetisMethod().Assign(dataset, {.parts = 8});
    ::_exit(absl::IsCancelled(assignment.status()) ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!Catches(child, SIGTERM)) continue;
    ::kill(child, SIGTERM);
    ::waitpid(child, &status, 0);
    break;
  }
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace halograph
