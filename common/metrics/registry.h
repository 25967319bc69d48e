// The metrics of one program or one server: declared here, counted by handles, read as a snapshot.
//
//   MetricRegistry metrics;
//   Counter* const rows = metrics.AddCounter({"halograph_pull_rows_total", MetricUnit::kNone, "Rows
//   sent"},
//                                            {{"tensor", "node/feat"}});
//   rows->Add(512);
//   metrics.Take().Value("halograph_pull_rows_total");  // 512
//
// Everything is thread-safe. Handles (Counter*, Gauge*, Histogram*, Found...*) belong to the
// registry and live as long as it does. A metric exists, at 0, from its declaration on.
//
// Several declarations of one name are series of one family: kind, unit, help, names of labels and
// bounds are the same. Who declares the same labels again gets the same handle.
//
// A declaration that is wrong (metric_info.h, buckets.h, or another one of that name) stops
// nothing: the handle works, its metric is in no snapshot, and status() tells, which a program
// looks at when it has declared all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/metrics/cells.h"
#include "common/metrics/metric_info.h"
#include "common/metrics/metrics.h"
#include "common/metrics/reader.h"
#include "common/metrics/snapshot.h"

namespace halograph {

template <typename Metric>
class FoundSeries;
using FoundCounters = FoundSeries<Counter>;
using FoundGauges = FoundSeries<Gauge>;
using FoundHistograms = FoundSeries<Histogram>;

// Series that a family of found labels has at most, and those that one reading may give.
inline constexpr size_t kMostFound = 64;
inline constexpr size_t kMostReadSeries = 4096;

class MetricRegistry {
 public:
  // `const_labels` are on every series: MetricRegistry metrics(Labels{{"rank", "0"}});
  explicit MetricRegistry(Labels const_labels = {});
  // Nobody may use a handle from here on. A MetricReader may live longer.
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  [[nodiscard]] Counter* AddCounter(const MetricInfo& info, const Labels& labels = {});
  [[nodiscard]] Gauge* AddGauge(const MetricInfo& info, const Labels& labels = {});
  // `bounds`: LatencyBounds(), SizeBounds(), or others (buckets.h).
  [[nodiscard]] Histogram* AddHistogram(const MetricInfo& info, std::span<const double> bounds,
                                        const Labels& labels = {});

  // Series whose label values are found while the program runs (found_series.h). `label_names` are
  // those that Of gives values for, in this order; `labels` are on every series. After `max_found`
  // series one more with the value "other" stands for all others.
  [[nodiscard]] FoundCounters* AddFoundCounters(const MetricInfo& info,
                                                std::vector<std::string> label_names,
                                                const Labels& labels = {},
                                                size_t max_found = kMostFound);
  [[nodiscard]] FoundGauges* AddFoundGauges(const MetricInfo& info,
                                            std::vector<std::string> label_names,
                                            const Labels& labels = {},
                                            size_t max_found = kMostFound);
  [[nodiscard]] FoundHistograms* AddFoundHistograms(const MetricInfo& info,
                                                    std::span<const double> bounds,
                                                    std::vector<std::string> label_names,
                                                    const Labels& labels = {},
                                                    size_t max_found = kMostFound);

  // What is kept elsewhere: `read` is called at each Take, in its thread and without a lock of the
  // registry, one call at a time, until the handle ends; ending it waits for a call that is under
  // way. `read` answers at once, does not throw, and neither takes a snapshot nor ends its own
  // handle. A counter's value that is negative or no number is left out.
  [[nodiscard]] MetricReader ReadGauge(const MetricInfo& info, const Labels& labels,
                                       std::function<double()> read);
  [[nodiscard]] MetricReader ReadCounter(const MetricInfo& info, const Labels& labels,
                                         std::function<double()> read);
  // The same of many series at once, which may be others each time (parts, tensors): a sample has a
  // value for each of `label_names`. A sample with other than that many, one with the labels of
  // another, and those after the first kMostReadSeries are left out; the log tells once a family.
  [[nodiscard]] MetricReader ReadGauges(const MetricInfo& info,
                                        std::vector<std::string> label_names,
                                        std::function<std::vector<MetricSample>()> read);
  [[nodiscard]] MetricReader ReadCounters(const MetricInfo& info,
                                          std::vector<std::string> label_names,
                                          std::function<std::vector<MetricSample>()> read);

  // What is wrong with declarations so far: InvalidArgument that names each (the first
  // kMostErrors).
  [[nodiscard]] Status status() const;

  // All that has series now, by name; a family's series in the order of their declaration, then
  // those that are read elsewhere.
  [[nodiscard]] MetricsSnapshot Take() const;

 private:
  template <typename Metric>
  friend class FoundSeries;

  static constexpr size_t kMostErrors = 16;

  // A metric and its labels (with the constant ones, by name). One of the three is there.
  struct Series {
    Labels labels;
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    MetricInfo info;
    MetricKind kind = MetricKind::kCounter;
    std::vector<std::string> label_names;    // ascending
    std::shared_ptr<const Buckets> buckets;  // of histograms
    bool printed = true;                     // false: its declaration is wrong
    std::vector<Series> series;
    mutable bool told = false;  // that samples were left out
  };
  // One callback, or what it gave.
  struct Reading {
    const Family* family = nullptr;
    std::shared_ptr<MetricReader::Source> source;
    std::vector<std::string> label_names;
    Labels labels;
    std::vector<MetricSample> samples;
  };

  // The family of that name; one that is not printed if the declaration is wrong.
  Family* FamilyOf(const MetricInfo& info, MetricKind kind, std::span<const double> bounds,
                   std::vector<std::string> label_names, const Labels& labels) HG_REQUIRES(mutex_);
  Status CheckFamily(const MetricInfo& info, MetricKind kind, std::span<const double> bounds,
                     const std::vector<std::string>& label_names) const HG_REQUIRES(mutex_);
  Family* NotPrinted(MetricInfo info, MetricKind kind, std::span<const double> bounds)
      HG_REQUIRES(mutex_);
  void Complain(const Status& error) HG_REQUIRES(mutex_);

  template <typename Metric>
  Metric* SeriesOf(Family* family, const Labels& labels) HG_REQUIRES(mutex_);
  uint32_t Cells(const Family& family) HG_REQUIRES(mutex_);
  Labels AllLabels(const Labels& labels) const;

  template <typename Metric>
  FoundSeries<Metric>* AddFound(const MetricInfo& info, std::span<const double> bounds,
                                std::vector<std::string> label_names, const Labels& labels,
                                size_t max_found);
  MetricReader AddReader(const MetricInfo& info, MetricKind kind,
                         std::vector<std::string> label_names, const Labels& labels,
                         std::function<std::vector<MetricSample>()> read);
  std::vector<Reading> ReadAll() const HG_EXCLUDES(mutex_);
  void AddSamples(const Reading& reading, FamilySnapshot* family) const HG_REQUIRES(mutex_);

  const Labels const_labels_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable Mutex mutex_;
  metric_cells::CellSpace cells_ HG_GUARDED_BY(mutex_);
  std::map<std::string, Family, std::less<>> families_ HG_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Family>> not_printed_ HG_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<void>> found_ HG_GUARDED_BY(mutex_);
  mutable std::vector<Reading> readers_ HG_GUARDED_BY(mutex_);  // some may have ended
  std::vector<std::string> errors_ HG_GUARDED_BY(mutex_);
  int64_t more_errors_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph
