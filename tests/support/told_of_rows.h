// Keeps what a store tells of the rows that it pulls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "client/pulled_rows.h"
#include "common/base/mutex.h"

namespace halograph {

// Thread-safe.
class ToldOfRows final : public PulledRows {
 public:
  void Add(const TensorRef& tensor, PulledFrom from, int64_t rows, int64_t bytes) override {
    const MutexLock lock(mutex_);
    auto& sums = told_[{tensor.ToString(), from}];
    sums.first += rows;
    sums.second += bytes;
  }

  // Rows and bytes, wherever they came from.
  [[nodiscard]] std::pair<int64_t, int64_t> of(const TensorRef& tensor) const {
    const MutexLock lock(mutex_);
    std::pair<int64_t, int64_t> sums;
    for (const auto& [key, told] : told_) {
      if (key.first != tensor.ToString()) continue;
      sums.first += told.first;
      sums.second += told.second;
    }
    return sums;
  }
  [[nodiscard]] int64_t bytes(PulledFrom from) const {
    const MutexLock lock(mutex_);
    int64_t bytes = 0;
    for (const auto& [key, told] : told_) bytes += key.second == from ? told.second : 0;
    return bytes;
  }

 private:
  mutable Mutex mutex_;
  // By tensor and where they came from.
  std::map<std::pair<std::string, PulledFrom>, std::pair<int64_t, int64_t>> told_
      HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
