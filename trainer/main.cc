// halograph-train: trains, evaluates, predicts.
#include <memory>

#include "common/base/bus_error.h"
#include "common/base/log.h"
#include "common/base/status.h"
#include "trainer/run/command_line.h"
#include "trainer/run/restart.h"
#include "trainer/run/run.h"
#include "trainer/run/stop_signal.h"

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
