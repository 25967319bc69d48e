#include "trainer/training/train_result.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace halograph {

Json ToJson(const EpochStats& stats, std::string_view metric) {
  Json json = stats.figures.ToJson();
  json["epoch"] = stats.epoch;
  json["step"] = stats.step;
  json[fmt::format("train_{}", metric)] = stats.train_metric;
  for (const MetricValue& more : stats.train_more) {
    json[fmt::format("train_{}", more.key)] = more.value;
  }
  for (const auto& [set, figures] : {std::pair{"valid", &stats.valid}, {"test", &stats.test}}) {
    const bool known = figures->has_value();
    json[fmt::format("{}_{}", set, metric)] = known ? Json((*figures)->metric) : Json();
    json[fmt::format("{}_loss", set)] = known ? Json((*figures)->loss) : Json();
    for (size_t i = 0; i < stats.train_more.size(); ++i) {
      json[fmt::format("{}_{}", set, stats.train_more[i].key)] =
          known ? Json((*figures)->more[i].value) : Json();
    }
  }
  return json;
}

std::string_view NameOf(EndedBy rule) {
  switch (rule) {
    case EndedBy::kEpochs:
      return "epochs";
    case EndedBy::kMaxSteps:
      return "max-steps";
    case EndedBy::kTimeLimit:
      return "time-limit";
    case EndedBy::kPatience:
      return "patience";
    case EndedBy::kSignal:
      return "signal";
  }
  return "";
}

bool TakeIfBest(const EpochStats& stats, bool higher_is_better, int64_t epochs,
                TrainResult* result) {
  const auto metric_of = [](const std::optional<SetFigures>& figures) {
    return figures.has_value() ? figures->metric : std::nan("");
  };
  const double metric = metric_of(stats.valid);
  const double best = result->best.has_value() ? metric_of(result->best->valid) : std::nan("");
  const bool better = std::isnan(best) || (higher_is_better ? metric > best : metric < best);
  if (!better) return false;
  result->best = stats;
  if (!std::isnan(metric) && 4 * (stats.epoch + 1) <= 3 * epochs) result->earlier = metric;
  return true;
}

}  // namespace halograph
