#include "trainer/run/feature_scales.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "trainer/distributed/wait_together.h"
#include "trainer/launch/infer_options.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/column_statistics.h"
#include "trainer/seeds/train_nodes.h"

namespace halograph {
namespace {

constexpr char kWaiting[] = "waiting for rank 0 to compute means and deviations of features";

StatusOr<FeatureScales> OfGraph(const Session& session, const std::vector<NodeInput>& inputs,
                                const CancelToken& cancel) {
  const Schema& schema = session.stores.graph->info().schema;
  std::vector<bool> wanted(schema.node_types.size());
  for (const NodeInput& input : inputs) wanted[input.node_type] = true;
  HG_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> nodes,
                      NodesOfTrainSet(session.stores, session.task->name(), wanted, &cancel));
  const uint64_t key = TrainerKey(session.options.seed, TrainerStream::kFeatureScales, 0, 0);
  FeatureScales scales;
  for (const NodeInput& input : inputs) {
    std::vector<int64_t>& of_type = nodes[input.node_type];
    if (of_type.empty()) {
      of_type = DrawNodes(schema.node_types[input.node_type].count, kMostDrawnNodes,
                          SubKey(key, static_cast<uint64_t>(input.node_type)));
    }
    CallContext context{.cancel = &cancel};
    auto columns =
        ReadColumnScales(*session.stores.rows, input.feature, input.spec, of_type, context);
    if (!columns.ok()) return Annotate(columns.status(), "--normalize-features standard");
    scales[input.feature.type][input.feature.name] = *std::move(columns);
  }
  return scales;
}

StatusOr<FeatureScales> OfCheckpoint(const std::string& checkpoint,
                                     const std::vector<NodeInput>& inputs) {
  HG_ASSIGN_OR_RETURN(const TrainedAs trained, ReadTrainedAs(checkpoint));
  HG_ASSIGN_OR_RETURN(FeatureScales kept,
                      FeatureScalesFromJson(trained.feature_scales, checkpoint));
  for (const NodeInput& input : inputs) {
    const auto& [edge, type, name] = input.feature;
    const int64_t columns = kept[type][name].columns();
    if (columns == input.spec.dim) continue;
    return FailedPrecondition(
        "{}: the checkpoint has means and deviations of {} columns of feature '{}' of node type "
        "'{}', which has {} here: give the features that the run was given",
        checkpoint, columns, name, type, input.spec.dim);
  }
  return kept;
}

// Rank 0's on all ranks, which have the same inputs.
Status Share(const Session& session, const std::vector<NodeInput>& inputs, FeatureScales* scales) {
  for (const NodeInput& input : inputs) {
    ColumnScales& columns = (*scales)[input.feature.type][input.feature.name];
    for (std::vector<double>* const values : {&columns.mean, &columns.deviation}) {
      values->resize(static_cast<size_t>(input.spec.dim));
      if (values->empty()) continue;
      HG_RETURN_IF_ERROR(session.ranks->Broadcast(
          torch::from_blob(values->data(), {input.spec.dim}, torch::kFloat64),
          "sharing means and deviations of features"));
    }
  }
  return OkStatus();
}

// Rows of the training set that tell how columns differ: so few that a feature of zeros and ones
// cannot differ by much more than ten times.
constexpr int64_t kComparedRows = 1000;
// A run that has come to its end does not wait long for servers to tell.
constexpr std::chrono::seconds kComparedWithin(5);

StatusOr<StepSeeds> SomeTrainingSeeds(const Session& session) {
  const SeedSource& source = *session.task->source(BatchPurpose::kTrain);
  const IdRange own = session.Shards(source).of_rank[session.options.rank];
  const int64_t count = std::min(own.size(), kComparedRows);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(own.begin + i * own.size() / count);
  StepSeeds seeds;
  if (count > 0) HG_RETURN_IF_ERROR(source.Collect(rows, 0, &seeds));
  return seeds;
}

// Of one node type, over all its inputs.
StatusOr<UnlikeColumns> Compare(Session& session, const std::vector<NodeInput>& inputs,
                                const StepSeeds::List& nodes) {
  UnlikeColumns found;
  double least = 0, most = 0;
  for (const NodeInput& input : inputs) {
    if (input.node_type != nodes.type) continue;
    CallContext context{.cancel = &session.cancel,
                        .deadline = std::chrono::steady_clock::now() + kComparedWithin};
    HG_ASSIGN_OR_RETURN(
        const ColumnScales scales,
        ReadColumnScales(*session.stores.rows, input.feature, input.spec, nodes.ids, context));
    for (size_t column = 0; column < scales.deviation.size(); ++column) {
      const double deviation = scales.deviation[column];
      if (deviation == 0) continue;
      const auto name = [&] { return fmt::format("{} of '{}'", column, input.feature.name); };
      if (least == 0 || deviation < least) {
        least = deviation;
        found.narrow = name();
      }
      if (deviation > most) {
        most = deviation;
        found.wide = name();
      }
    }
  }
  found.ratio = least > 0 ? most / least : 1;
  return found;
}

}  // namespace

Status FindFeatureScales(Session& session, const std::vector<NodeInput>& inputs,
                         const std::string& checkpoint) {
  if (session.options.normalization != FeatureNormalization::kStandard) return OkStatus();
  FeatureScales scales;
  const RankWork find = [&](const CancelToken& cancel) -> Status {
    HG_ASSIGN_OR_RETURN(scales, checkpoint.empty() ? OfGraph(session, inputs, cancel)
                                                   : OfCheckpoint(checkpoint, inputs));
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(WorkTogether(*session.ranks, &session.cancel,
                                  session.options.rank == 0 ? find : nullptr, kWaiting));
  HG_RETURN_IF_ERROR(Share(session, inputs, &scales));
  session.feature_scales = std::move(scales);
  return OkStatus();
}

void TakeFeatureScales(const FeatureScales& scales, std::vector<NodeInput>* inputs) {
  for (NodeInput& input : *inputs) {
    const auto type = scales.find(input.feature.type);
    if (type == scales.end()) continue;
    const auto columns = type->second.find(input.feature.name);
    if (columns == type->second.end()) continue;
    input.standardizer = std::make_shared<const Standardizer>(columns->second);
  }
}

std::optional<UnlikeColumns> FindUnlikeColumns(Session& session,
                                               const std::vector<NodeInput>& inputs) {
  const bool standard = session.options.normalization == FeatureNormalization::kStandard;
  if (standard || inputs.empty()) return std::nullopt;
  std::optional<UnlikeColumns> worst;
  const auto seeds = SomeTrainingSeeds(session);
  if (!seeds.ok()) return std::nullopt;
  for (const StepSeeds::List& nodes : seeds->seeds) {
    auto compared = Compare(session, inputs, nodes);
    if (!compared.ok()) return std::nullopt;
    if (!worst.has_value() || compared->ratio > worst->ratio) worst = *std::move(compared);
  }
  return worst;
}

}  // namespace halograph
