#include "partitioner/compare/method_run.h"

#include <cerrno>
#include <csignal>
#include <exception>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/base/stopwatch.h"
#include "common/storage/json.h"
#include "common/storage/npy.h"
#include "partitioner/compare/anonymous_peak.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kResult[] = "result.json";

fs::path OwnersPath(const fs::path& folder, size_t type) {
  return folder / ("owners-" + std::to_string(type) + ".npy");
}

// ---- in the child ----------------------------------------------------------------------------

Status AssignAndWrite(const Dataset& dataset, const PartitionMethod& method,
                      const MethodOptions& options, const fs::path& folder) {
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(const Assignment assignment, method.Assign(dataset, options));
  const double seconds = watch.Seconds();
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    HG_RETURN_IF_ERROR(
        WriteNpy<uint16_t>(OwnersPath(folder, type), std::span(assignment.owners[type])));
  }
  return WriteManifest(folder / kResult, {{"seconds", seconds}, {"report", assignment.report}});
}

Status AssignWithoutThrowing(const Dataset& dataset, const PartitionMethod& method,
                             const MethodOptions& options, const fs::path& folder) {
  try {
    return AssignAndWrite(dataset, method, options, folder);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: out of memory", method.name());
  } catch (const std::exception& error) {
    return Internal("{}: {}", method.name(), error.what());
  }
}

[[noreturn]] void BeChild(pid_t parent, const Dataset& dataset, const PartitionMethod& method,
                          const MethodOptions& options, const fs::path& folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  Status status = AssignWithoutThrowing(dataset, method, options, folder);
  if (!status.ok()) {
    status = WriteManifest(folder / kResult, {{"code", static_cast<int>(status.code())},
                                              {"message", Message(status)}});
  }
  ::_exit(status.ok() ? 0 : 1);  // no destructor: files of the data set are the parent's
}

// ---- in the parent ---------------------------------------------------------------------------

StatusOr<MethodRun> ReadResult(const Dataset& dataset, const fs::path& folder) {
  const std::string where = (folder / kResult).string();
  HG_ASSIGN_OR_RETURN(const Json result, ReadManifest(folder / kResult));
  if (result.contains("code")) {
    HG_ASSIGN_OR_RETURN(const int64_t code, GetInt(result, "code", where));
    HG_ASSIGN_OR_RETURN(const std::string message, GetString(result, "message", where));
    return MakeStatus(static_cast<absl::StatusCode>(code), message);
  }
  MethodRun run;
  run.seconds = result.at("seconds").get<double>();
  run.assignment.report = result.at("report");
  for (size_t type = 0; type < dataset.node_types.size(); ++type) {
    HG_ASSIGN_OR_RETURN(const NpyArray owners, NpyArray::Open(OwnersPath(folder, type)));
    HG_ASSIGN_OR_RETURN(const auto values, owners.As<uint16_t>());
    run.assignment.owners.emplace_back(values.begin(), values.end());
  }
  return run;
}

double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct ChildCost {
  double cpu_seconds = 0;
  int64_t peak_bytes = 0;
};

StatusOr<ChildCost> WaitFor(pid_t child, std::string_view method) {
  AnonymousPeak peak(child);
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  do {
    ended = ::wait4(child, &status, 0, &usage);
  } while (ended < 0 && errno == EINTR);
  const ChildCost cost{CpuSeconds(usage), peak.Stop()};
  if (ended != child) return ErrnoStatus(errno, "cannot wait for", method);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return ResourceExhausted("{}: its process was killed, probably because memory ran out", method);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Internal("{}: its process ended with wait status {}", method, status);
  }
  return cost;
}

StatusOr<MethodRun> RunIn(const Dataset& dataset, const PartitionMethod& method,
                          MethodOptions options, const fs::path& folder,
                          const std::function<pid_t()>& fork) {
  options.scratch = folder / "scratch";
  HG_RETURN_IF_ERROR(MakeFolder(options.scratch));
  malloc_trim(0);  // what is free here would count there
  const pid_t parent = ::getpid();
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "cannot start a process for", method.name());
  if (child == 0) BeChild(parent, dataset, method, options, folder);
  HG_ASSIGN_OR_RETURN(const ChildCost cost, WaitFor(child, method.name()));
  HG_ASSIGN_OR_RETURN(MethodRun run, ReadResult(dataset, folder));
  run.cpu_seconds = cost.cpu_seconds;
  run.peak_anonymous_bytes = cost.peak_bytes;
  return run;
}

}  // namespace

StatusOr<MethodRun> RunMethodInChild(const Dataset& dataset, const std::string& name,
                                     const MethodOptions& options, const fs::path& scratch,
                                     const std::function<pid_t()>& fork) {
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(name));
  HG_RETURN_IF_ERROR(
      CheckMemory(method->PlanMemory(GraphCounts::Of(dataset), options), options.memory));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder,
                      TemporaryFolder::Create(scratch / ("run-" + name)));
  return RunIn(dataset, *method, options, folder.path(), fork);
}

}  // namespace halograph
