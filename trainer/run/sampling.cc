#include "trainer/run/sampling.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/sampling/samplers/cluster_list.h"
#include "common/sampling/samplers/make_walk_weights.h"
#include "common/sampling/samplers/symmetry.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/weight_sums.h"

namespace halograph {
namespace {

SubgraphPlace PlaceOf(const Session& session) {
  const GraphInfo& info = session.stores.graph->info();
  return {.schema = info.schema,
          .clusters = static_cast<int64_t>(ClusterList(info.clusters).size()),
          .training_rows = session.task->source(BatchPurpose::kTrain)->rows(),
          .batch_size = session.options.batch_size};
}

// `instead`: what needs none of it.
Status CheckRoom(const Session& session, const char* what, int64_t bytes, const char* instead) {
  const TrainOptions& options = session.options;
  if (bytes <= options.sampler_memory) return OkStatus();
  return ResourceExhausted("{} take {} here, and --sampler-memory is {}: raise that, or {}", what,
                           FormatBytes(bytes), FormatBytes(options.sampler_memory), instead);
}

Status CheckRoomOfDegrees(const Session& session) {
  const Schema& schema = session.stores.graph->info().schema;
  int64_t bytes = 0;
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    bytes += 4 * schema.node_types[schema.SourceType(static_cast<int>(r))].count;
  }
  return CheckRoom(session, "the degrees of all nodes", bytes,
                   "give --sampler ladies or neighbor, which keep none");
}

// A minibatch makes the store read the degrees of all nodes, and keep them.
Status ReadDegrees(const Session& session, const SamplingSpec& sampling,
                   const CancelToken& cancel) {
  CallContext context{.cancel = &cancel};
  Minibatch none;
  return session.stores.graph->Sample({.spec = &sampling}, context, &none);
}

AskTopology AskOf(const Session& session, const CancelToken& cancel) {
  return [&](const TopologyQuestions& questions, TopologyAnswers* answers) {
    CallContext context{.cancel = &cancel};
    return session.stores.graph->Ask(questions, context, answers);
  };
}

void TellOfWalks(const Session& session, const WalkWeights& walks) {
  if (session.options.rank != 0) return;
  if (walks.exact()) {
    spdlog::info("--sampler saint-walk: the chances of nodes and edges are exact");
    return;
  }
  spdlog::info(
      "--sampler saint-walk: chances are those of {} subgraphs, of which a node is in {:.1f} on "
      "average; half of the nodes' are off by less than {:.1f} %, 95 % of them by less than {:.1f} "
      "%; {} nodes were in none",
      walks.subgraphs(), walks.coverage(), 100 * walks.error().median, 100 * walks.error().high,
      walks.unseen());
}

Status FindWalkChances(Session& session, const DrawRule& rule, const CancelToken& cancel) {
  const TrainOptions& options = session.options;
  const GraphInfo& info = session.stores.graph->info();
  constexpr int64_t kBytes = 4;  // a node, and an edge
  HG_RETURN_IF_ERROR(
      CheckRoom(session, "the chances of all nodes and edges",
                kBytes * (info.schema.node_types[0].count + info.schema.relations[0].count),
                "give --sampler saint-node or neighbor, which keep none"));
  const WalkWeighing wanted{
      .relation = 0,
      .rule = rule,
      .coverage = static_cast<double>(options.sampler.subgraph.saint_coverage),
      .key = TrainerKey(options.seed, TrainerStream::kWalkChances, 0, 0)};
  const SamplingSpec one_layer{.layers = {{{0, rule}}}};
  const SampleWalks sample = [&](std::span<const uint64_t> batch_seeds,
                                 std::span<Minibatch> minibatches) {
    std::vector<SampleRequest> requests;
    for (const uint64_t seed : batch_seeds) {
      requests.push_back({.batch_seed = seed, .spec = &one_layer, .edge_ids = true});
    }
    CallContext context{.cancel = &cancel};
    return session.stores.graph->Sample(requests, context, minibatches);
  };
  if (options.rank == 0) {
    spdlog::info("--sampler saint-walk: finding the chances of {} nodes and {} edges, once",
                 info.schema.node_types[0].count, info.schema.relations[0].count);
  }
  HG_ASSIGN_OR_RETURN(session.tables.walks,
                      MakeWalkWeights(info.schema, wanted, AskOf(session, cancel), sample));
  TellOfWalks(session, *session.tables.walks);
  return OkStatus();
}

std::string EstimatesAndWeights(const TrainOptions& options) {
  return fmt::format("--sampler {} and --edge-weight {}", options.sampler.name,
                     options.edge_weight);
}

// What is left out of a minibatch is taken off numbers of edges, and of sums of weights it cannot
// be: nobody pulls the weights of edges that are not there.
Status CheckWeightSums(const Session& session) {
  const TrainOptions& options = session.options;
  const std::string what = EstimatesAndWeights(options);
  if (session.task->predicts_outputs()) {
    return InvalidArgument(
        "{}: --model {} divides by sums of weights over all neighbours, and task '{}' leaves edges "
        "out of these; leave --edge-weight out, or give --sampler neighbor",
        what, options.model, session.task->name());
  }
  const int64_t bytes = 4 * session.stores.graph->info().schema.node_types[0].count;
  return Annotate(CheckRoom(session, "sums of the edge weights of all nodes", bytes,
                            "leave --edge-weight out, or give --sampler neighbor"),
                  what);
}

// In pieces, so that each collective ends within its timeout.
Status AddOverRanks(Communicator& ranks, std::vector<float>* sums) {
  constexpr int64_t kTogether = int64_t{16} << 20;
  const torch::Tensor all = torch::from_blob(sums->data(), {std::ssize(*sums)}, torch::kFloat32);
  for (int64_t begin = 0; begin < all.numel(); begin += kTogether) {
    HG_RETURN_IF_ERROR(
        ranks.AllReduceSum(all.narrow(0, begin, std::min(kTogether, all.numel() - begin)),
                           "all-reduce of sums of edge weights"));
  }
  return OkStatus();
}

// Each rank reads those of its share of the nodes: the sums of others are 0, and added.
Status FindWeightSums(Session& session) {
  const TrainOptions& options = session.options;
  const Schema& schema = session.stores.graph->info().schema;
  HG_RETURN_IF_ERROR(CheckWeightSums(session));
  const std::string what = EstimatesAndWeights(options);
  if (options.rank == 0) {
    spdlog::info("{}: reading the weights of all {} edges, once", what, schema.relations[0].count);
  }
  std::vector<float> sums;
  const RankWork read = [&](const CancelToken& cancel) -> Status {
    WeightSumsReading reading{.own = {options.rank, options.world_size},
                              .threads = static_cast<size_t>(session.sampler.minibatches),
                              .cancel = &cancel};
    if (options.prefetch_memory > 0) reading.memory = options.prefetch_memory;
    HG_ASSIGN_OR_RETURN(sums, ReadWeightSums(session.stores.graph.get(), session.stores.rows.get(),
                                             session.train_maker->recipe().edge_weights, reading));
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(WorkTogether(*session.ranks, &session.cancel, read,
                                  "meeting while the weights of all edges are read"));
  HG_RETURN_IF_ERROR(AddOverRanks(*session.ranks, &sums));
  session.tables.weight_sums = std::make_shared<const WeightSums>(0, std::move(sums));
  return OkStatus();
}

bool KnowsWholeGraph(DrawKind kind) {
  const DrawRule rule{.kind = kind};
  return rule.graph_wise() || rule.by_all_degrees();
}

// What a sampler knows of the whole graph, but for sums of weights. Whether the graph is symmetric
// is one question, which rank 0 asks for all.
Status ReadForSampler(Session& session, const CancelToken& cancel) {
  const SamplingSpec& sampling = session.train_maker->recipe().sampling;
  const DrawRule rule{.kind = sampling.kind()};
  if (rule.by_all_degrees()) HG_RETURN_IF_ERROR(CheckRoomOfDegrees(session));
  if (rule.graph_wise()) {
    HG_RETURN_IF_ERROR(
        session.task->FindRowsInSubgraphs(session.stores, rule.by_all_degrees(), &cancel));
  }
  const bool clusters = rule.kind == DrawKind::kCluster;
  if (rule.graph_wise() && !clusters && session.options.rank == 0) {
    const GraphInfo& info = session.stores.graph->info();
    HG_RETURN_IF_ERROR(
        CheckSymmetric(info.schema, 0, info.book.num_parts(), AskOf(session, cancel)));
  }
  if (rule.by_all_degrees()) HG_RETURN_IF_ERROR(ReadDegrees(session, sampling, cancel));
  if (rule.kind != DrawKind::kSaintWalk) return OkStatus();
  return FindWalkChances(session, sampling.layers[0][0].rule, cancel);
}

}  // namespace

StatusOr<SamplingSpec> SamplingOf(const Session& session, const ModelNeeds& needs, bool training) {
  const TrainOptions& options = session.options;
  const Schema& schema = session.stores.graph->info().schema;
  if (!needs.neighbors) return SamplingSpec{.layers = {{}}};
  if (training && options.sampler.graph_wise()) {
    return SubgraphSpec(options.sampler.subgraph, options.sampler.kind(), options.layers,
                        PlaceOf(session));
  }
  if (training && !options.sampler.reads_fanouts()) {
    return LayerWiseSpec(options.sampler, schema, options.layers, options.batch_size,
                         needs.layer_probability());
  }
  const bool estimates = training && options.sampler.estimates();
  HG_ASSIGN_OR_RETURN(SamplingSpec spec,
                      ChooseFanouts(training ? "--fanouts" : "--eval-fanouts",
                                    training ? options.AllFanouts() : options.AllEvalFanouts(),
                                    schema, options.replace && !estimates));
  if (estimates) {
    DrawAs(options.sampler, &spec);
  } else {
    HG_RETURN_IF_ERROR(spec.DrawBy(schema, options.sampling_weights));
  }
  return spec;
}

Status PrepareSampler(Session& session, const ModelNeeds& needs) {
  const TrainOptions& options = session.options;
  if (!needs.neighbors) return OkStatus();
  const BatchRecipe& recipe = session.train_maker->recipe();
  const std::string sampler = "--sampler " + options.sampler.name;
  if (recipe.sampling.kind() == DrawKind::kCluster) {
    HG_RETURN_IF_ERROR(CheckClusters(options.sampler.subgraph, PlaceOf(session)));
  }
  if (KnowsWholeGraph(recipe.sampling.kind())) {
    const RankWork read = [&](const CancelToken& cancel) {
      return Annotate(ReadForSampler(session, cancel), sampler);
    };
    HG_RETURN_IF_ERROR(
        WorkTogether(*session.ranks, &session.cancel, read,
                     fmt::format("meeting while {} reads what it knows of the graph", sampler)));
  }
  const bool sums = options.sampler.estimates() && needs.source_degrees;
  return sums && !recipe.edge_weights.pulled.empty() ? FindWeightSums(session) : OkStatus();
}

void WarnOfSampler(const Session& session, const ModelNeeds& needs) {
  const TrainOptions& options = session.options;
  if (needs.attends && options.sampler.estimates()) {
    spdlog::warn(
        "--sampler {} and --model {}: attention is normalised over the drawn neighbours, so its "
        "sums are biased; means are not, as those of --model sage",
        options.sampler.name, options.model);
  }
  if (options.sampler.kind() != DrawKind::kCluster) return;
  const SubgraphPlace place = PlaceOf(session);
  const int64_t drawn = ClustersOfBatch(options.sampler.subgraph, place);
  if (options.sampler.subgraph.clusters_per_batch > place.clusters) {
    spdlog::warn("--clusters-per-batch {}: the graph has {} clusters, and a minibatch all of them",
                 options.sampler.subgraph.clusters_per_batch, place.clusters);
  }
  const double rows = static_cast<double>(place.training_rows) * static_cast<double>(drawn) /
                      static_cast<double>(place.clusters);
  if (options.sampler.subgraph.clusters_per_batch > 0 ||
      rows < 2 * static_cast<double>(options.batch_size)) {
    return;
  }
  spdlog::warn(
      "--sampler cluster: a minibatch of {} of {} clusters has about {:.0f} training nodes, and "
      "--batch-size is {}: partition with more --batch-clusters, or raise --batch-size",
      drawn, place.clusters, rows, options.batch_size);
}

}  // namespace halograph
