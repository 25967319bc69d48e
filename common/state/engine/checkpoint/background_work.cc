#include "common/state/engine/checkpoint/background_work.h"

#include <utility>

namespace halograph {

BackgroundWork::BackgroundWork(std::string_view name, Scheduler& scheduler,
                               std::function<void()> work)
    : work_(std::move(work)), monitor_(scheduler.NewMonitor()) {
  thread_ = scheduler.Start(name, [this] { Loop(); });
}

BackgroundWork::~BackgroundWork() {
  {
    const MonitorLock lock(*monitor_);
    stopping_ = true;
    monitor_->NotifyAll();
  }
  thread_.reset();
}

void BackgroundWork::Want() {
  const MonitorLock lock(*monitor_);
  wanted_ = true;
  monitor_->NotifyAll();
}

void BackgroundWork::Loop() {
  while (true) {
    {
      const MonitorLock lock(*monitor_);
      while (!wanted_ && !stopping_) monitor_->Wait(kForever);
      if (stopping_) return;
      wanted_ = false;
    }
    work_();
  }
}

}  // namespace halograph
