#include "trainer/distributed/rendezvous.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "common/base/host_name.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "trainer/distributed/device_address.h"
#include "trainer/torch/torch_log.h"

namespace halograph {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{20};
constexpr milliseconds kConnectAttempt{1000};
constexpr milliseconds kShortestConnect{5000};
constexpr milliseconds kSayWhomAfter{5000};
constexpr milliseconds kBlameGrace{2000};
constexpr milliseconds kPresenceAnswer{3000};
constexpr size_t kMaxReasonBytes = 4096;
constexpr size_t kJobShown = 100;

milliseconds Milliseconds(std::chrono::nanoseconds duration) {
  return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(duration));
}

std::string Key(std::string_view kind, int process) {
  return fmt::format("halograph/{}/{}", kind, process);
}

std::string HostAndPid() {
  const std::string host = HostName();
  return fmt::format("host {}, pid {}", host.empty() ? "?" : host, getpid());
}

// c10d's store binds its port to no single address. Whoever names loopback takes it for closed.
void SayWhereItListens(const GroupOptions& options) {
  spdlog::log(
      IsLoopback(options.master_addr) ? spdlog::level::warn : spdlog::level::info,
      "the ranks meet at port {} of all network interfaces of this machine, whatever "
      "--master-addr says, without encryption or authentication: let only a trusted network "
      "reach it",
      options.master_port);
}

}  // namespace

std::string GroupOptions::NameOf(int which) const {
  if (ranks_each == 1) return fmt::format("rank {}", which);
  return fmt::format("process {} with ranks {} to {}", which, which * ranks_each,
                     (which + 1) * ranks_each - 1);
}

Status CheckAlike(const Json& facts, int rank, const Json& others, int other) {
  for (const auto& [name, value] : facts.items()) {
    if (others.contains(name) && others[name] == value) continue;
    return FailedPrecondition("{} is {} on rank {} but {} on rank {}: start all ranks alike", name,
                              value.dump(), rank,
                              others.contains(name) ? others[name].dump() : "unknown", other);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Join(const GroupOptions& options) {
  TakeTorchLog();
  const auto deadline = Clock::now() + options.timeout;
  std::unique_ptr<Rendezvous> meeting(new Rendezvous(options));
  HG_RETURN_IF_ERROR(meeting->Connect(deadline));
  try {
    // Waiting for a key that is there also sets the timeout of the connection's later answers.
    const std::string asks = Key("asks", options.process);
    meeting->Set(asks, "1");
    meeting->store_->wait({asks}, Milliseconds(options.timeout));
    HG_RETURN_IF_ERROR(meeting->CheckJob(deadline));
    meeting->Set(Key("process", options.process), HostAndPid());
    HG_RETURN_IF_ERROR(meeting->AwaitAll(deadline));
    meeting->presence_ = std::make_unique<Presence>(
        [self = meeting.get()] { return self->ConnectOnceMore(); }, options.process);
  } catch (const std::exception& error) {
    return Unavailable("{}: joining the ranks at {}: {}", meeting->Self(), meeting->Master(),
                       TorchMessage(error));
  }
  return meeting;
}

Status Rendezvous::Connect(Clock::time_point deadline) {
  if (options_.process != 0) HG_RETURN_IF_ERROR(AwaitMaster(deadline));
  try {
    store_ = OpenStore(options_.process == 0, Milliseconds(options_.timeout));
    if (options_.process == 0) SayWhereItListens(options_);
    return OkStatus();
  } catch (const std::exception& error) {
    if (options_.process == 0) {
      return FailedPrecondition(
          "{} cannot let the others meet at {}: {}; --master-addr must be an address of its own "
          "machine, and --master-port {} free there",
          Self(), Master(), TorchMessage(error), options_.master_port);
    }
    return Unavailable("{}: {} did not answer at {}: {}", Self(), options_.NameOf(0), Master(),
                       TorchMessage(error));
  }
}

c10::intrusive_ptr<::c10d::Store> Rendezvous::OpenStore(bool holds_it, milliseconds timeout) const {
  ::c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(options_.master_port);
  store.isServer = holds_it;
  store.numWorkers = static_cast<size_t>(options_.num_processes);
  store.waitWorkers = false;
  // c10d counts in whole seconds, and gives up at once with one.
  store.timeout = std::max(timeout, kShortestConnect);
  return c10::make_intrusive<::c10d::TCPStore>(options_.master_addr, store);
}

Presence::StorePtr Rendezvous::ConnectOnceMore() const {
  // Where nobody listens c10d would try for the whole timeout.
  const Status probe = ProbeListener(options_.master_addr, options_.master_port, kConnectAttempt);
  if (!probe.ok()) throw std::runtime_error(Message(probe));
  Presence::StorePtr store = OpenStore(false, kShortestConnect);
  store->setTimeout(kPresenceAnswer);
  // Of a key that is there: sets the timeout of the connection's answers, too.
  const std::string own = Key("process", options_.process);
  store->wait({own}, kPresenceAnswer);
  const std::vector<uint8_t> who = store->get(own);
  if (std::string(who.begin(), who.end()) == HostAndPid()) return store;
  throw std::runtime_error("the ranks of another run meet there now");
}

Status Rendezvous::AwaitMaster(Clock::time_point deadline) {
  auto say_next = Clock::now() + kSayWhomAfter;
  for (;;) {
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    const auto left = std::min(Milliseconds(deadline - Clock::now()), kConnectAttempt);
    const Status probe = ProbeListener(options_.master_addr, options_.master_port, left);
    if (probe.ok()) return OkStatus();
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("{}: {} did not answer at {}: {}", Self(), options_.NameOf(0),
                              Master(), Message(probe));
    }
    if (Clock::now() >= say_next) {
      spdlog::warn("{} waits for {} at {}: {}", Self(), options_.NameOf(0), Master(),
                   Message(probe));
      say_next += kSayWhomAfter;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Status Rendezvous::CheckJob(Clock::time_point deadline) {
  const std::string key = Key("job", 0);
  if (options_.process == 0) {
    Set(key, options_.job);
    return OkStatus();
  }
  HG_ASSIGN_OR_RETURN(
      const std::string theirs,
      AwaitKey(key, fmt::format("the job of {}, which one of this build says", options_.NameOf(0)),
               deadline));
  if (theirs == options_.job) return OkStatus();
  return FailedPrecondition(
      "{} is of job '{}', but the ranks that meet at {} are of job '{}': give each run a port of "
      "its own, or all its ranks the same --job",
      Self(), options_.job, Master(), Printable(theirs, kJobShown));
}

Status Rendezvous::AwaitAll(Clock::time_point deadline) {
  auto say_next = Clock::now() + kSayWhomAfter;
  for (;;) {
    std::vector<std::string> missing;
    for (int process = 0; process < options_.num_processes; ++process) {
      if (!Has(Key("process", process))) missing.push_back(options_.NameOf(process));
    }
    if (missing.empty()) return OkStatus();
    const std::string names = fmt::format("{}", fmt::join(missing, ", "));
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("{}: of {} processes these did not join at {} in time: {}", Self(),
                              options_.num_processes, Master(), names);
    }
    if (Clock::now() >= say_next) {
      spdlog::warn("{} waits at {} for {}", Self(), Master(), names);
      say_next += kSayWhomAfter;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

StatusOr<std::string> Rendezvous::AwaitKey(const std::string& key, std::string_view what,
                                           Clock::time_point deadline) {
  while (!Has(key)) {
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    if (Has(Key("stopped", 0))) {
      return Unavailable("{}: {}", what, presence_ == nullptr ? Get(Key("stopped", 0)) : Blame());
    }
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("{}: waiting for {} at {}", Self(), what, Master());
    }
    std::this_thread::sleep_for(kPoll);
  }
  return Get(key);
}

Status Rendezvous::Agree(const Json& facts) {
  try {
    const std::string key = Key("facts", 0);
    if (options_.process == 0) {
      Set(key, facts.dump());
      return OkStatus();
    }
    HG_ASSIGN_OR_RETURN(
        const std::string text,
        AwaitKey(key, "the settings of " + options_.NameOf(0), Clock::now() + options_.timeout));
    HG_ASSIGN_OR_RETURN(const Json theirs,
                        ParseJson(text, "the settings of " + options_.NameOf(0)));
    return CheckAlike(facts, options_.process * options_.ranks_each, theirs, 0);
  } catch (const std::exception& error) {
    return Unavailable("{}: comparing settings with {} at {}: {}", Self(), options_.NameOf(0),
                       Master(), TorchMessage(error));
  }
}

void Rendezvous::Leave(std::string_view reason) {
  if (left_.exchange(true)) return;
  try {
    store_->wait({Key("process", options_.process)}, kBlameGrace);
    const std::string_view told = reason.substr(0, kMaxReasonBytes);
    Set(Key("stopped", options_.process), told);
    Presence::Tell(*store_, options_.process,
                   fmt::format("{} stopped: {}", NameOf(options_.process), told));
  } catch (const std::exception& error) {
    spdlog::debug("{} could not tell why it stops: {}", Self(), TorchMessage(error));
  }
}

void Rendezvous::AwaitHeard() {
  if (options_.process != 0) return;
  const MutexLock lock(blaming_);
  try {
    const auto deadline = Clock::now() + kBlameGrace;
    for (bool heard = false; !heard && Clock::now() < deadline;) {
      heard = true;
      for (int other = 1; other < options_.num_processes; ++other) {
        if (silent_.contains(other)) continue;
        heard = heard && (Presence::Knows(*store_, other) || Has(Key("stopped", other)));
      }
      if (!heard) std::this_thread::sleep_for(kPoll);
    }
  } catch (const std::exception& error) {
    spdlog::debug("{} could not wait for the others: {}", Self(), TorchMessage(error));
  }
}

std::string Rendezvous::Blame() {
  const MutexLock lock(blaming_);
  std::vector<std::string> culprits;
  try {
    // Who noticed the failure says so: who stays silent is the culprit, unless it runs, and is
    // busy.
    store_->wait({Key("process", options_.process)}, kBlameGrace);
    Set(Key("noticed", options_.process), "1");
    const std::vector<int64_t> before = Counts();
    const auto deadline = Clock::now() + kBlameGrace;
    for (bool silent = true; silent && culprits.empty() && Clock::now() < deadline;) {
      silent = false;
      for (int other = 0; other < options_.num_processes; ++other) {
        if (other == options_.process) continue;
        if (Has(Key("stopped", other))) {
          culprits.push_back(
              fmt::format("{} stopped: {}", NameOf(other), Get(Key("stopped", other))));
        }
        silent = silent || !Has(Key("noticed", other));
      }
      if (culprits.empty()) std::this_thread::sleep_for(kPoll);
    }
    if (culprits.empty()) culprits = Silent(before);
    Presence::SetKnows(*store_, options_.process);  // process 0 may go now
  } catch (const std::exception&) {
    const std::string heard = presence_ == nullptr ? "" : presence_->Heard();
    if (!heard.empty()) return heard;
    if (culprits.empty()) {
      return fmt::format("{} ({}) does not answer", options_.NameOf(0), Master());
    }
  }
  return fmt::format("{}", fmt::join(culprits, "; "));
}

std::vector<std::string> Rendezvous::Silent(const std::vector<int64_t>& before) {
  std::vector<std::string> lost, busy;
  const std::vector<int64_t> after = Counts();
  for (int other = 0; other < options_.num_processes; ++other) {
    if (other == options_.process || Has(Key("noticed", other))) continue;
    if (after[other] > before[other]) {
      busy.push_back(fmt::format("{} runs, but did not come", NameOf(other)));
      continue;
    }
    silent_.insert(other);
    lost.push_back(fmt::format("{} does not answer", NameOf(other)));
  }
  return lost.empty() ? busy : lost;
}

std::vector<int64_t> Rendezvous::Counts() {
  std::vector<int64_t> counts;
  for (int process = 0; process < options_.num_processes; ++process) {
    counts.push_back(Presence::CountOf(*store_, process));
  }
  return counts;
}

void Rendezvous::Set(const std::string& key, std::string_view value) {
  store_->set(key, std::vector<uint8_t>(value.begin(), value.end()));
}

std::string Rendezvous::Get(const std::string& key) {
  const std::vector<uint8_t> value = store_->get(key);
  return {value.begin(), value.end()};
}

bool Rendezvous::Has(const std::string& key) { return store_->check({key}); }

std::string Rendezvous::NameOf(int process) {
  try {
    return fmt::format("{} ({})", options_.NameOf(process), Get(Key("process", process)));
  } catch (const std::exception& error) {
    spdlog::debug("{} could not ask who {} is: {}", Self(), options_.NameOf(process),
                  TorchMessage(error));
    return options_.NameOf(process);
  }
}

std::string Rendezvous::Master() const {
  return ToString(HostPort{options_.master_addr, options_.master_port});
}

}  // namespace halograph
