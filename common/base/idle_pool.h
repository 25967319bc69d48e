// Objects whose memory is used again: as many as are in use at once, made when first needed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

// Thread-safe. Outlives what it lends.
template <typename T>
class IdlePool {
 public:
  // One that nobody uses now, as its last user left it; or a new one.
  [[nodiscard]] std::shared_ptr<T> Take() {
    std::unique_ptr<T> object = TakeIdle();
    if (object == nullptr) object = std::make_unique<T>();
    return {object.release(), [this](T* used) { Give(std::unique_ptr<T>(used)); }};
  }

 private:
  [[nodiscard]] std::unique_ptr<T> TakeIdle() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(idle_.back());
    idle_.pop_back();
    return object;
  }
  void Give(std::unique_ptr<T> object) {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(object));
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
