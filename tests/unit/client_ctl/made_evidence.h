// A cluster that trains, as its metrics would tell it, from a few figures: two servers and some
// ranks, looked at for ten seconds.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/why/evidence.h"

namespace halograph::ctl {

// The buckets of grpc_server_call_duration_seconds, fewer of them.
inline const std::vector<double>& MadeBounds() {
  static const std::vector<double> bounds = {
      0,     1e-5,  5e-5,  1e-4,  3e-4,  6e-4,  8e-4,   1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 8e-3,
      10e-3, 16e-3, 20e-3, 30e-3, 50e-3, 80e-3, 130e-3, 0.2,  0.3,  0.5,  1,    2,    5};
  return bounds;
}

class MadeMetrics {
 public:
  void Value(const std::string& name, const LabelValues& labels, double value) {
    values_[name].series.push_back({.labels = labels, .value = value});
  }
  // A fifth took `least`, the others what makes the mean.
  void Calls(const std::string& name, const LabelValues& labels, double count, double mean,
             double least) {
    least = std::min(least, mean);
    const auto all = static_cast<int64_t>(count);
    const int64_t few = all / 5;
    SeriesValues series{.labels = labels, .count = all, .sum = count * mean};
    series.counts.resize(MadeBounds().size() + 1);
    series.counts[Bucket(least)] += few;
    series.counts[Bucket((mean - 0.2 * least) / 0.8)] += all - few;
    Family(name).series.push_back(std::move(series));
  }
  [[nodiscard]] MetricValues Take() const { return values_; }
  // As it was when nothing had happened yet.
  [[nodiscard]] MetricValues AtTheStart() const {
    MetricValues values = values_;
    for (auto& [name, family] : values) {
      for (SeriesValues& series : family.series) {
        series = {.labels = series.labels, .counts = std::vector<int64_t>(series.counts.size())};
      }
    }
    return values;
  }
  void Remove(const std::string& name) { values_.erase(name); }

 private:
  static size_t Bucket(double seconds) {
    const auto& bounds = MadeBounds();
    return static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), seconds) -
                               bounds.begin());
  }
  MetricFamilyValues& Family(const std::string& name) {
    MetricFamilyValues& family = values_[name];
    family.bounds = MadeBounds();
    return family;
  }

  MetricValues values_;
};

inline constexpr double kMadeSeconds = 10;

// Seconds are of one call.
struct MadeServer {
  std::string address;
  double calls = 3000;  // each of Sample and Pull, of all ranks
  double sample_bytes = 20e3;
  double pull_bytes = 200e3;
  double work = 0.4e-3;
  double queue = 0.02e-3;
  double memory = 0;
  double sending = 0.1e-3;
  double refused = 0;
  double processors = 2.4;  // times what its threads work
  double lacked = 0;        // what they waited for them, times what they work
  double waiting_calls = 0;
  double usable = 8;
  double threads = 4;
  double delay = 0.1e-3;           // on the way, of every call
  double way_of_sample = 0.05e-3;  // besides
  double way_of_pull = 0.2e-3;
  double round_trip = 0.2e-3;
  double pushes = 0;
  double sync = 0.5e-3;
  double push_seconds = 0.8e-3;
};

struct MadeRank {
  int rank = 0;
  // Shares of a step.
  double computing = 0.93;
  double waiting = 0.03;
  double meeting = 0.03;
  double steps = 200;
  std::map<std::string, double> busy = {{"schedule", 0.01}, {"sample", 0.3}, {"gather", 0.35}};
  double slower_calls = 1;  // times as long as those of others
  // Rows from servers and from the cache between the looks; of those, which were fetched again.
  double remote = 1000, cache = 9000;
  double again = 1000;
  bool has_cache = true;
  // Of processors, a second: used, waited for, and there.
  double processors = 2, lacked = 0.1, usable = 8;
};

struct Made {
  std::vector<MadeServer> servers = {{.address = "a:7000"}, {.address = "b:7000"}};
  std::vector<MadeRank> ranks = {{.rank = 0}, {.rank = 1}};
  std::vector<std::string> without = {};  // metrics that nobody tells
  bool asks_trainers = true;
  bool one_process = false;  // has all ranks

  [[nodiscard]] Evidence Take() const;
};

inline constexpr char kMadeSample[] = "halograph.v1.GraphService/Sample";
inline constexpr char kMadePull[] = "halograph.v1.KVService/Pull";
inline constexpr char kMadePush[] = "halograph.v1.KVService/Push";

inline MadeMetrics OfServer(const MadeServer& server) {
  MadeMetrics metrics;
  const double answering = server.work + server.queue + server.memory;
  for (const auto& [method, bytes] :
       {std::pair{kMadeSample, server.sample_bytes}, {kMadePull, server.pull_bytes}}) {
    const LabelValues ok = {{"grpc_method", method}, {"grpc_status", "OK"}};
    metrics.Calls("grpc_server_call_duration_seconds", ok, server.calls, answering + server.sending,
                  answering * 0.5);
    metrics.Calls("grpc_server_call_sent_total_compressed_message_size_bytes", ok, server.calls,
                  bytes, bytes);
    metrics.Calls("grpc_server_call_rcvd_total_compressed_message_size_bytes", ok, server.calls,
                  1e3, 1e3);
    metrics.Value("halograph_server_sending_seconds_total", {{"grpc_method", method}},
                  server.sending * server.calls);
  }
  metrics.Calls("halograph_server_queue_wait_seconds", {{"pool", "work"}}, 2 * server.calls,
                server.queue, server.queue);
  metrics.Value("halograph_server_threads", {{"pool", "work"}}, server.threads);
  metrics.Value("halograph_server_reply_wait_seconds_total", {}, server.memory * 2 * server.calls);
  metrics.Value("halograph_server_reply_memory_bytes", {}, 1e6);
  metrics.Value("halograph_server_reply_memory_limit_bytes", {}, 48e6);
  metrics.Value("halograph_server_unread_replies_total", {}, 0);
  metrics.Value("halograph_server_refused_total", {{"reason", "reply_memory"}}, server.refused);
  metrics.Value("halograph_server_refused_total", {{"reason", "queue_full"}}, 0);
  metrics.Value("process_cpu_seconds_total", {},
                server.processors * server.work * 2 * server.calls);
  metrics.Value("process_processor_wait_seconds_total", {},
                server.lacked * server.work * 2 * server.calls);
  metrics.Value("halograph_server_waiting_calls", {}, server.waiting_calls);
  metrics.Value("process_usable_processors", {}, server.usable);
  if (server.pushes > 0) {
    metrics.Calls("grpc_server_call_duration_seconds",
                  {{"grpc_method", kMadePush}, {"grpc_status", "OK"}}, server.pushes,
                  server.push_seconds, server.push_seconds);
    metrics.Calls("halograph_state_sync_seconds", {{"part", "0"}}, server.pushes, server.sync,
                  server.sync);
  }
  return metrics;
}

inline MadeMetrics OfRank(const MadeRank& rank, const Made& made) {
  MadeMetrics metrics;
  const LabelValues own = {{"rank", std::to_string(rank.rank)}};
  const auto with = [&](LabelValues labels) {
    labels.insert(own.begin(), own.end());
    return labels;
  };
  metrics.Value("halograph_trainer_steps_total", own, rank.steps);
  metrics.Value("halograph_trainer_wait_seconds_total", own, rank.waiting * kMadeSeconds);
  metrics.Value("halograph_trainer_sync_wait_seconds_total", own, rank.meeting * kMadeSeconds);
  metrics.Value("halograph_trainer_straggler_seconds", own, 0.001);
  metrics.Value("process_cpu_seconds_total", {}, rank.processors * kMadeSeconds);
  metrics.Value("process_processor_wait_seconds_total", {}, rank.lacked * kMadeSeconds);
  metrics.Value("process_usable_processors", {}, rank.usable);
  const auto stage = [&](const std::string& name, double busy, double starved) {
    for (const auto& [state, share] : {std::pair{"busy", busy},
                                       {"starved", starved},
                                       {"blocked", std::max(0.0, 1 - busy - starved)}}) {
      metrics.Value("halograph_trainer_stage_seconds_total",
                    with({{"stage", name}, {"state", state}}), share * kMadeSeconds);
    }
  };
  for (const auto& [name, busy] : rank.busy) stage(name, busy, 0);
  stage("train", rank.computing, rank.waiting);
  for (const MadeServer& server : made.servers) {
    const double calls = server.calls / static_cast<double>(made.ranks.size());
    const double answering = server.work + server.queue + server.memory;
    for (const auto& [method, way] :
         {std::pair{kMadeSample, server.way_of_sample}, {kMadePull, server.way_of_pull}}) {
      const double mean = (answering + server.delay + way) * rank.slower_calls;
      metrics.Calls(
          "grpc_client_attempt_duration_seconds",
          with({{"grpc_method", method}, {"grpc_status", "OK"}, {"grpc_target", server.address}}),
          calls, mean, (answering * 0.5 + server.delay) * rank.slower_calls);
    }
  }
  for (const auto& [source, rows] :
       {std::pair{"remote", rank.remote}, {"cache", rank.cache}, {"local", 5000.0}}) {
    if (!rank.has_cache && std::string(source) == "cache") continue;
    const LabelValues labels = with({{"source", source}, {"tensor", "node/feat"}});
    metrics.Value("halograph_trainer_pull_rows_total", labels, rows);
    metrics.Value("halograph_trainer_pull_bytes_total", labels, rows * 400);
  }
  for (const auto& [fetch, rows] :
       {std::pair{"first", rank.remote - rank.again}, {"again", rank.again}}) {
    if (!rank.has_cache) break;
    metrics.Value("halograph_trainer_cache_fetched_rows_total", with({{"fetch", fetch}}), rows);
  }
  return metrics;
}

inline Evidence Made::Take() const {
  Evidence evidence;
  const auto change = [&](MadeMetrics metrics) {
    for (const std::string& name : without) metrics.Remove(name);
    return MetricChange(metrics.AtTheStart(), metrics.Take());
  };
  for (const MadeServer& server : servers) {
    evidence.servers.push_back({.address = server.address,
                                .own_address = server.address,
                                .round_trip_seconds = server.round_trip,
                                .seconds = kMadeSeconds,
                                .metrics = change(OfServer(server))});
  }
  if (one_process) {
    MetricValues before, after;
    for (const MadeRank& rank : ranks) {
      const MadeMetrics metrics = OfRank(rank, *this);
      for (auto& [from, to] :
           {std::pair(metrics.AtTheStart(), &before), {metrics.Take(), &after}}) {
        for (const auto& [name, family] : from) {
          MetricFamilyValues& all = (*to)[name];
          all.bounds = family.bounds;
          all.series.insert(all.series.end(), family.series.begin(), family.series.end());
        }
      }
    }
    evidence.trainers.push_back({.address = "t:9000",
                                 .rank = 0,
                                 .world_size = static_cast<int>(ranks.size()),
                                 .phase = "training",
                                 .seconds = kMadeSeconds,
                                 .metrics = MetricChange(std::move(before), std::move(after))});
    return evidence;
  }
  for (const MadeRank& rank : ranks) {
    if (!asks_trainers) break;
    evidence.trainers.push_back({.address = "t" + std::to_string(rank.rank) + ":9000",
                                 .rank = rank.rank,
                                 .world_size = static_cast<int>(ranks.size()),
                                 .phase = "training",
                                 .seconds = kMadeSeconds,
                                 .metrics = change(OfRank(rank, *this))});
  }
  return evidence;
}

}  // namespace halograph::ctl
