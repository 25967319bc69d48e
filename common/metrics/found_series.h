// A family whose label values are found while the program runs: tensors, relations, statuses,
// servers.
//
//   FoundCounters* const rows = metrics.AddFoundCounters(info, {"tensor"});
//   Counter* const of_tensor = rows->Of("node/feat");  // once; to be kept
//   of_tensor->Add(512);
//
// Thread-safe. A registry makes, owns and outlives it (registry.h).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/mutex.h"
#include "common/metrics/registry.h"

namespace halograph {

template <typename Metric>
class FoundSeries {
 public:
  // The series with these values, one for each name that was declared; made if it is new. Where
  // there are `max_found` already, or too few or too many values, the one in which each is "other".
  // Looks values up with a lock, 0.2 us: keep the handle where much is counted.
  [[nodiscard]] Metric* Of(std::convertible_to<std::string_view> auto const&... values) {
    return Find(std::array<std::string_view, sizeof...(values)>{std::string_view(values)...});
  }
  [[nodiscard]] Metric* Find(std::span<const std::string_view> values);
  // Those that were made so far, "other" too, in no order.
  [[nodiscard]] std::vector<Metric*> Made() const;

 private:
  friend class MetricRegistry;

  FoundSeries(MetricRegistry* registry, MetricRegistry::Family* family,
              std::vector<std::string> label_names, Labels labels, size_t max_found)
      : registry_(registry),
        family_(family),
        label_names_(std::move(label_names)),
        labels_(std::move(labels)),
        max_found_(max_found) {}

  MetricRegistry* const registry_;
  MetricRegistry::Family* const family_;
  const std::vector<std::string> label_names_;
  const Labels labels_;
  const size_t max_found_;
  mutable Mutex mutex_;
  // By the values, each with its length before it.
  std::unordered_map<std::string, Metric*> found_ HG_GUARDED_BY(mutex_);
  Metric* other_ HG_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace halograph
