#include "trainer/checkpoint/progress.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halograph {
namespace {

// JSON has no NaN: it is null there.
StatusOr<double> GetDouble(const Json& object, const char* key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end()) return DataLoss("{}: field '{}' is missing", where, key);
  if (found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!found->is_number()) return DataLoss("{}: field '{}' is no number", where, key);
  return found->get<double>();
}

Json MoreToJson(const std::vector<MetricValue>& more) {
  Json values = Json::object();
  for (const MetricValue& metric : more) values[std::string(metric.key)] = metric.value;
  return values;
}

StatusOr<std::vector<MetricValue>> MoreFromJson(const Json& json, const TrainingTask& task,
                                                std::string_view where) {
  const std::vector<double> zeros(task.metric().sums, 0);
  std::vector<MetricValue> more = task.MoreMetrics(zeros);  // for its keys
  for (MetricValue& metric : more) {
    HG_ASSIGN_OR_RETURN(metric.value, GetDouble(json, std::string(metric.key).c_str(), where));
  }
  return more;
}

Json SetToJson(const std::optional<SetFigures>& set) {
  if (!set.has_value()) return {};
  return Json{{"metric", set->metric}, {"loss", set->loss}, {"more", MoreToJson(set->more)}};
}

StatusOr<std::optional<SetFigures>> SetFromJson(const Json& json, const char* key,
                                                const TrainingTask& task, std::string_view where) {
  if (!json.contains(key) || json[key].is_null()) return std::optional<SetFigures>();
  HG_ASSIGN_OR_RETURN(const Json set, GetObject(json, key, where));
  SetFigures figures;
  HG_ASSIGN_OR_RETURN(figures.metric, GetDouble(set, "metric", where));
  HG_ASSIGN_OR_RETURN(figures.loss, GetDouble(set, "loss", where));
  HG_ASSIGN_OR_RETURN(const Json more, GetObject(set, "more", where));
  HG_ASSIGN_OR_RETURN(figures.more, MoreFromJson(more, task, where));
  return std::optional(std::move(figures));
}

StatusOr<EpochStats> BestFromJson(const Json& json, const TrainingTask& task,
                                  std::string_view where) {
  EpochStats best;
  HG_ASSIGN_OR_RETURN(best.epoch, GetInt(json, "epoch", where));
  HG_ASSIGN_OR_RETURN(best.step, GetInt(json, "step", where));
  HG_ASSIGN_OR_RETURN(best.figures[Figure::kLoss], GetDouble(json, "loss", where));
  HG_ASSIGN_OR_RETURN(best.train_metric, GetDouble(json, "train_metric", where));
  HG_ASSIGN_OR_RETURN(const Json more, GetObject(json, "train_more", where));
  HG_ASSIGN_OR_RETURN(best.train_more, MoreFromJson(more, task, where));
  HG_ASSIGN_OR_RETURN(best.valid, SetFromJson(json, "valid", task, where));
  HG_ASSIGN_OR_RETURN(best.test, SetFromJson(json, "test", task, where));
  return best;
}

Json ThreadsToJson(const ThreadSplit& split) {
  return Json{{"compute", split.compute}, {"sample", split.sample}, {"gather", split.gather}};
}

StatusOr<ThreadSplit> ThreadsFromJson(const Json& json, std::string_view where) {
  constexpr int64_t kMost = 1 << 16;
  ThreadSplit split;
  for (const auto& [key, threads] : {std::pair{"compute", &split.compute},
                                     {"sample", &split.sample},
                                     {"gather", &split.gather}}) {
    HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(json, key, where));
    if (number < 1 || number > kMost) {
      return DataLoss("{}: {} threads to {}, expected 1 to {}", where, number, key, kMost);
    }
    *threads = static_cast<int>(number);
  }
  return split;
}

}  // namespace

Json ProgressToJson(const TrainResult& result) {
  Json json = {{"train_seconds", result.train_seconds},
               {"eval_seconds", result.eval_seconds},
               {"sampled_edges", result.sampled_edges}};
  json["evaluated"] = result.evaluated;
  json["without_gain"] = result.gains.without_gain;
  if (result.gains.best.has_value()) json["last_gain"] = *result.gains.best;
  if (result.earlier.has_value()) json["earlier"] = *result.earlier;
  if (result.threads.has_value()) json["threads"] = ThreadsToJson(*result.threads);
  if (!result.best.has_value()) return json;
  const EpochStats& best = *result.best;
  json["best"] = Json{{"epoch", best.epoch},
                      {"step", best.step},
                      {"loss", best.figures[Figure::kLoss]},
                      {"train_metric", best.train_metric},
                      {"train_more", MoreToJson(best.train_more)},
                      {"valid", SetToJson(best.valid)},
                      {"test", SetToJson(best.test)}};
  return json;
}

StatusOr<TrainResult> ProgressFromJson(const Json& json, int64_t epochs, const TrainingTask& task,
                                       std::string_view where) {
  TrainResult result;
  result.epochs = epochs;
  HG_ASSIGN_OR_RETURN(result.train_seconds, GetDouble(json, "train_seconds", where));
  HG_ASSIGN_OR_RETURN(result.eval_seconds, GetDouble(json, "eval_seconds", where));
  HG_ASSIGN_OR_RETURN(result.sampled_edges, GetDouble(json, "sampled_edges", where));
  HG_ASSIGN_OR_RETURN(result.evaluated, GetInt(json, "evaluated", where));
  HG_ASSIGN_OR_RETURN(result.gains.without_gain, GetInt(json, "without_gain", where));
  if (json.contains("last_gain")) {
    HG_ASSIGN_OR_RETURN(result.gains.best, GetDouble(json, "last_gain", where));
  }
  if (json.contains("earlier")) {
    HG_ASSIGN_OR_RETURN(result.earlier, GetDouble(json, "earlier", where));
  }
  if (json.contains("threads")) {
    HG_ASSIGN_OR_RETURN(const Json threads, GetObject(json, "threads", where));
    HG_ASSIGN_OR_RETURN(result.threads, ThreadsFromJson(threads, where));
  }
  if (!json.contains("best")) return result;
  HG_ASSIGN_OR_RETURN(const Json best, GetObject(json, "best", where));
  HG_ASSIGN_OR_RETURN(result.best, BestFromJson(best, task, where));
  return result;
}

}  // namespace halograph
