#include "client/ctl/doctor_command.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "client/ctl/doctor/checkup.h"
#include "client/ctl/http_get.h"
#include "client/ctl/two_looks.h"
#include "common/base/host_port.h"

namespace halograph::ctl {

struct DoctorOptions : LookOptions {};

namespace {

FoundName FindName(const std::string& text, std::chrono::nanoseconds timeout) {
  FoundName name;
  const StatusOr<HostPort> address = ParseServerAddress(text);
  if (!address.ok()) {
    name.error = Message(address.status());
    return name;
  }
  const StatusOr<std::vector<std::string>> found = ResolveHost(*address);
  if (!found.ok()) {
    name.error = Message(found.status());
    return name;
  }
  name.addresses = *found;
  name.listens = TryToConnect(*address, timeout).ok();
  return name;
}

std::vector<FoundName> FindNames(const std::vector<std::string>& addresses,
                                 std::chrono::nanoseconds timeout) {
  std::vector<FoundName> names;
  names.reserve(addresses.size());
  for (const std::string& address : addresses) names.push_back(FindName(address, timeout));
  return names;
}

StatusOr<Checkup> LookAt(const DoctorOptions& options) {
  Checkup checkup;
  checkup.servers.resize(options.remote.servers.size());
  checkup.trainers.resize(options.trainers.addresses.size());
  auto of_trainers = std::async(std::launch::async, [&] {
    return FindNames(options.trainers.addresses, options.remote.timeout);
  });
  std::vector<FoundName> names = FindNames(options.remote.servers, options.remote.timeout);
  for (size_t i = 0; i < names.size(); ++i) checkup.servers[i].name = std::move(names[i]);
  names = of_trainers.get();
  for (size_t i = 0; i < names.size(); ++i) checkup.trainers[i].name = std::move(names[i]);
  HG_ASSIGN_OR_RETURN(auto looks, LookTwice(options));
  auto& [first, second] = looks;
  for (size_t i = 0; i < checkup.servers.size(); ++i) {
    checkup.servers[i].first = std::move(first.servers[i]);
    checkup.servers[i].second = std::move(second.servers[i]);
  }
  for (size_t i = 0; i < checkup.trainers.size(); ++i) {
    checkup.trainers[i].first = std::move(first.trainers[i]);
    checkup.trainers[i].second = std::move(second.trainers[i]);
  }
  return checkup;
}

Status Doctor(const DoctorOptions& options) {
  HG_RETURN_IF_ERROR(options.remote.Validate());
  HG_ASSIGN_OR_RETURN(const Checkup checkup, LookAt(options));
  const std::vector<Diagnosis> lines = Examine(checkup);
  PrintText(options.json ? PrintableJson(ToJson(lines)) : FormatDiagnoses(lines));
  const auto faults = std::count_if(lines.begin(), lines.end(), [](const Diagnosis& line) {
    return line.severity == Severity::kFault;
  });
  if (faults == 0) return OkStatus();
  return FailedPrecondition("{} fault{}: {} above", faults, faults == 1 ? "" : "s",
                            faults == 1 ? "it stands" : "they stand");
}

}  // namespace

std::shared_ptr<DoctorOptions> AddDoctorCommand(Program& program) {
  auto options = std::make_shared<DoctorOptions>();
  Command& command = program.command().Add(
      "doctor",
      "Looks at servers and trainers before a job, or in a hang: addresses, who answers, versions, "
      "graphs, parts, clocks, descriptors, memory, disks, and who waits for whom. Each line is ok, "
      "look or fault, with what to do. Exits with 1 if there is a fault.");
  options->seconds = std::chrono::seconds(1);
  AddLookRows(command,
              {.servers = "addresses of the servers",
               .seconds = "time between two looks, to see what moves",
               .least = std::chrono::milliseconds(10)},
              options.get());
  command.Run([options = options.get()] { return Doctor(*options); });
  command.PrintsItsWork();
  return options;
}

}  // namespace halograph::ctl
