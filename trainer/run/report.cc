#include "trainer/run/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/build_info.h"
#include "common/metrics/json/metrics_json.h"
#include "trainer/kernels/product_kernel.h"
#include "trainer/launch/blas.h"
#include "trainer/run/prepare.h"

namespace halograph {
namespace {

// What goes into the model, per node type, beside the option `features` as it was given; of graphs
// of one type without a type's name, in its place. Of several features side by side, lists of names
// and dtypes.
void AddInputs(const std::vector<NodeInput>& inputs, Json* config) {
  const auto of_type = [&](int type) {
    Json names = Json::array(), dtypes = Json::array();
    int64_t dim = 0;
    for (const NodeInput& input : inputs) {
      if (input.node_type != type) continue;
      names.push_back(input.feature.name);
      dtypes.push_back(DTypeName(input.spec.dtype));
      dim += input.spec.dim;
    }
    const auto one_or_all = [](const Json& list) { return list.size() == 1 ? list[0] : list; };
    return Json{{"features", one_or_all(names)},
                {"feature_dim", dim},
                {"feature_dtype", one_or_all(dtypes)}};
  };
  if (inputs.empty()) return config->update(Json{{"features", Json::array()}, {"feature_dim", 0}});
  const bool one_type = inputs.front().node_type == inputs.back().node_type;
  if (one_type) return config->update(of_type(inputs.front().node_type));
  for (const char* key : {"features", "feature_dim", "feature_dtype"}) {
    Json& of_types = (*config)[std::string_view(key) == "features" ? "features_by_type" : key];
    of_types = Json::object();
    for (const NodeInput& input : inputs) {
      of_types[input.feature.type] = of_type(input.node_type)[key];
    }
  }
}

// What makes the products: of --precision bf16 a kernel of product_kernel.h, or libtorch's on a
// device; else float32.
std::string ProductKernelOf(const Session& session) {
  if (session.options.precision == Precision::kFloat32) return "float32";
  return session.device.is_cpu() ? std::string(ProductKernelInUse().name) : "libtorch";
}

bool EndsInWarmUp(const Session& session, const TrainResult& result) {
  int64_t steps = LengthOf(session).steps;
  // Steps of averaged parts are counted over all of them, rates over those of each.
  if (session.options.average_every == 0) steps = std::min(steps, result.steps);
  const int64_t warmup = session.options.control.warmup_steps;
  return warmup > 0 && steps <= warmup;
}

}  // namespace

Json ConfigLine(const Session& session, const std::vector<NodeInput>& features,
                const std::vector<LearntType>& learnt) {
  const GraphInfo& info = session.stores.graph->info();
  Json config = ToJson(session.options);
  config["task"] = session.task->name();
  config.update(session.task->Facts());
  AddInputs(features, &config);
  config["learnt_inputs"] = Json::object();
  for (const LearntType& type : learnt) {
    config["learnt_inputs"][info.schema.node_types[type.node_type].name] = type.dim;
  }
  config["build"] = BuildVersion();
  config["torch"] = TorchVersion();
  config["blas"] = FastBlasName();
  config["product_kernel"] = ProductKernelOf(session);
  const bool narrow = config["product_kernel"] != "float32";
  config["product_dtype"] = DTypeName(narrow ? DType::kBFloat16 : DType::kFloat32);
  config["graph_name"] = info.schema.graph_name;
  config["graph_identity"] = info.identity;
  config["sampling_contract"] = kSamplingContract;
  config["minibatches_at_once"] = session.sampler.minibatches;
  config["sampler_table_bytes"] = session.sampler.table_bytes;
  config["parts"] = info.book.num_parts();
  config["processes"] = session.seat.host == nullptr ? 1 : session.seat.host->num_processes();
  int64_t nodes = 0, edges = 0;
  for (const NodeType& type : info.schema.node_types) nodes += type.count;
  for (const Relation& relation : info.schema.relations) edges += relation.count;
  config["nodes"] = nodes;
  config["edges"] = edges;
  return Json{{"config", std::move(config)}};
}

RunSummary SummaryOf(const Session& session, const TrainResult& result) {
  const auto metric = [](const std::optional<SetFigures>& figures) {
    const bool known = figures.has_value() && !std::isnan(figures->metric);
    return known ? std::optional(figures->metric) : std::nullopt;
  };
  return {
      .epochs = session.options.epochs,
      .epochs_done = result.epochs,
      .stopped = result.stopped,
      .limit = result.ended_by == EndedBy::kEpochs || result.stopped ? "" : NameOf(result.ended_by),
      .best_epoch = result.best->epoch,
      .loss = result.best->figures[Figure::kLoss],
      .train = session.task->metric().comparable ? result.best->train_metric
                                                 : std::numeric_limits<double>::quiet_NaN(),
      .metric = session.task->metric().label,
      .share = session.task->metric().share,
      .higher_is_better = session.task->metric().higher_is_better,
      .valid = metric(result.best->valid),
      .test = metric(result.best->test),
      .earlier = result.ended_by == EndedBy::kEpochs ? result.earlier : std::nullopt,
      .most_frequent = std::nullopt,
      .train_seconds = result.train_seconds,
      .eval_seconds = result.eval_seconds,
      .sampled_edges = result.sampled_edges,
      .learning_rate = session.options.learning_rate,
      .warming_up = EndsInWarmUp(session, result),
      .weight_decay = session.options.weight_decay,
      .normalized = session.options.normalization != FeatureNormalization::kNone,
      .embed_weight_decay = session.learnt != nullptr
                                ? std::optional(session.options.embeddings.weight_decay)
                                : std::nullopt,
      .own_inputs_by = session.learnt != nullptr && session.train_maker->recipe().inputs.empty()
                           ? session.options.model_options->OffersOwnInputsBy()
                           : "",
      .unlike = std::nullopt};
}

Json FinalLine(const Session& session, const TrainResult& result, const RunSummary& summary) {
  Json line = {{"final", true},
               {"stopped", summary.stopped},
               {"ended_by", NameOf(result.ended_by)},
               {"best_epoch", summary.best_epoch},
               {"best_step", result.best->step},
               {"epochs", summary.epochs_done},
               {"steps", result.steps},
               {"loss", summary.loss},
               {"seconds", summary.train_seconds},
               {"eval_s", summary.eval_seconds},
               {"total_s", summary.total_seconds},
               {"sampled_edges", std::llround(summary.sampled_edges)},
               {"most_frequent_class", nullptr},
               {"advice", Advice(summary)},
               {"metrics", MetricsJson(session.metrics->registry()->Take())}};
  if (summary.most_frequent.has_value()) line["most_frequent_class"] = *summary.most_frequent;
  const Json best = ToJson(*result.best, session.task->metric().key);
  for (const auto& [key, value] : best.items()) {
    if (key.starts_with("valid_") || key.starts_with("test_")) line[key] = value;
  }
  return line;
}

}  // namespace halograph
