// Options that several subcommands share: what graph is read and how, which method runs with
// what options and memory, and how a report looks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/storage/file.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/reader.h"

namespace halograph {

// What graph is read and how.
struct InputOptions {
  std::filesystem::path input;
  ReadOptions read;
  std::string self_loops = "keep";
  std::string duplicates = "keep";

  // `read` with the words above in it.
  [[nodiscard]] ReadOptions Read() const;
};

// Returns --input, which the caller may require.
CLI::Option* AddInputOptions(CLI::App* command, InputOptions* options);

// The options of partition methods, and the memory limit of a run.
struct MethodFlags {
  MethodOptions options;  // without parts, and without what the words below say
  std::string balance;
  std::string memory;
  std::string owner = "majority";
  std::string order = "input";
  std::vector<const CLI::Option*> of_methods;  // those that only some methods take

  // All words put into the options; `memory` is AvailableMemory() where it is not given.
  [[nodiscard]] MethodOptions Options() const;
};

void AddMethodFlags(CLI::App* command, MethodFlags* flags);
// --order, for commands whose result depends on it.
void AddOrderFlag(CLI::App* command, MethodFlags* flags);

// CLI::ValidationError if an option was given that none of `methods` has. For callbacks of
// commands: it is wrong usage.
void RequireOptionsTaken(const MethodFlags& flags, const std::vector<std::string>& methods);

// Checks of one word, for CLI::Option::check: empty if the word is valid, else what is wrong.
[[nodiscard]] std::string CheckBytes(const std::string& text);
[[nodiscard]] std::string CheckMethodName(const std::string& name);

// The options of subcommands that try methods on a graph and report. They remove all that they
// write.
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
