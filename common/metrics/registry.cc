#include "common/metrics/registry.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "common/base/printable.h"
#include "common/metrics/found_series.h"

namespace halograph {
namespace {

std::vector<std::string> NamesOf(const Labels& labels) {
  std::vector<std::string> names;
  names.reserve(labels.size());
  for (const MetricLabel& label : labels) names.push_back(label.name);
  return names;
}

template <typename Metric>
constexpr MetricKind KindOf() {
  if (std::is_same_v<Metric, Counter>) return MetricKind::kCounter;
  return std::is_same_v<Metric, Gauge> ? MetricKind::kGauge : MetricKind::kHistogram;
}

Labels Join(const std::vector<std::string>& names, std::span<const std::string_view> values) {
  Labels labels;
  for (size_t i = 0; i < names.size(); ++i) labels.push_back({names[i], std::string(values[i])});
  return labels;
}

// Why a sample is left out; empty if it is not.
std::string_view WhyNot(const MetricSample& sample, size_t names, MetricKind kind) {
  if (sample.label_values.size() != names) return "it has not a value for each label";
  if (kind == MetricKind::kCounter && !(sample.value >= 0)) return "a counter is not negative";
  return "";
}

}  // namespace

void MetricReader::Stop() {
  if (source_ != nullptr) source_->End();
  source_ = nullptr;
}

std::vector<MetricSample> MetricReader::Source::Read() {
  const MutexLock lock(mutex_);
  return read_ == nullptr ? std::vector<MetricSample>() : read_();
}

void MetricReader::Source::End() {
  std::function<std::vector<MetricSample>()> ended;  // destroyed without the lock
  const MutexLock lock(mutex_);
  ended.swap(read_);
}

MetricRegistry::MetricRegistry(Labels const_labels) : const_labels_(std::move(const_labels)) {}

MetricRegistry::~MetricRegistry() = default;

Counter* MetricRegistry::AddCounter(const MetricInfo& info, const Labels& labels) {
  const MutexLock lock(mutex_);
  return SeriesOf<Counter>(FamilyOf(info, MetricKind::kCounter, {}, {}, labels), labels);
}

Gauge* MetricRegistry::AddGauge(const MetricInfo& info, const Labels& labels) {
  const MutexLock lock(mutex_);
  return SeriesOf<Gauge>(FamilyOf(info, MetricKind::kGauge, {}, {}, labels), labels);
}

Histogram* MetricRegistry::AddHistogram(const MetricInfo& info, std::span<const double> bounds,
                                        const Labels& labels) {
  const MutexLock lock(mutex_);
  return SeriesOf<Histogram>(FamilyOf(info, MetricKind::kHistogram, bounds, {}, labels), labels);
}

FoundCounters* MetricRegistry::AddFoundCounters(const MetricInfo& info,
                                                std::vector<std::string> label_names,
                                                const Labels& labels, size_t max_found) {
  return AddFound<Counter>(info, {}, std::move(label_names), labels, max_found);
}

FoundGauges* MetricRegistry::AddFoundGauges(const MetricInfo& info,
                                            std::vector<std::string> label_names,
                                            const Labels& labels, size_t max_found) {
  return AddFound<Gauge>(info, {}, std::move(label_names), labels, max_found);
}

FoundHistograms* MetricRegistry::AddFoundHistograms(const MetricInfo& info,
                                                    std::span<const double> bounds,
                                                    std::vector<std::string> label_names,
                                                    const Labels& labels, size_t max_found) {
  return AddFound<Histogram>(info, bounds, std::move(label_names), labels, max_found);
}

template <typename Metric>
FoundSeries<Metric>* MetricRegistry::AddFound(const MetricInfo& info,
                                              std::span<const double> bounds,
                                              std::vector<std::string> label_names,
                                              const Labels& labels, size_t max_found) {
  const MutexLock lock(mutex_);
  Family* const family = FamilyOf(info, KindOf<Metric>(), bounds, label_names, labels);
  auto found = std::shared_ptr<FoundSeries<Metric>>(
      new FoundSeries<Metric>(this, family, std::move(label_names), labels, max_found));
  found_.push_back(found);
  return found.get();
}

template <typename Metric>
Metric* FoundSeries<Metric>::Find(std::span<const std::string_view> values) {
  std::string key;
  for (const std::string_view value : values) key += fmt::format("{}:{}", value.size(), value);
  const MutexLock lock(mutex_);
  if (const auto known = found_.find(key); known != found_.end()) return known->second;
  if (values.size() == label_names_.size() && found_.size() < max_found_) {
    Labels labels = Join(label_names_, values);
    labels.insert(labels.end(), labels_.begin(), labels_.end());
    const MutexLock registry_lock(registry_->mutex_);
    return found_[key] = registry_->SeriesOf<Metric>(family_, labels);
  }
  if (other_ == nullptr) {
    const std::vector<std::string_view> others(label_names_.size(), kOtherLabel);
    Labels labels = Join(label_names_, others);
    labels.insert(labels.end(), labels_.begin(), labels_.end());
    const MutexLock registry_lock(registry_->mutex_);
    other_ = registry_->SeriesOf<Metric>(family_, labels);
  }
  return other_;
}

template <typename Metric>
std::vector<Metric*> FoundSeries<Metric>::Made() const {
  std::vector<Metric*> made;
  const MutexLock lock(mutex_);
  for (const auto& [key, metric] : found_) made.push_back(metric);
  if (other_ != nullptr) made.push_back(other_);
  return made;
}

template class FoundSeries<Counter>;
template class FoundSeries<Gauge>;
template class FoundSeries<Histogram>;

MetricReader MetricRegistry::ReadGauge(const MetricInfo& info, const Labels& labels,
                                       std::function<double()> read) {
  return AddReader(info, MetricKind::kGauge, {}, labels, [read = std::move(read)] {
    return std::vector<MetricSample>{{.label_values = {}, .value = read()}};
  });
}

MetricReader MetricRegistry::ReadCounter(const MetricInfo& info, const Labels& labels,
                                         std::function<double()> read) {
  return AddReader(info, MetricKind::kCounter, {}, labels, [read = std::move(read)] {
    return std::vector<MetricSample>{{.label_values = {}, .value = read()}};
  });
}

MetricReader MetricRegistry::ReadGauges(const MetricInfo& info,
                                        std::vector<std::string> label_names,
                                        std::function<std::vector<MetricSample>()> read) {
  return AddReader(info, MetricKind::kGauge, std::move(label_names), {}, std::move(read));
}

MetricReader MetricRegistry::ReadCounters(const MetricInfo& info,
                                          std::vector<std::string> label_names,
                                          std::function<std::vector<MetricSample>()> read) {
  return AddReader(info, MetricKind::kCounter, std::move(label_names), {}, std::move(read));
}

MetricReader MetricRegistry::AddReader(const MetricInfo& info, MetricKind kind,
                                       std::vector<std::string> label_names, const Labels& labels,
                                       std::function<std::vector<MetricSample>()> read) {
  auto source = std::make_shared<MetricReader::Source>(std::move(read));
  const MutexLock lock(mutex_);
  const Family* const family = FamilyOf(info, kind, {}, label_names, labels);
  std::erase_if(readers_, [](const Reading& reading) { return reading.source.use_count() == 1; });
  if (family->printed) readers_.push_back({family, source, std::move(label_names), labels, {}});
  return MetricReader(std::move(source));
}

Status MetricRegistry::status() const {
  const MutexLock lock(mutex_);
  if (errors_.empty()) return OkStatus();
  const std::string more = more_errors_ == 0 ? "" : fmt::format("; and {} more", more_errors_);
  return InvalidArgument("metrics that are declared wrong: {}{}", fmt::join(errors_, "; "), more);
}

void MetricRegistry::Complain(const Status& error) {
  if (errors_.size() < kMostErrors) {
    errors_.push_back(Message(error));
  } else {
    ++more_errors_;
  }
}

Status MetricRegistry::CheckFamily(const MetricInfo& info, MetricKind kind,
                                   std::span<const double> bounds,
                                   const std::vector<std::string>& label_names) const {
  HG_RETURN_IF_ERROR(CheckMetricInfo(info, kind));
  const std::string where = fmt::format("metric {}", info.name);
  if (const Status labels = CheckLabelNames(label_names); !labels.ok())
    return Annotate(labels, where);
  if (kind == MetricKind::kHistogram) {
    if (const Status good = Buckets::Check(bounds); !good.ok()) return Annotate(good, where);
  }
  const auto found = families_.find(info.name);
  if (found == families_.end()) return OkStatus();
  const Family& family = found->second;
  const auto other = [&](std::string_view what) {
    return InvalidArgument("metric {} is declared again with another {}", info.name, what);
  };
  if (family.kind != kind) return other("kind");
  if (family.info.unit != info.unit) return other("unit");
  if (family.info.help != info.help) return other("help");
  if (family.label_names != label_names) {
    return InvalidArgument("metric {} is declared with the labels [{}] and with [{}]", info.name,
                           fmt::join(family.label_names, ", "), fmt::join(label_names, ", "));
  }
  if (kind == MetricKind::kHistogram &&
      !std::equal(bounds.begin(), bounds.end(), family.buckets->bounds().begin(),
                  family.buckets->bounds().end())) {
    return other("list of bounds");
  }
  return OkStatus();
}

MetricRegistry::Family* MetricRegistry::FamilyOf(const MetricInfo& info, MetricKind kind,
                                                 std::span<const double> bounds,
                                                 std::vector<std::string> label_names,
                                                 const Labels& labels) {
  for (const Labels& more : {labels, const_labels_}) {
    for (std::string& name : NamesOf(more)) label_names.push_back(std::move(name));
  }
  std::sort(label_names.begin(), label_names.end());
  if (const Status good = CheckFamily(info, kind, bounds, label_names); !good.ok()) {
    Complain(good);
    return NotPrinted(info, kind, bounds);
  }
  const auto [place, is_new] = families_.try_emplace(info.name);
  Family& family = place->second;
  if (is_new) {
    family.info = info;
    family.kind = kind;
    family.label_names = std::move(label_names);
    if (kind == MetricKind::kHistogram)
      family.buckets = std::make_shared<Buckets>(bounds, info.unit);
  }
  return &family;
}

MetricRegistry::Family* MetricRegistry::NotPrinted(MetricInfo info, MetricKind kind,
                                                   std::span<const double> bounds) {
  auto family = std::make_unique<Family>();
  if (kind == MetricKind::kHistogram) {
    family->buckets = std::make_shared<Buckets>(
        Buckets::Check(bounds).ok() ? bounds : LatencyBounds(), info.unit);
  }
  family->info = std::move(info);
  family->kind = kind;
  family->printed = false;
  not_printed_.push_back(std::move(family));
  return not_printed_.back().get();
}

uint32_t MetricRegistry::Cells(const Family& family) {
  const bool histogram = family.kind == MetricKind::kHistogram;
  const size_t count = histogram ? 1 + family.buckets->size() : 1;
  if (const std::optional<uint32_t> slot = cells_.Allocate(count, histogram)) return *slot;
  Complain(ResourceExhausted("metric {}: this process has as many metrics as it may have",
                             family.info.name));
  return metric_cells::kSpillSlot;
}

Labels MetricRegistry::AllLabels(const Labels& labels) const {
  Labels all = labels;
  all.insert(all.end(), const_labels_.begin(), const_labels_.end());
  for (MetricLabel& label : all) label.value = Printable(label.value, kLabelValueBytes);
  std::sort(all.begin(), all.end());
  return all;
}

template <typename Metric>
Metric* MetricRegistry::SeriesOf(Family* family, const Labels& labels) {
  Labels all = AllLabels(labels);
  auto place = std::find_if(family->series.begin(), family->series.end(),
                            [&](const Series& series) { return series.labels == all; });
  if (place == family->series.end()) {
    Series series{.labels = std::move(all), .counter = {}, .gauge = {}, .histogram = {}};
    if constexpr (std::is_same_v<Metric, Counter>) {
      series.counter = std::make_unique<Counter>(Cells(*family), family->info.unit);
    } else if constexpr (std::is_same_v<Metric, Gauge>) {
      series.gauge = std::make_unique<Gauge>();
    } else {
      series.histogram = std::make_unique<Histogram>(Cells(*family), family->buckets);
    }
    place = family->series.insert(family->series.end(), std::move(series));
  }
  if constexpr (std::is_same_v<Metric, Counter>) {
    return place->counter.get();
  } else if constexpr (std::is_same_v<Metric, Gauge>) {
    return place->gauge.get();
  } else {
    return place->histogram.get();
  }
}

// Calls the callbacks, without the lock: they may take locks with which others declare metrics.
std::vector<MetricRegistry::Reading> MetricRegistry::ReadAll() const {
  std::vector<Reading> readings;
  {
    const MutexLock lock(mutex_);
    readings = readers_;
  }
  for (Reading& reading : readings) reading.samples = reading.source->Read();
  return readings;
}

void MetricRegistry::AddSamples(const Reading& reading, FamilySnapshot* family) const {
  std::set<Labels> there;
  for (const SeriesSnapshot& series : family->series) there.insert(series.labels);
  std::string_view left_out;
  size_t taken = 0;
  for (const MetricSample& sample : reading.samples) {
    std::string_view why = WhyNot(sample, reading.label_names.size(), family->kind);
    if (why.empty() && taken == kMostReadSeries) why = "there are too many";
    if (why.empty()) {
      Labels labels = reading.labels;
      for (size_t i = 0; i < reading.label_names.size(); ++i) {
        labels.push_back({reading.label_names[i], sample.label_values[i]});
      }
      labels = AllLabels(labels);
      if (there.insert(labels).second) {
        family->series.push_back(
            {.labels = std::move(labels), .value = sample.value, .histogram = {}});
        ++taken;
      } else {
        why = "another has its labels";
      }
    }
    if (!why.empty()) left_out = why;
  }
  if (!left_out.empty() && !std::exchange(reading.family->told, true)) {
    spdlog::warn("metric {}: a series is left out, since {}", family->name, left_out);
  }
}

MetricsSnapshot MetricRegistry::Take() const {
  const std::vector<Reading> readings = ReadAll();
  MetricsSnapshot snapshot;
  const MutexLock lock(mutex_);
  snapshot.taken = std::chrono::steady_clock::now();
  snapshot.seconds = std::chrono::duration<double>(snapshot.taken - start_).count();
  for (const auto& [name, family] : families_) {
    FamilySnapshot one{.name = name,
                       .kind = family.kind,
                       .unit = family.info.unit,
                       .help = family.info.help,
                       .series = {}};
    for (const Series& series : family.series) {
      SeriesSnapshot& taken = one.series.emplace_back();
      taken.labels = series.labels;
      if (series.counter != nullptr) taken.value = series.counter->Value();
      if (series.gauge != nullptr) taken.value = series.gauge->Value();
      if (series.histogram != nullptr) taken.histogram = series.histogram->Take();
    }
    for (const Reading& reading : readings) {
      if (reading.family == &family) AddSamples(reading, &one);
    }
    if (!one.series.empty()) snapshot.families.push_back(std::move(one));
  }
  return snapshot;
}

}  // namespace halograph
