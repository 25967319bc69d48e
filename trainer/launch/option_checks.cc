#include "trainer/launch/option_checks.h"

#include <algorithm>
#include <string_view>

#include "common/sampling/request.h"

namespace halograph {
namespace {

Status CheckTopology(const TrainOptions& o) {
  if (o.remote.servers.empty()) {
    const auto unused = [](std::string_view option) {
      return InvalidArgument("{} needs --servers: with --graph everything is mapped here", option);
    };
    if (!o.topology.empty()) return unused("--topology");
    if (!o.local.empty()) return unused("--local");
    if (o.remote.columns) return unused("--columns");
    if (o.remote.column_pulls) return unused("--column-pulls");
    if (o.remote.plain_ids) return unused("--plain-ids");
    if (o.remote.tls.given()) return unused("--tls-dir and its like");
    if (!o.state.folder.empty() && o.all_ranks() > 1) {
      return InvalidArgument(
          "--state is for one rank: for {} start halograph-server with --state, and give --servers",
          o.all_ranks());
    }
  }
  HG_RETURN_IF_ERROR(o.remote.CheckColumns());
  HG_RETURN_IF_ERROR(o.remote.tls.Validate(TlsRole::kClient));
  if (o.topology == kTopologyLocal) {
    if (!o.cache_dir.empty()) return OkStatus();
    return InvalidArgument(
        "--topology local needs --cache-dir: neither XDG_CACHE_HOME nor HOME is an absolute path");
  }
  if (o.cache_dir.empty()) return OkStatus();
  return InvalidArgument("--cache-dir is for --topology local{}",
                         o.remote.servers.empty() ? "" : "; elsewhere nothing is fetched");
}

// Each part has steps of its own: what counts the steps of a run has no meaning. What ends training
// after an evaluation or by the clock does so between epochs.
Status CheckAveragedControl(const TrainOptions& o) {
  const ControlOptions& control = o.control;
  const char* const other = control.max_steps > 0                        ? "--max-steps"
                            : control.eval_every_steps > 0               ? "--eval-every-steps"
                            : control.lr_schedule == LrSchedule::kCosine ? "--lr-schedule cosine"
                                                                         : nullptr;
  if (other == nullptr) return OkStatus();
  return InvalidArgument(
      "--average-every and {}: each part has a model and steps of its own; leave one of them out",
      other);
}

Status CheckCompact(const TrainOptions& o) {
  if (o.compact == CompactOn::kHost) return OkStatus();
  if (o.device == "cpu") {
    return InvalidArgument(
        "--compact device and --device cpu: there is no device to do it; leave out --compact, or "
        "give --device cuda");
  }
  if (o.sampler.kind() != DrawKind::kNeighbor) {
    return InvalidArgument(
        "--compact device and --sampler {}: only neighbours are numbered on a device; leave out "
        "--compact, or give --sampler neighbor",
        o.sampler.name);
  }
  if (o.graph.empty() && !o.hybrid()) return OkStatus();
  return InvalidArgument(
      "--compact device and {}: minibatches are sampled here then, and numbered while they are "
      "sampled, so that a device has nothing left to do; leave out --compact",
      o.graph.empty() ? "--topology " + o.topology : "--graph");
}

Status CheckBulk(const TrainOptions& o) {
  if (o.bulk == 1) return OkStatus();
  if (o.prefetch == 0) {
    return InvalidArgument(
        "--bulk {} and --prefetch 0: each step is sampled when it is asked for; leave one of them "
        "out",
        o.bulk);
  }
  if (o.compact == CompactOn::kHost) return OkStatus();
  return InvalidArgument(
      "--bulk {} and --compact device: a device numbers one minibatch at a time; leave one of them "
      "out",
      o.bulk);
}

Status CheckTune(const TrainOptions& o) {
  if (!o.tune) return OkStatus();
  if (o.logical_ranks > 0) {
    return InvalidArgument(
        "--tune and --logical-ranks {}: another number of threads gives other bits, and "
        "--logical-ranks is for the same ones; leave one of them out (--tune=false where a log "
        "has it)",
        o.logical_ranks);
  }
  if (o.average_every == 0) return OkStatus();
  return InvalidArgument(
      "--tune and --average-every: each part has steps of its own, and no two ranks take the same; "
      "leave one of them out");
}

Status CheckAveraging(const TrainOptions& o) {
  if (o.average_every == 0) {
    if (!o.part_only) return OkStatus();
    return InvalidArgument(
        "--part-only needs --average-every K: ranks that know their parts alone train models of "
        "their own");
  }
  if (o.gradient_dtype != GradientDtype::kFloat32) {
    return InvalidArgument(
        "--average-every and --gradient-dtype bfloat16: models are averaged, and no gradient "
        "travels; leave one of them out");
  }
  if (!o.embeddings.types.empty()) {
    return InvalidArgument(
        "--average-every and --embed: learnt inputs are pushed in step with all ranks; leave one "
        "of them out");
  }
  if (o.cache_memory > 0) {
    return InvalidArgument(
        "--average-every and --cache-memory: where models are averaged, rows are not cached; leave "
        "one of them out");
  }
  if (o.device_cache_memory > 0) {
    return InvalidArgument(
        "--average-every and --device-cache-memory: where models are averaged, no rows are kept on "
        "a device; leave one of them out");
  }
  HG_RETURN_IF_ERROR(CheckAveragedControl(o));
  if (!o.part_only) return OkStatus();
  if (o.graph.empty()) return InvalidArgument("--part-only is for --graph: servers have all parts");
  if (!o.state.folder.empty()) {
    return InvalidArgument("--part-only and --state: a part alone has no tensors that change");
  }
  if (o.normalization == FeatureNormalization::kStandard) {
    return InvalidArgument(
        "--part-only and --normalize-features standard: no rank knows the training nodes of all "
        "parts, and means must be the same for all; leave one of them out");
  }
  if (o.epochs == 0) {
    return InvalidArgument("--part-only needs --epochs: no rank knows all training seeds");
  }
  if (!o.predict.empty()) {
    return InvalidArgument(
        "--part-only and --predict: nodes of other parts cannot be predicted; leave one of them "
        "out");
  }
  return OkStatus();
}

// What chooses inputs, where the model has its own.
Status CheckOwnInputs(const TrainOptions& o) {
  const std::string_view by =
      o.model_options == nullptr ? std::string_view() : o.model_options->OwnInputsBy();
  if (by.empty()) return OkStatus();
  if (o.layers < 2) {
    return InvalidArgument(
        "--layers {} and {}: its first layer gives rows of --hidden, which another one reads; give "
        "2 or more",
        o.layers, by);
  }
  if (o.average_every != 0) {
    return InvalidArgument(
        "--average-every and {}: learnt inputs are pushed in step with all ranks; leave one of "
        "them out",
        by);
  }
  const char* const other = !o.embeddings.types.empty() ? "--embed"
                            : !o.features.empty()       ? "--features"
                            : o.normalization != FeatureNormalization::kNone
                                ? "--normalize-features"
                                : nullptr;
  if (other == nullptr) return OkStatus();
  return InvalidArgument(
      "{} and {}: a learnt row of each node is the only input there is; leave one of them out",
      other, by);
}

Status CheckEdgeWeight(const TrainOptions& o) {
  if (o.edge_weight.empty()) return OkStatus();
  if (o.part_only) {
    return InvalidArgument(
        "--part-only and --edge-weight {}: a halo has no features of edges; leave one of them out",
        o.edge_weight);
  }
  if (o.model_options == nullptr) return OkStatus();
  return Annotate(o.model_options->TakesCoefficients(), "--edge-weight " + o.edge_weight);
}

Status CheckWhere(const TrainOptions& o) {
  if (o.graph.empty() == o.remote.servers.empty()) {
    return InvalidArgument(
        "give either --graph DIR (embedded) or --servers HOST:PORT,... "
        "(partitioned, hybrid){}",
        o.graph.empty() ? "" : ", not both");
  }
  if (o.rank >= o.world_size) {
    return InvalidArgument("--rank is {}, expected 0 to {} (--world-size is {})", o.rank,
                           o.world_size - 1, o.world_size);
  }
  if (o.logical_ranks % o.world_size != 0) {
    return InvalidArgument(
        "--logical-ranks {} cannot be shared out to {} processes: give a multiple of --world-size, "
        "or start another number of processes",
        o.logical_ranks, o.world_size);
  }
  HG_RETURN_IF_ERROR(CheckTopology(o));
  if (o.world_size > 1) {
    if (o.master_port == 0) return InvalidArgument("--master-port is 0, expected 1 to 65535");
    if (o.master_addr.empty()) return InvalidArgument("--master-addr is empty");
  }
  return OkStatus();
}

// Seeds that a step is sampled for at most: positions in a minibatch are of 32 bits, and each has a
// row in every layer.
constexpr int64_t kMostNegatives = int64_t{1} << 26;

Status CheckNegatives(const TrainOptions& o) {
  if (o.tasks.node.full_batch) return OkStatus();  // links have none: the task refuses it
  const LinkOptions& link = o.tasks.link;
  if (link.sampling != NegativeSampling::kInBatch && !link.shared &&
      link.negatives > kMostNegatives / o.batch_size) {
    return InvalidArgument(
        "--negatives {} for each of --batch-size {} edges is more than {} in a step: give fewer, "
        "or --shared-negatives",
        link.negatives, o.batch_size, kMostNegatives);
  }
  if (link.sampling != NegativeSampling::kInBatch) return OkStatus();
  if (o.batch_size < 2) {
    return InvalidArgument(
        "--negative-sampling in-batch with --batch-size 1: an edge has no other one beside it");
  }
  if (o.tasks.link.shared) {
    return InvalidArgument(
        "--shared-negatives with --negative-sampling in-batch: nothing is drawn to be shared");
  }
  return OkStatus();
}

bool DrawsAll(const Fanouts& fanouts) {
  const auto all = [](const std::vector<int32_t>& layers) {
    return std::all_of(layers.begin(), layers.end(),
                       [](int32_t fanout) { return fanout == kFullNeighborhood; });
  };
  return all(fanouts.layers) &&
         std::all_of(fanouts.named.begin(), fanouts.named.end(),
                     [&](const RelationFanouts& named) { return all(named.layers); });
}

// Each part is trained by its own rows there, and a subgraph is of all parts.
Status CheckSubgraphs(const TrainOptions& o) {
  if (!o.sampler.graph_wise() || o.average_every == 0) return OkStatus();
  return InvalidArgument(
      "--average-every and --sampler {}: subgraphs are drawn of all parts, and each part has a "
      "model and rows of its own; leave one of them out",
      o.sampler.name);
}

Status CheckSampling(const TrainOptions& o) {
  if (o.sampler.reads_fanouts()) {
    HG_RETURN_IF_ERROR(CheckFanouts("--fanouts", o.AllFanouts(), o.layers));
  }
  HG_RETURN_IF_ERROR(CheckLayerNodes(o.sampler, o.layers));
  HG_RETURN_IF_ERROR(CheckSubgraphs(o));
  if (o.part_only && o.sampler.name == "fastgcn") {
    return InvalidArgument(
        "--part-only and --sampler fastgcn: it draws by the out-degrees of the whole graph, which "
        "no part has; give --sampler ladies or neighbor");
  }
  if (!o.sampler.estimates() || o.model_options == nullptr) return OkStatus();
  return Annotate(o.model_options->TakesCoefficients(), "--sampler " + o.sampler.name);
}

Status CheckFullBatch(const TrainOptions& o) {
  if (!o.tasks.node.full_batch) return OkStatus();
  if (!o.sampler.reads_fanouts()) {
    return InvalidArgument(
        "--full-batch and --sampler {}: a full batch takes all neighbours; leave one of them out",
        o.sampler.name);
  }
  if (o.batch_size != kMaxBatchSize) {
    return InvalidArgument(
        "--full-batch and --batch-size {}: a step is about all rows; leave one of them out",
        o.batch_size);
  }
  if (DrawsAll(o.AllFanouts())) return OkStatus();
  return InvalidArgument(
      "--full-batch and --fanouts {}: a full batch takes all neighbours; leave one of them out",
      FanoutsText(o.AllFanouts()));
}

}  // namespace

Status CheckTogether(const TrainOptions& o) {
  HG_RETURN_IF_ERROR(CheckWhere(o));
  HG_RETURN_IF_ERROR(CheckSampling(o));
  HG_RETURN_IF_ERROR(CheckFullBatch(o));
  HG_RETURN_IF_ERROR(CheckNegatives(o));
  HG_RETURN_IF_ERROR(CheckControl(o.control, o.learning_rate));
  HG_RETURN_IF_ERROR(CheckCheckpoints(o.checkpoint));
  HG_RETURN_IF_ERROR(CheckOwnInputs(o));
  HG_RETURN_IF_ERROR(CheckEdgeWeight(o));
  HG_RETURN_IF_ERROR(CheckBulk(o));
  HG_RETURN_IF_ERROR(CheckTune(o));
  HG_RETURN_IF_ERROR(CheckAveraging(o));
  HG_RETURN_IF_ERROR(CheckCompact(o));
  HG_RETURN_IF_ERROR(o.http.Validate());
  if (!o.trace.empty() && o.trace == o.log) {
    return InvalidArgument("--trace and --log are one file, {}: give each its own", o.log);
  }
  if (o.control.patience > 0 && o.eval_every == 0 && o.control.eval_every_steps == 0) {
    return InvalidArgument(
        "--patience counts evaluations, and --eval-every 0 has one only at the end: give "
        "--eval-every or --eval-every-steps");
  }
  if (o.threads_per_minibatch > o.sample_threads) {
    return InvalidArgument("--threads-per-minibatch is {}, expected 0 to {} (--sample-threads)",
                           o.threads_per_minibatch, o.sample_threads);
  }
  if (o.AllEvalFanouts().empty()) return OkStatus();
  return CheckFanouts("--eval-fanouts", o.AllEvalFanouts(), o.layers);
}

Status CheckUnused(const OptionTable& rows, const TrainOptions& o) {
  HG_RETURN_IF_ERROR(CheckSampler(rows, o.sampler));
  for (const char* const fixed : {"threads", "sample-threads", "threads-per-minibatch"}) {
    if (!o.tune || !rows.given(fixed)) continue;
    return InvalidArgument(
        "--tune and --{}: --tune chooses numbers of threads; leave one of them out (--tune=false "
        "where a log has it)",
        fixed);
  }
  struct Use {
    const char* option;
    bool used;
    const char* of;
  };
  const ControlOptions& control = o.control;
  const bool checkpoints = !o.checkpoint.folder.empty();
  const bool predictions = !o.predict.empty();
  const bool kept_here = o.remote.servers.empty() && o.state.folder.empty();
  const Use uses[] = {
      {"lr-step-epochs", control.lr_schedule == LrSchedule::kStep, "--lr-schedule step"},
      {"lr-decay", control.lr_schedule == LrSchedule::kStep, "--lr-schedule step"},
      {"lr-min", control.lr_schedule == LrSchedule::kCosine, "--lr-schedule cosine"},
      {"min-delta", control.patience > 0, "--patience"},
      {"checkpoint-every", checkpoints, "--checkpoint"},
      {"checkpoint-keep", checkpoints, "--checkpoint"},
      {"predict-nodes", predictions, "--predict"},
      {"predict-what", predictions, "--predict"},
      {"device-cache-memory", o.device != "cpu", "--device cuda"},
      {"cache", !o.remote.servers.empty(), "--servers"},  // else all rows are here
      {"cache-memory", !o.remote.servers.empty(), "--servers"},
      {"cache-memory", o.cache != CacheKind::kOff, "--cache look-ahead or static"},
      {"sync", !kept_here, "--state"},  // a run's own folder is never synced
  };
  for (const Use& use : uses) {
    if (use.used || !rows.given(use.option)) continue;
    return InvalidArgument("--{} is for {}: give that too, or leave the option out", use.option,
                           use.of);
  }
  return OkStatus();
}

}  // namespace halograph
