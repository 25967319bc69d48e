#include "trainer/run/sampling.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/sampling/samplers/make_walk_weights.h"
#include "common/sampling/samplers/symmetry.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/weight_sums.h"

namespace halograph {
namespace {

int64_t ClustersOf(const GraphInfo& info) {
  int64_t clusters = 0;
  for (const std::vector<int64_t>& bounds : info.clusters) {
    clusters += std::max<int64_t>(std::ssize(bounds) - 1, 0);
  }
  return clusters;
}

SubgraphPlace PlaceOf(const Session& session) {
  const GraphInfo& info = session.stores.graph->info();
  return {.schema = info.schema,
          .clusters = ClustersOf(info),
          .training_rows = session.task->source(BatchPurpose::kTrain)->rows(),
          .batch_size = session.options.batch_size};
}

Status CheckRoom(const Session& session, const char* what, int64_t bytes) {
  const TrainOptions& options = session.options;
  if (bytes <= options.sampler_memory) return OkStatus();
  return ResourceExhausted(
      "{} take {} here, and --sampler-memory is {}: raise that, or give --sampler ladies or "
      "neighbor, which keep none",
      what, FormatBytes(bytes), FormatBytes(options.sampler_memory));
}

// A minibatch makes the store read the degrees of all nodes, and keep them.
Status ReadDegrees(const Session& session, const SamplingSpec& sampling) {
  const Schema& schema = session.stores.graph->info().schema;
  int64_t bytes = 0;
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    bytes += 4 * schema.node_types[schema.SourceType(static_cast<int>(r))].count;
  }
  HG_RETURN_IF_ERROR(CheckRoom(session, "the degrees of all nodes", bytes));
  CallContext context{.cancel = &session.cancel};
  Minibatch none;
  return session.stores.graph->Sample({.spec = &sampling}, context, &none);
}

AskTopology AskOf(const Session& session) {
  return [&session](const TopologyQuestions& questions, TopologyAnswers* answers) {
    CallContext context{.cancel = &session.cancel};
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

Status FindWalkChances(Session& session, const DrawRule& rule) {
  const TrainOptions& options = session.options;
  const GraphInfo& info = session.stores.graph->info();
  constexpr int64_t kBytes = 4;  // a node, and an edge
  HG_RETURN_IF_ERROR(
      CheckRoom(session, "the chances of all nodes and edges",
                kBytes * (info.schema.node_types[0].count + info.schema.relations[0].count)));
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
    CallContext context{.cancel = &session.cancel};
    return session.stores.graph->Sample(requests, context, minibatches);
  };
  HG_ASSIGN_OR_RETURN(session.tables.walks,
                      MakeWalkWeights(info.schema, wanted, AskOf(session), sample));
  TellOfWalks(session, *session.tables.walks);
  return OkStatus();
}

// What is left out of a minibatch is taken off numbers of edges, and of sums of weights it cannot
// be: nobody pulls the weights of edges that are not there.
Status FindWeightSums(Session& session) {
  const TrainOptions& options = session.options;
  const std::string what =
      fmt::format("--sampler {} and --edge-weight {}", options.sampler.name, options.edge_weight);
  if (session.task->predicts_outputs()) {
    return InvalidArgument(
        "{}: --model {} divides by sums of weights over all neighbours, and task '{}' leaves edges "
        "out of these; leave --edge-weight out, or give --sampler neighbor",
        what, options.model, session.task->name());
  }
  const int64_t bytes = 4 * session.stores.graph->info().schema.node_types[0].count;
  HG_RETURN_IF_ERROR(
      Annotate(CheckRoom(session, "sums of the edge weights of all nodes", bytes), what));
  HG_ASSIGN_OR_RETURN(
      session.tables.weight_sums,
      ReadWeightSums(session.stores.graph.get(), session.stores.rows.get(),
                     session.train_maker->recipe().edge_weights, {.cancel = &session.cancel}));
  return OkStatus();
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
  const DrawRule rule{.kind = recipe.sampling.kind()};
  const auto named = [&](const Status& status) {
    return Annotate(status, "--sampler " + options.sampler.name);
  };
  if (rule.graph_wise() && rule.kind != DrawKind::kCluster) {
    const GraphInfo& info = session.stores.graph->info();
    HG_RETURN_IF_ERROR(
        named(CheckSymmetric(info.schema, 0, info.book.num_parts(), AskOf(session))));
  }
  if (rule.by_all_degrees()) HG_RETURN_IF_ERROR(named(ReadDegrees(session, recipe.sampling)));
  if (rule.kind == DrawKind::kSaintWalk) {
    HG_RETURN_IF_ERROR(named(FindWalkChances(session, recipe.sampling.layers[0][0].rule)));
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
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  const int64_t steps = session.Shards(train).Steps(options.batch_size);
  if (options.bulk > steps) {
    spdlog::warn("--bulk {}: an epoch has {} steps, and so many are sampled together", options.bulk,
                 steps);
  }
  if (options.sampler.kind() != DrawKind::kCluster) return;
  const SubgraphPlace place = PlaceOf(session);
  const int64_t drawn = ClustersOfBatch(options.sampler.subgraph, place);
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
