// Where the processes of one run meet: c10d's TCPStore, held by process 0. Says who is missing
// while it waits, carries why one stopped to the others, and checks that all run the same thing.
// Where every process has one rank, messages call them ranks. Thread-safe once all have joined: the
// groups that stand beside each other use one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/distributed/presence.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

struct GroupOptions {
  int process = 0;
  int num_processes = 1;
  int ranks_each = 1;                     // of every process
  std::string master_addr = "127.0.0.1";  // where process 0 is
  int master_port = 29500;                // that process 0 listens on
  std::string job = "";                   // of which the processes are; those of others are refused
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of joining and every collective
  const std::atomic<bool>* stop = nullptr;  // ends waiting with Cancelled when it turns true

  // What messages call it: "rank 1", "process 1 with ranks 2 to 3".
  [[nodiscard]] std::string NameOf(int which) const;
};

// Compares `facts`, an object, of rank `rank` with those of another. FailedPrecondition naming the
// first field that differs, both values and both ranks.
[[nodiscard]] Status CheckAlike(const Json& facts, int rank, const Json& others, int other);

class Rendezvous {
 public:
  // Process 0 listens, the others connect; then waits until all are there.
  //   FailedPrecondition  process 0 cannot listen on the port; or it is of another job, whose
  //                       processes do not notice this one
  //   DeadlineExceeded    process 0 does not answer, or others are missing: named
  //   Cancelled           stop was set
  [[nodiscard]] static StatusOr<std::unique_ptr<Rendezvous>> Join(const GroupOptions& options);

  [[nodiscard]] const c10::intrusive_ptr<::c10d::Store>& store() const { return store_; }

  // Compares `facts`, an object, with those of process 0, as CheckAlike does.
  [[nodiscard]] Status Agree(const Json& facts);

  // With its host and process id, as it said them; without, if process 0 is gone.
  [[nodiscard]] std::string NameOf(int process);

  // Tells the others why this process stops. Once; never fails.
  void Leave(std::string_view reason);

  // On process 0, which holds the store: waits, a few seconds at most, until the others that
  // are still there had the chance to read why it stops. Returns at once on the others.
  void AwaitHeard();

  // Who is to blame for a failed collective, as far as can be found out within a few seconds:
  // "rank 1 (host b, pid 17) stopped: ...", "rank 1 (...) does not answer"; where all run, "rank 2
  // (...) runs, but did not come". Empty if all are well.
  [[nodiscard]] std::string Blame();

 private:
  explicit Rendezvous(const GroupOptions& options) : options_(options) {}
  [[nodiscard]] Status Connect(std::chrono::steady_clock::time_point deadline);
  // A connection to the store of process 0, or the store itself. Throws.
  [[nodiscard]] c10::intrusive_ptr<::c10d::Store> OpenStore(
      bool holds_it, std::chrono::milliseconds timeout) const;
  // A connection for Presence. Throws.
  [[nodiscard]] Presence::StorePtr ConnectOnceMore() const;
  [[nodiscard]] Status AwaitMaster(std::chrono::steady_clock::time_point deadline);
  // Says which job it is on process 0; the others compare theirs with it. It finds mistakes, and
  // stops no attacker.
  [[nodiscard]] Status CheckJob(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] Status AwaitAll(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] StatusOr<std::string> AwaitKey(const std::string& key, std::string_view what,
                                               std::chrono::steady_clock::time_point deadline);
  void Set(const std::string& key, std::string_view value);
  [[nodiscard]] std::string Get(const std::string& key);
  [[nodiscard]] bool Has(const std::string& key);
  // What Blame says of the processes that have noticed nothing: of those that no longer count, else
  // of those that are busy. `before`: Counts, two intervals of Presence ago at least.
  [[nodiscard]] std::vector<std::string> Silent(const std::vector<int64_t>& before)
      HG_REQUIRES(blaming_);
  [[nodiscard]] std::vector<int64_t> Counts();
  [[nodiscard]] std::string Self() const { return options_.NameOf(options_.process); }
  [[nodiscard]] std::string Master() const;

  const GroupOptions options_;
  c10::intrusive_ptr<::c10d::Store> store_;
  std::atomic<bool> left_ = false;
  Mutex blaming_;
  std::set<int> silent_ HG_GUARDED_BY(blaming_);  // those that Blame found not to answer
  std::unique_ptr<Presence> presence_;
};

}  // namespace halograph
