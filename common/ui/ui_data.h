// What the page of an operator shows, as plain values: of servers of a graph, or of a trainer.
// Whoever has the figures fills it (status_reader.h does from /status); RenderPage (render.h) makes
// the page. Text may hold anything: the page shows it as text. Sizes are bytes, times seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halograph::ui {

// A histogram: counts[i] is of values in (bounds[i - 1], bounds[i]], the last of those above all
// bounds. Empty: nothing is known.
struct Histogram {
  std::vector<double> bounds = {};  // ascending
  std::vector<int64_t> counts;      // one more than bounds
};

// The calls of a method in `recent_seconds`.
struct MethodFigures {
  std::string name = {};  // "GraphService/Sample"
  int64_t calls = 0;
  int64_t errors = 0;
  int64_t in_flight = 0;  // now
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
  double p50_seconds = 0;
  double p99_seconds = 0;
  Histogram latency = {};
};

struct PoolFigures {
  std::string name = {};  // "work", "state", "slow"
  int64_t threads = 0;
  int64_t busy = -1;  // -1: unknown
  int64_t queued = 0;
  int64_t queue_limit = 0;
};

struct PartFigures {
  int part = 0;
  int64_t bytes = -1;  // of its files; -1: unknown, as below
  int64_t mapped_bytes = -1;
  int64_t resident_bytes = -1;
};

// A mutable tensor of a part.
struct TensorFigures {
  int part = 0;
  std::string name = {};  // "type/name", or "name"
  int64_t lsn = 0;
  int64_t staleness = 0;  // pushes
  int64_t step = -1;      // the last synchronous one; -1: none
  int64_t ids = 0;
  int64_t pushes = 0;
  int64_t pushed_rows = 0;
  int64_t memory_bytes = 0;
  std::string refused = {};  // why it takes no pushes; empty: it does
};

// The log of a part, its checkpoints, and what its last recovery took.
struct LogFigures {
  int part = 0;
  int64_t lsn = 0;
  int64_t synced_lsn = 0;
  int64_t log_bytes = 0;
  int64_t syncs = 0;
  double sync_seconds = 0;       // of all syncs
  double sync_p99_seconds = -1;  // -1: unknown
  int64_t checkpoints = 0;
  double checkpoint_age_seconds = -1;  // -1: none, or unknown
  double recovery_seconds = 0;
  int64_t replayed_pushes = 0;
  bool refuses_pushes = false;
};

struct SlowRequest {
  double unix_seconds = 0;  // when it ended
  std::string method = {};
  std::string host = {};
  std::string rank = {};
  std::string request_id = {};
  std::string trace_id = {};
  std::string status = {};  // "OK", "UNAVAILABLE", ...
  double answering_seconds = 0;
  double sending_seconds = 0;
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
};

struct ClientFigures {
  std::string host = {};
  std::string rank = {};
  int64_t calls = 0;
  int64_t errors = 0;
  int64_t sent_bytes = 0;
  int64_t in_flight = 0;
  double silent_seconds = 0;
  double known_seconds = 0;
};

struct ServerFigures {
  std::string address = {};
  bool self = false;  // it is the one that serves the page
  // Not empty: why its figures do not count among those of the graph. The fields below are empty
  // then, but for those that say what the server is, if it answered.
  std::string error = {};
  bool another_graph = false;  // it answered, but is not of this graph
  // How far its clock is ahead of that of this page's server, give or take half the round trip.
  std::optional<double> clock_seconds_off = {};
  double round_trip_seconds = 0;
  bool has_metrics = true;  // false: an older version, which tells less
  std::string identity = {};
  std::string graph = {};
  std::string version = {};
  std::string serving = {};
  std::string phase = {};  // "opening", "recovering", "serving", "draining"
  std::string host = {};
  int64_t pid = 0;
  double unix_seconds = 0;  // its clock, when it was asked
  double uptime_seconds = 0;
  int num_parts = 0;  // of its graph; 0: unknown
  std::vector<PartFigures> parts = {};
  std::vector<PoolFigures> pools = {};
  int64_t request_memory = 0;
  int64_t request_memory_limit = 0;  // 0: unknown
  int64_t reply_memory = 0;
  int64_t reply_memory_limit = 0;
  int64_t clients = 0;
  int64_t refused = 0;  // calls, since the start
  int64_t failovers = 0;
  double recent_seconds = 0;  // what `methods` are of
  std::vector<MethodFigures> methods = {};
  std::vector<TensorFigures> tensors = {};
  int64_t tensors_left_out = 0;  // that its answer had no room for
  std::vector<LogFigures> logs = {};
  std::vector<SlowRequest> slow = {};
  std::vector<ClientFigures> callers = {};
  // Since the start, for the charts.
  int64_t total_calls = 0;
  int64_t total_edges = 0;
  int64_t total_sent_bytes = 0;
  Histogram total_latency = {};
};

// What a stage of a trainer's pipeline did since the start, of all its threads.
struct StageFigures {
  std::string name = {};
  double busy_seconds = 0;
  double starved_seconds = 0;  // waiting for the stage before
  double blocked_seconds = 0;  // waiting for the stage behind
};

struct PulledRows {
  std::string tensor = {};
  std::string source = {};  // "local", "remote", "cache"
  int64_t rows = 0;
  int64_t bytes = 0;
};

struct RankDelay {
  std::string rank = {};
  double seconds =
      0;  // later than the mean of the ranks at the meeting before the last; below 0: earlier
};

struct TrainerFigures {
  std::string version = {};
  std::string phase = {};  // "starting", "training", "evaluating", "ending"
  std::string host = {};
  int64_t pid = 0;
  int64_t rank = 0;
  int64_t world_size = 1;
  double unix_seconds = 0;
  double uptime_seconds = 0;
  std::vector<std::string> servers = {};
  int64_t epoch = 0;
  int64_t step = 0;
  double loss = 0;  // NaN: none yet
  int64_t total_steps = 0;
  int64_t total_seeds = 0;
  Histogram step_seconds = {};
  double step_seconds_sum = 0;
  double wait_seconds = 0;       // for minibatches
  double sync_wait_seconds = 0;  // for other ranks
  std::vector<StageFigures> stages = {};
  std::vector<PulledRows> pulls = {};
  std::vector<RankDelay> delays = {};
};

struct UiData {
  double asked_seconds_ago = 0;  // how old the figures of other servers are
  std::string why_alone = {};    // not empty: other servers are not shown, and why
  std::vector<ServerFigures> servers = {};
  std::optional<TrainerFigures> trainer;  // the page is a trainer's; `servers` is empty
};

}  // namespace halograph::ui
