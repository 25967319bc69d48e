// Values that are kept elsewhere and read when a snapshot is taken (MetricRegistry::ReadGauge).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

// One series of many that are read at once.
struct MetricSample {
  std::vector<std::string> label_values;
  double value = 0;
};

// While it lives, its values are read. Its end waits for a reading that is under way; after it none
// begins, so what is read may end. It may outlive the registry. Moving it is not thread-safe.
class [[nodiscard]] MetricReader {
 public:
  MetricReader() = default;  // reads nothing
  ~MetricReader() { Stop(); }
  MetricReader(MetricReader&&) noexcept = default;
  MetricReader& operator=(MetricReader&& other) noexcept {
    if (this != &other) {
      Stop();
      source_ = std::move(other.source_);
    }
    return *this;
  }

  // Ends it early.
  void Stop();

 private:
  friend class MetricRegistry;

  class Source {
   public:
    explicit Source(std::function<std::vector<MetricSample>()> read) : read_(std::move(read)) {}
    // Nothing once it has ended.
    std::vector<MetricSample> Read();
    void End();

   private:
    Mutex mutex_;  // held while it reads
    std::function<std::vector<MetricSample>()> read_ HG_GUARDED_BY(mutex_);
  };

  explicit MetricReader(std::shared_ptr<Source> source) : source_(std::move(source)) {}

  std::shared_ptr<Source> source_;
};

}  // namespace halograph
