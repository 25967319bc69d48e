// Holds the admin turn of a Store from here to the end of the block, if status() is OK; without
// limits it is. DeadlineExceeded or Cancelled by the limits: another call has the turn, or makes a
// snapshot of this name, if one is given.
#pragma once

#include "common/state/engine/store.h"

namespace halograph {

class Store::AdminTurn {
 public:
  explicit AdminTurn(Store& store, const WorkLimits& limits = {}, const std::string& snapshot = "")
      : store_(store) {
    const MonitorLock lock(*store_.monitor_);
    status_ = Patience(limits, store_.env_.scheduler()).Check();
    while (status_.ok() && (store_.admin_busy_ || store_.IsUnderWay(snapshot))) {
      status_ = store_.WaitForChange(limits, kForever);
    }
    if (!status_.ok()) {
      status_ =
          Annotate(status_, "waiting for another call that creates, drops, keeps or restores");
    }
    if (status_.ok()) store_.admin_busy_ = true;
  }
  ~AdminTurn() {
    if (!status_.ok()) return;
    const MonitorLock lock(*store_.monitor_);
    store_.admin_busy_ = false;
    store_.monitor_->NotifyAll();
  }
  AdminTurn(const AdminTurn&) = delete;
  AdminTurn& operator=(const AdminTurn&) = delete;

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Store& store_;
  Status status_;
};

}  // namespace halograph
