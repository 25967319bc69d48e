// The options of subcommands that try methods on a graph and report: what is read, what methods
// may do, how the report looks. Nothing they write stays.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/storage/file.h"
#include "partitioner/cli/input_options.h"
#include "partitioner/cli/method_flags.h"

namespace halograph {

struct ReportOptions {
  InputOptions input;
  MethodFlags flags;
  std::filesystem::path scratch;  // empty: the system has no folder for temporary files
  bool json = false;

  // A folder in `scratch` for what subcommand `name` writes meanwhile.
  //   FailedPrecondition  no such folder can be made there
  [[nodiscard]] StatusOr<TemporaryFolder> MakeScratch(std::string_view name) const;
};

// Options of methods, --json, --scratch (whose help is `scratch_help`).
void AddReportOptions(CLI::App* command, const std::string& scratch_help, ReportOptions* options);

}  // namespace halograph
