#include "trainer/distributed/rendezvous.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <unistd.h>

#include "common/base/host_port.h"
#include "common/base/log.h"
#include "trainer/distributed/device_address.h"

namespace halograph {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{20};
constexpr milliseconds kConnectAttempt{1000};
constexpr milliseconds kShortestConnect{5000};
constexpr milliseconds kSayWhomAfter{5000};
constexpr milliseconds kBlameGrace{2000};
constexpr size_t kMaxReasonBytes = 4096;

milliseconds Milliseconds(std::chrono::nanoseconds duration) {
  return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(duration));
}

std::string Key(std::string_view kind, int rank) {
  return fmt::format("halograph/{}/{}", kind, rank);
}

std::string HostAndPid() {
  char host[256] = "?";
  (void)gethostname(host, sizeof(host) - 1);
  return fmt::format("host {}, pid {}", host, getpid());
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

StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Join(const GroupOptions& options) {
  const auto deadline = Clock::now() + options.timeout;
  std::unique_ptr<Rendezvous> meeting(new Rendezvous(options));
  HG_RETURN_IF_ERROR(meeting->Connect(deadline));
  try {
    const std::string own = Key("rank", options.rank);
    meeting->Set(own, HostAndPid());
    // Waiting for a key that is there also sets the timeout of the connection's later answers.
    meeting->store_->wait({own}, Milliseconds(options.timeout));
    HG_RETURN_IF_ERROR(meeting->AwaitAll(deadline));
  } catch (const std::exception& error) {
    return Unavailable("rank {}: joining the ranks at {}: {}", options.rank, meeting->Master(),
                       TorchMessage(error));
  }
  return meeting;
}

Status Rendezvous::Connect(Clock::time_point deadline) {
  if (options_.rank != 0) HG_RETURN_IF_ERROR(AwaitMaster(deadline));
  ::c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(options_.master_port);
  store.isServer = options_.rank == 0;
  store.numWorkers = static_cast<size_t>(options_.world_size);
  store.waitWorkers = false;
  // c10d counts in whole seconds, and gives up at once with one.
  store.timeout = std::max(Milliseconds(options_.timeout), kShortestConnect);
  try {
    store_ = c10::make_intrusive<::c10d::TCPStore>(options_.master_addr, store);
    if (options_.rank == 0) SayWhereItListens(options_);
    return OkStatus();
  } catch (const std::exception& error) {
    if (options_.rank == 0) {
      return FailedPrecondition("rank 0 cannot listen at {}: {}", Master(), TorchMessage(error));
    }
    return Unavailable("rank {}: rank 0 did not answer at {}: {}", options_.rank, Master(),
                       TorchMessage(error));
  }
}

Status Rendezvous::AwaitMaster(Clock::time_point deadline) {
  auto say_next = Clock::now() + kSayWhomAfter;
  for (;;) {
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    const auto left = std::min(Milliseconds(deadline - Clock::now()), kConnectAttempt);
    const Status probe = ProbeListener(options_.master_addr, options_.master_port, left);
    if (probe.ok()) return OkStatus();
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("rank {}: rank 0 did not answer at {}: {}", options_.rank, Master(),
                              Message(probe));
    }
    if (Clock::now() >= say_next) {
      spdlog::warn("rank {} waits for rank 0 at {}: {}", options_.rank, Master(), Message(probe));
      say_next += kSayWhomAfter;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Status Rendezvous::AwaitAll(Clock::time_point deadline) {
  auto say_next = Clock::now() + kSayWhomAfter;
  for (;;) {
    std::vector<std::string> missing;
    for (int rank = 0; rank < options_.world_size; ++rank) {
      if (!Has(Key("rank", rank))) missing.push_back(std::to_string(rank));
    }
    if (missing.empty()) return OkStatus();
    const std::string names = fmt::format("{}", fmt::join(missing, ", "));
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("rank {}: of {} ranks these did not join at {} in time: {}",
                              options_.rank, options_.world_size, Master(), names);
    }
    if (Clock::now() >= say_next) {
      spdlog::warn("rank {} waits at {} for rank {}", options_.rank, Master(), names);
      say_next += kSayWhomAfter;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

StatusOr<std::string> Rendezvous::AwaitKey(const std::string& key, std::string_view what) {
  const auto deadline = Clock::now() + options_.timeout;
  while (!Has(key)) {
    if (options_.stop != nullptr && options_.stop->load()) return Cancelled("stopped by signal");
    if (Has(Key("stopped", 0))) return Unavailable("{}: {}", what, Blame());
    if (Clock::now() >= deadline) {
      return DeadlineExceeded("rank {}: waiting for {} at {}", options_.rank, what, Master());
    }
    std::this_thread::sleep_for(kPoll);
  }
  return Get(key);
}

Status Rendezvous::Agree(const Json& facts) {
  try {
    const std::string key = Key("facts", 0);
    if (options_.rank == 0) {
      Set(key, facts.dump());
      return OkStatus();
    }
    HG_ASSIGN_OR_RETURN(const std::string text, AwaitKey(key, "the settings of rank 0"));
    HG_ASSIGN_OR_RETURN(const Json theirs, ParseJson(text, "the settings of rank 0"));
    for (const auto& [name, value] : facts.items()) {
      if (theirs.contains(name) && theirs[name] == value) continue;
      return FailedPrecondition("{} is {} on rank {} but {} on rank 0: start all ranks alike", name,
                                value.dump(), options_.rank,
                                theirs.contains(name) ? theirs[name].dump() : "unknown");
    }
    return OkStatus();
  } catch (const std::exception& error) {
    return Unavailable("rank {}: comparing settings with rank 0 at {}: {}", options_.rank, Master(),
                       TorchMessage(error));
  }
}

void Rendezvous::Leave(std::string_view reason) {
  if (left_) return;
  left_ = true;
  try {
    store_->wait({Key("rank", options_.rank)}, kBlameGrace);
    Set(Key("stopped", options_.rank), reason.substr(0, kMaxReasonBytes));
  } catch (const std::exception& error) {
    spdlog::debug("rank {} could not tell why it stops: {}", options_.rank, TorchMessage(error));
  }
}

void Rendezvous::AwaitHeard() {
  if (options_.rank != 0) return;
  try {
    const auto deadline = Clock::now() + kBlameGrace;
    for (bool heard = false; !heard && Clock::now() < deadline;) {
      heard = true;
      for (int rank = 1; rank < options_.world_size; ++rank) {
        if (silent_.contains(rank)) continue;
        heard = heard && (Has(Key("heard", rank)) || Has(Key("stopped", rank)));
      }
      if (!heard) std::this_thread::sleep_for(kPoll);
    }
  } catch (const std::exception& error) {
    spdlog::debug("rank 0 could not wait for the others: {}", TorchMessage(error));
  }
}

std::string Rendezvous::Blame() {
  std::vector<std::string> culprits;
  try {
    // A rank that noticed the failure says so: who stays silent is the culprit.
    store_->wait({Key("rank", options_.rank)}, kBlameGrace);
    Set(Key("noticed", options_.rank), "1");
    const auto deadline = Clock::now() + kBlameGrace;
    for (bool silent = true; silent && culprits.empty() && Clock::now() < deadline;) {
      silent = false;
      for (int rank = 0; rank < options_.world_size; ++rank) {
        if (rank == options_.rank) continue;
        if (Has(Key("stopped", rank))) {
          culprits.push_back(
              fmt::format("{} stopped: {}", NameOf(rank), Get(Key("stopped", rank))));
        }
        silent = silent || !Has(Key("noticed", rank));
      }
      if (culprits.empty()) std::this_thread::sleep_for(kPoll);
    }
    Set(Key("heard", options_.rank), "1");
    const bool stopped = !culprits.empty();
    for (int rank = 0; rank < options_.world_size && !stopped; ++rank) {
      if (rank == options_.rank || Has(Key("noticed", rank))) continue;
      silent_.insert(rank);
      culprits.push_back(fmt::format("{} does not answer", NameOf(rank)));
    }
  } catch (const std::exception&) {
    if (culprits.empty()) return fmt::format("rank 0 ({}) does not answer", Master());
  }
  return fmt::format("{}", fmt::join(culprits, "; "));
}

void Rendezvous::Set(const std::string& key, std::string_view value) {
  store_->set(key, std::vector<uint8_t>(value.begin(), value.end()));
}

std::string Rendezvous::Get(const std::string& key) {
  const std::vector<uint8_t> value = store_->get(key);
  return {value.begin(), value.end()};
}

bool Rendezvous::Has(const std::string& key) { return store_->check({key}); }

std::string Rendezvous::NameOf(int rank) {
  return fmt::format("rank {} ({})", rank, Get(Key("rank", rank)));
}

std::string Rendezvous::Master() const {
  return fmt::format("{}:{}", options_.master_addr, options_.master_port);
}

}  // namespace halograph
