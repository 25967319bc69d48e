// halograph-train: trains, evaluates, predicts.
#include <memory>

#include "common/base/bus_error.h"
#include "common/base/log.h"
#include "common/base/status.h"
#include "trainer/launch/command_line.h"
#include "trainer/launch/restart.h"
#include "trainer/launch/stop_signal.h"
#include "trainer/run/run.h"

int main(int argc, char** argv) {
  using namespace halograph;
  RestartWithBetterEnvironment(argv);
  EndOnBusErrors("halograph-train");
  const ParsedCommandLine parsed = ParseCommandLine(argc, argv, ProcessEnvironment());
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  if (const Status status = InitLog("halograph-train", parsed.log_level); !status.ok()) {
    fmt::print(stderr, "halograph-train: {}\n", Message(status));
    return 2;
  }
  auto stop = StopSignal::Install();
  if (!stop.ok()) {
    spdlog::error("{}", ToString(stop.status()));
    return 1;
  }
  const Status status = RunTraining(parsed.options, **stop);
  if (status.ok()) return 0;
  spdlog::error("{}", ToString(status));
  return 1;
}
