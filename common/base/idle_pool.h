// Objects whose memory is used again: as many as are in use at once, made when first needed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

// Thread-safe.
template <typename T>
class IdlePool {
 public:
  // One that nobody uses now, as its last user left it; or a new one. Who has it gives it back.
  [[nodiscard]] std::shared_ptr<T> Take() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return std::make_shared<T>();
    std::shared_ptr<T> object = std::move(idle_.back());
    idle_.pop_back();
    return object;
  }
  void Give(std::shared_ptr<T> object) {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(object));
  }

  // One for a block of code, at whose end it is given back. The pool outlives it.
  class Lease {
   public:
    explicit Lease(IdlePool* pool) : pool_(pool), object_(pool->Take()) {}
    ~Lease() { pool_->Give(std::move(object_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] T* get() const { return object_.get(); }

   private:
    IdlePool* const pool_;
    std::shared_ptr<T> object_;
  };

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<T>> idle_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
