// What the figures of evidence come to, before causes are weighed: what a step of each rank waits
// for, and what the calls to each server spend their time with.
//
//   a call as its trainer sees it  =  answering (as the server counts)  +  on the way
//   answering                      =  queue  +  waiting for reply memory  +  work
//   on the way                     =  the least that any call had there  +  what grows with load
//   what grows with load           =  threads wait for processors  +  the way is full
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/ctl/why/evidence.h"

namespace halograph::ctl {

// What trainers count of their calls.
inline constexpr char kAttempts[] = "grpc_client_attempt_duration_seconds";

// Seconds of a stage by what it did, as shares of the time between the readings.
struct StageShares {
  std::string name;
  double busy = 0;
  double starved = 0;
  double blocked = 0;
};

// Of a trainer.
struct RankPicture {
  std::string name;  // "rank 1", or its address if it does not say
  std::string address;
  int rank = -1;
  int world_size = 0;
  const TrainerEvidence* evidence = nullptr;
  // Of its own series, where the trainer has several ranks; its calls are told of all together.
  LabelValues labels = {};
  double steps = 0;
  // Of one step; with no step between the readings, the time between them.
  double step_seconds = 0;
  // Shares of a step.
  double computing = 0;
  double waiting = 0;  // for a minibatch
  double meeting = 0;  // for other ranks
  double pushing = 0;  // with work done and no leave to go on, other than that
  // Of its process, per second: of processors that it used, for which its threads waited, and that
  // it may use.
  std::optional<double> processors = {};
  std::optional<double> waited_for_processors = {};
  std::optional<double> usable_processors = {};
  // All that the trainer tells of, in the order of a step, without the last one, which computes.
  std::vector<StageShares> stages = {};
  // The stage that others wait for: the busiest. Null: the trainer does not tell stages.
  [[nodiscard]] const StageShares* Busiest() const;
};

// Which stages are of what.
[[nodiscard]] bool IsSampling(const std::string& stage);
[[nodiscard]] bool IsFetching(const std::string& stage);

// What calls of one kind to one server come to, on average.
struct MethodPicture {
  std::string method;  // "KVService/Pull"
  double calls = 0;
  double bytes = 0;  // of one call's messages
  // Nothing where nobody tells.
  std::optional<double> trainers_seconds = {};  // of the rank that has it fastest
  std::optional<double> least_seconds = {};     // that nine of ten calls took at least
  std::optional<double> answering_seconds = {};
  std::optional<double> least_answering_seconds = {};
};

// Of a server: of the calls that make minibatches, an average over them.
struct ServerPicture {
  std::string address;
  const ServerEvidence* evidence = nullptr;  // null: trainers call it, and it was not asked
  std::vector<MethodPicture> methods = {};
  double calls = 0;
  double call_seconds = 0;  // as trainers see it, else as the server does
  bool seen_by_trainers = false;
  double answering = 0;
  double queue = 0;
  double memory = 0;  // for room for the reply
  double work = 0;
  bool way_known = false;  // trainers and server tell of the same calls; else the way is 0
  double way = 0;
  double way_least = 0;
  // Seconds of what grows on the way that waits for processors explain at most: those of the
  // server's threads, and of the trainers'.
  double way_of_server = 0;
  double way_of_trainers = 0;
  double bytes_per_second = 0;  // that it sent
  double outstanding = 0;       // calls of trainers under way, on average
  // Seconds in which threads worked for such calls, in which such calls waited for a thread, and of
  // processors, per second.
  double working = 0;
  double queueing = 0;
  std::optional<double> processors = {};
  std::optional<double> waited_for_processors = {};  // of all its threads, per second
  std::optional<double> waiting_calls = {};          // now, without a thread
  std::optional<double> threads = {};                // that work for calls
  // Whether its threads are so busy that calls wait for them, and not for their waking up.
  [[nodiscard]] bool threads_are_busy() const { return !threads || working > 0.5 * *threads; }
  [[nodiscard]] double way_growing() const { return way > way_least ? way - way_least : 0; }
};

struct Picture {
  std::vector<RankPicture> ranks;
  std::vector<ServerPicture> servers;
  double seconds = 0;  // between the readings

  // The rank that the others wait for: the one that waits least for others. Null: no trainers.
  [[nodiscard]] const RankPicture* Slowest() const;
};

// The evidence must outlive it.
[[nodiscard]] Picture Draw(const Evidence& evidence);

// The middle one; of an even number the lower. 0 of none.
[[nodiscard]] double LowerMedian(std::vector<double> values);

}  // namespace halograph::ctl
