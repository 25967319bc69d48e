#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include <fmt/core.h>

#include "common/base/build_info.h"
#include "common/base/bus_error.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "partitioner/cli/command.h"

namespace halograph {
namespace {

constexpr char kProgram[] = "halograph-partition";
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int Fail(int code, const std::string& message) {
  fmt::print(stderr, "{}: {}\n", kProgram, message);
  return code;
}

int ParseAndRun(int argc, const char* const* argv) {
  CLI::App app("Partitions graphs and looks at partitioned ones.", kProgram);
  bool quiet = false;
  std::string log_level = "info";
  Action action;
  app.add_flag("--quiet", quiet, "No progress lines and no summary");
  const CLI::Option* level =
      app.add_option("--log-level", log_level, "trace, debug, info, warning, error or off")
          ->capture_default_str();
  app.set_version_flag("--version", std::string(kProgram) + " " + BuildVersion());
  app.require_subcommand(1);
  app.fallthrough();  // options of the program may follow the subcommand
  AddRunCommand(&app, &action);
  AddGenerateCommand(&app, &action);
  AddVerifyCommand(&app, &action);
  AddInspectCommand(&app, &action);
  AddCompareCommand(&app, &action);
  AddPlanCommand(&app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help and --version
  } catch (const CLI::ParseError& error) {
    return Fail(kWrongUsage, fmt::format("{} (see --help)", error.what()));
  }
  if (quiet && level->count() == 0) log_level = "warning";
  if (const Status log = InitLog(kProgram, log_level); !log.ok()) {
    return Fail(kWrongUsage, Message(log));
  }
  Progress::Enable(!quiet);
  const Status status = action();
  return status.ok() ? 0 : Fail(kFailed, Message(status));
}

}  // namespace

int PartitionMain(int argc, const char* const* argv) {
  EndOnBusErrors(kProgram);
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail(kFailed,
                "out of memory; give --memory, so that a method that needs more is refused before "
                "it starts");
  } catch (const std::exception& error) {
    return Fail(kFailed, error.what());
  }
}

}  // namespace halograph
