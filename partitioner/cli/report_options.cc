#include "partitioner/cli/report_options.h"

#include <cstdlib>

#include <fmt/format.h>

namespace halograph {

StatusOr<TemporaryFolder> ReportOptions::MakeScratch(std::string_view name) const {
  if (scratch.empty()) {
    const char* variable = std::getenv("TMPDIR");
    return FailedPrecondition(
        "the folder for temporary files, `{}` by TMPDIR, is not there: make it, or give another "
        "with --scratch",
        variable == nullptr ? "" : variable);
  }
  return TemporaryFolder::Create(scratch / fmt::format("halograph-{}", name));
}

void AddReportOptions(CLI::App* command, const std::string& scratch_help, ReportOptions* options) {
  AddMethodFlags(command, &options->flags);
  command->add_flag("--json", options->json, "JSON instead of a table");
  std::error_code missing;  // reported where the folder is needed
  options->scratch = std::filesystem::temp_directory_path(missing);
  command->add_option("--scratch", options->scratch, scratch_help)->capture_default_str();
}

}  // namespace halograph
