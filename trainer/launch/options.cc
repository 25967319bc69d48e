#include "trainer/launch/options.h"

#include <algorithm>
#include <thread>

#include <fmt/ranges.h>

#include "common/base/host_port.h"
#include "common/sampling/request.h"
#include "common/sampling/sampler_plan.h"
#include "trainer/launch/launch_env.h"

namespace halograph {
namespace {

constexpr int64_t kMaxLayers = 16;
constexpr int64_t kMaxBatchSize = 1 << 24;
constexpr int64_t kMaxEpochs = 1 << 24;
constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxMemory = int64_t{1} << 60;
constexpr int kMaxPrefetch = 1024;
constexpr int kMaxWorldSize = 1 << 16;

template <typename T>
Status CheckRange(std::string_view option, T value, T low, T high) {
  if (value >= low && value <= high) return OkStatus();
  return InvalidArgument("{} is {}, expected {} to {}", option, value, low, high);
}

Status CheckFanouts(std::string_view option, const std::vector<int32_t>& fanouts, int64_t layers) {
  if (static_cast<int64_t>(fanouts.size()) != layers) {
    return InvalidArgument("{} {} lists {} fanouts, expected one for each of {} layers (--layers)",
                           option, fmt::join(fanouts, ","), fanouts.size(), layers);
  }
  for (int32_t fanout : fanouts) {
    if (Status status = ValidateFanout(fanout); !status.ok()) return Annotate(status, option);
  }
  return OkStatus();
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() > end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

Status CheckTopology(const TrainOptions& o) {
  if (o.servers.empty()) {
    const auto unused = [](std::string_view option) {
      return InvalidArgument("{} needs --servers: with --graph everything is mapped here", option);
    };
    if (!o.topology.empty()) return unused("--topology");
    if (!o.local.empty()) return unused("--local");
  }
  if (o.topology == kTopologyLocal) {
    if (!o.cache_dir.empty()) return OkStatus();
    return InvalidArgument(
        "--topology local needs --cache-dir: neither XDG_CACHE_HOME nor HOME is an absolute path");
  }
  if (o.cache_dir.empty()) return OkStatus();
  return InvalidArgument("--cache-dir is for --topology local{}",
                         o.servers.empty() ? "" : "; elsewhere nothing is fetched");
}

Status CheckWhere(const TrainOptions& o) {
  if (o.graph.empty() == o.servers.empty()) {
    return InvalidArgument(
        "give either --graph DIR (embedded) or --servers HOST:PORT,... "
        "(partitioned, hybrid){}",
        o.graph.empty() ? "" : ", not both");
  }
  for (const std::string& server : o.servers) {
    HG_RETURN_IF_ERROR(Annotate(ParseServerAddress(server).status(), "--servers"));
  }
  HG_RETURN_IF_ERROR(CheckTopology(o));
  HG_RETURN_IF_ERROR(CheckRange("--world-size", o.world_size, 1, kMaxWorldSize));
  if (o.rank < 0 || o.rank >= o.world_size) {
    return InvalidArgument("--rank is {}, expected 0 to {} (--world-size is {})", o.rank,
                           o.world_size - 1, o.world_size);
  }
  if (o.world_size > 1) {
    HG_RETURN_IF_ERROR(CheckRange("--master-port", o.master_port, 1, 65535));
    if (o.master_addr.empty()) return InvalidArgument("--master-addr is empty");
  }
  if (o.timeout < std::chrono::milliseconds(1) || o.timeout > std::chrono::hours(24)) {
    return InvalidArgument("--timeout is {} s, expected 0.001 to 86400",
                           std::chrono::duration<double>(o.timeout).count());
  }
  return OkStatus();
}

OptionTable ModelRows(ModelOptions& options) {
  OptionTable table;
  options.AddRows(table);
  return table;
}

Status CheckModel(const TrainOptions& o) {
  HG_RETURN_IF_ERROR(Annotate(FindModelKind(o.model).status(), "--model"));
  if (o.model_options != nullptr) HG_RETURN_IF_ERROR(ModelRows(*o.model_options).Validate());
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--layers", o.layers, 1, kMaxLayers));
  HG_RETURN_IF_ERROR(CheckFanouts("--fanouts", o.fanouts, o.layers));
  if (!o.eval_fanouts.empty()) {
    HG_RETURN_IF_ERROR(CheckFanouts("--eval-fanouts", o.eval_fanouts, o.layers));
  }
  return OkStatus();
}

Status CheckTraining(const TrainOptions& o) {
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--batch-size", o.batch_size, 1, kMaxBatchSize));
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--eval-batch-size", o.eval_batch_size, 0, kMaxBatchSize));
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--epochs", o.epochs, 1, kMaxEpochs));
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--eval-every", o.eval_every, 0, kMaxEpochs));
  if (!(o.learning_rate > 0 && o.learning_rate <= 1e6)) {
    return InvalidArgument("--lr is {}, expected above 0", o.learning_rate);
  }
  if (!(o.weight_decay >= 0 && o.weight_decay <= 1e6)) {
    return InvalidArgument("--weight-decay is {}, expected 0 or more", o.weight_decay);
  }
  HG_RETURN_IF_ERROR(CheckRange("--threads", o.threads, 0, kMaxThreads));
  HG_RETURN_IF_ERROR(CheckRange("--sample-threads", o.sample_threads, 1, kMaxThreads));
  HG_RETURN_IF_ERROR(
      CheckRange("--threads-per-minibatch", o.threads_per_minibatch, 0, o.sample_threads));
  HG_RETURN_IF_ERROR(CheckRange<int64_t>("--sampler-memory", o.sampler_memory, 0, kMaxMemory));
  return CheckRange("--prefetch", o.prefetch, 1, kMaxPrefetch);
}

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string_view NameOf(FeatureNormalization normalization) {
  return normalization == FeatureNormalization::kRow ? "row" : "none";
}

}  // namespace

void TrainOptions::Resolve() {
  if (topology.empty() && !servers.empty()) topology = kTopologyServers;
  if (model_options == nullptr) model_options = (*FindModelKind(model))->options();
  if (eval_fanouts.empty()) eval_fanouts = fanouts;
  if (eval_batch_size == 0) eval_batch_size = batch_size;
  if (sampler_memory == 0) sampler_memory = DefaultSamplerMemory();
  if (threads == 0) {
    threads = std::max(1, AvailableCores() / std::max(1, RanksOnThisMachine(ProcessEnvironment())));
  }
}

Status TrainOptions::Validate() const {
  HG_RETURN_IF_ERROR(CheckWhere(*this));
  HG_RETURN_IF_ERROR(CheckModel(*this));
  HG_RETURN_IF_ERROR(CheckTraining(*this));
  if (!predict.empty() && !EndsWith(predict, ".npy") && !EndsWith(predict, ".csv")) {
    return InvalidArgument("--predict is '{}', expected a name ending in .npy or .csv", predict);
  }
  return OkStatus();
}

Json SharedFacts(const TrainOptions& o) {
  Json json{{"world_size", o.world_size},
            {"task", o.task},
            {"features", o.features},
            {"normalize_features", NameOf(o.normalization)},
            {"model", o.model},
            {"layers", o.layers},
            {"fanouts", o.fanouts},
            {"replace", o.replace},
            {"sampling_weights", o.sampling_weights.empty() ? Json() : Json(o.sampling_weights)},
            {"batch_size", o.batch_size},
            {"epochs", o.epochs},
            {"optimizer", o.optimizer == OptimizerKind::kSgd ? "sgd" : "adam"},
            {"lr", o.learning_rate},
            {"weight_decay", o.weight_decay},
            {"seed", o.seed},
            {"eval_every", o.eval_every},
            {"eval_fanouts", o.eval_fanouts},
            {"eval_batch_size", o.eval_batch_size},
            {"predict", !o.predict.empty()},
            {"predict_nodes", o.predict_nodes == PredictNodes::kAll ? "all" : "test"}};
  if (o.model_options != nullptr) {
    json.update(ModelRows(*o.model_options).ToJson(OptionTable::Which::kAllRanks));
  }
  return json;
}

Json ToJson(const TrainOptions& o) {
  Json json = SharedFacts(o);
  json["graph"] = OrNull(o.graph);
  json["servers"] = o.servers;
  json["mode"] = o.servers.empty() ? "embedded" : o.hybrid() ? "hybrid" : "partitioned";
  json["topology"] = OrNull(o.topology);
  json["local"] = OrNull(o.local);
  json["cache_dir"] = OrNull(o.cache_dir);
  json["verify"] = o.verify == VerifyLevel::kContents ? "contents" : "headers";
  json["rank"] = o.rank;
  json["master_addr"] = o.master_addr;
  json["master_port"] = o.master_port;
  json["timeout"] = std::chrono::duration<double>(o.timeout).count();
  json["threads"] = o.threads;
  json["sample_threads"] = o.sample_threads;
  json["threads_per_minibatch"] = o.threads_per_minibatch;
  json["sampler_memory"] = o.sampler_memory;
  json["prefetch"] = o.prefetch;
  json["log"] = o.log;
  json["predict"] = OrNull(o.predict);
  return json;
}

}  // namespace halograph
