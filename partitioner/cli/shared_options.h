// What several commands have in common: the options that say what graph is read and how, those of
// partition methods and of the memory that a run may hold, and those of reports.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/halo.h"
#include "common/program/options.h"
#include "common/storage/file.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/reader.h"
#include "partitioner/write/feature_dtype.h"

namespace halograph {

struct InputOptions {
  std::filesystem::path input;
  ReadOptions read;
};

// Returns --input, which the caller may require.
OptionRow& AddInputOptions(OptionTable& rows, InputOptions* options);

// Of every command that runs methods or plans to.
struct MethodFlags {
  MethodOptions options;                     // without parts and memory
  int64_t memory = -1;                       // of --memory; below 0: not given
  std::vector<const OptionRow*> of_methods;  // those that only some methods take

  // With the memory: AvailableMemory() where it is not given.
  [[nodiscard]] MethodOptions Options() const;
  // InvalidArgument naming an option that was given and that none of `methods` takes.
  [[nodiscard]] Status CheckTaken(const std::vector<std::string>& methods) const;
};

void AddMethodFlags(OptionTable& rows, MethodFlags* flags);
// --order, for commands whose result depends on it.
void AddOrderRow(OptionTable& rows, MethodFlags* flags);

// --feature-dtype, for commands that count the bytes of features.
void AddFeatureDTypeRow(OptionTable& rows, FeatureDType* dtype);

// --halo-features, unless `wanted` is null, and --hops.
void AddHaloRows(OptionTable& rows, bool* wanted, int* hops);
// What was made, a line.
[[nodiscard]] std::string HalosText(const std::vector<HaloManifest>& halos);

// A folder in `parent` for what command `name` writes meanwhile; removed with the object and when a
// signal ends the process.
//   FailedPrecondition  no such folder can be made there, or `parent` is empty: the system has no
//                       folder for temporary files
[[nodiscard]] StatusOr<TemporaryFolder> MakeScratch(const std::filesystem::path& parent,
                                                    std::string_view name);
// The system's folder for temporary files; empty if there is none.
[[nodiscard]] std::filesystem::path SystemScratch();

// Of commands that try methods on a graph and report: what is read, what methods may do, how the
// report looks. Nothing they write stays.
struct ReportOptions {
  InputOptions input;
  MethodFlags flags;
  std::filesystem::path scratch;  // as MakeScratch takes it
  bool json = false;
};

// Options of methods, --json, --scratch (whose help is `scratch_help`).
void AddReportOptions(OptionTable& rows, std::string scratch_help, ReportOptions* options);

}  // namespace halograph
