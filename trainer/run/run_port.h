// What a process of a run shows its operators: the metrics of its ranks, and where it is, on an
// HTTP port (--http-listen) if it has one.
#pragma once

#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/http/http_server.h"
#include "common/metrics/registry.h"
#include "trainer/options/train_options.h"
#include "trainer/training/train_metrics.h"

namespace halograph {

class RunPort {
 public:
  // Listens from here to its end. `options`: of the process. Errors as HttpServer::Start.
  [[nodiscard]] static StatusOr<std::unique_ptr<RunPort>> Open(const TrainOptions& options);

  // Of rank `index` of this process.
  [[nodiscard]] const std::shared_ptr<TrainMetrics>& rank(int index) const {
    return ranks_[static_cast<size_t>(index)];
  }
  [[nodiscard]] const MetricRegistry& metrics() const { return *metrics_; }

 private:
  explicit RunPort(const TrainOptions& options);
  [[nodiscard]] Json StatusJson() const;

  const TrainOptions options_;
  const std::shared_ptr<MetricRegistry> metrics_;
  std::vector<std::shared_ptr<TrainMetrics>> ranks_;
  std::vector<MetricReader> readers_;
  std::unique_ptr<HttpServer> http_;  // last: it shows the above; null: there is no port
};

}  // namespace halograph
