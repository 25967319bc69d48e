#include "client/ctl/doctor_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/ctl/doctor/checkup.h"
#include "client/ctl/http_get.h"
#include "client/ctl/two_looks.h"
#include "client/name_lookup.h"
#include "common/base/host_port.h"

namespace halograph::ctl {

struct DoctorOptions : LookOptions {};

namespace {

// Asked at a time whether something listens there.
constexpr size_t kTriedAtOnce = 64;

void TryAll(const std::vector<StatusOr<HostAddresses>>& found, std::chrono::nanoseconds timeout,
            std::vector<FoundName>* names) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < found.size(); i = next.fetch_add(1)) {
      if (found[i].ok()) (*names)[i].listens = TryToConnect(*found[i], timeout).ok();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(kTriedAtOnce, found.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

// In their order. Addresses were checked where they were read.
StatusOr<std::vector<FoundName>> FindNames(const std::vector<std::string>& addresses,
                                           std::chrono::nanoseconds timeout) {
  std::vector<HostPort> hosts;
  for (const std::string& text : addresses) {
    HG_ASSIGN_OR_RETURN(hosts.emplace_back(), ParseServerAddress(text));
  }
  const auto found = LookUpAll(hosts, std::chrono::steady_clock::now() + timeout);
  std::vector<FoundName> names(addresses.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!found[i].ok()) {
      names[i].error = Message(found[i].status());
      continue;
    }
    for (const SocketAddress& address : *found[i]) {
      std::vector<std::string>& numbers = names[i].addresses;
      if (std::find(numbers.begin(), numbers.end(), address.number) == numbers.end()) {
        numbers.push_back(address.number);
      }
    }
  }
  TryAll(found, timeout, &names);
  return names;
}

StatusOr<Checkup> LookAt(const DoctorOptions& options) {
  Checkup checkup;
  checkup.servers.resize(options.remote.servers.size());
  checkup.trainers.resize(options.trainers.addresses.size());
  std::vector<std::string> addresses = options.remote.servers;
  addresses.insert(addresses.end(), options.trainers.addresses.begin(),
                   options.trainers.addresses.end());
  HG_ASSIGN_OR_RETURN(auto names, FindNames(addresses, options.remote.timeout));
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t servers = checkup.servers.size();
    (i < servers ? checkup.servers[i].name : checkup.trainers[i - servers].name) =
        std::move(names[i]);
  }
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

Status Doctor(const DoctorOptions& told) {
  HG_RETURN_IF_ERROR(told.remote.Validate());
  DoctorOptions options = told;
  const Status found =
      options.remote.FindServers(std::chrono::steady_clock::now() + options.remote.timeout);
  // A name without an address is a finding, below.
  const bool has_files = std::any_of(told.remote.servers.begin(), told.remote.servers.end(),
                                     [](const auto& word) { return word.starts_with('@'); });
  if (has_files) HG_RETURN_IF_ERROR(found);
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
