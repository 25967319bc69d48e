#include "tests/simulation/sim_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include <semaphore.h>

namespace halograph::sim {
namespace {

constexpr size_t kKeptCalls = 48;

class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  void Post() { sem_post(&semaphore_); }
  void Wait() {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_;
};

}  // namespace

struct SimScheduler::Thread {
  Thread(std::string_view name_, int process_, std::function<void()> body_)
      : name(name_), process(process_), body(std::move(body_)) {}

  const std::string name;
  const int process;
  std::function<void()> body;
  std::thread real;
  Semaphore turn;
  bool done = false;
  bool waiting = false;  // for `ready` or `until_ns`
  const char* what = "";
  int64_t until_ns = kForever;
  std::function<bool()> ready;
};

struct SimScheduler::Outside {
  Semaphore turn;
};

namespace {
thread_local const void* this_thread = nullptr;
}  // namespace

class SimScheduler::Running : public RunningThread {
 public:
  Running(SimScheduler* scheduler, Thread* thread) : scheduler_(scheduler), thread_(thread) {}
  ~Running() override {
    if (!thread_->done) {
      scheduler_->WaitUntil("join", kForever, [thread = thread_] { return thread->done; });
    }
  }

 private:
  SimScheduler* scheduler_;
  Thread* thread_;
};

SimScheduler::SimScheduler(uint64_t seed, const SchedulerOptions& options)
    : options_(options), random_(seed), outside_(std::make_unique<Outside>()) {
  constexpr double kChances[] = {0.02, 0.1, 0.3, 0.7};
  switch_chance_ = kChances[random_.Below(4)];
}

SimScheduler::~SimScheduler() {
  for (auto& thread : threads_) {
    if (thread->real.joinable()) thread->real.join();
  }
}

std::string SimScheduler::Run(std::function<void()> body) {
  Enter(threads_.emplace_back(std::make_unique<Thread>("main", 0, std::move(body))).get());
  current_ = threads_.front().get();
  current_->turn.Post();
  outside_->turn.Wait();
  if (!stopped_.empty()) {
    for (auto& thread : threads_) {
      if (thread->real.joinable()) thread->real.detach();
    }
  }
  return stopped_;
}

void SimScheduler::Stop(const std::string& why) {
  stopped_ = why + "\n" + WhoWaits() + "last calls:\n" + LastCalls();
  outside_->turn.Post();
  Semaphore never;
  for (;;) never.Wait();
}

// Starts the real thread, which waits for its turn.
void SimScheduler::Enter(Thread* thread) {
  thread->real = std::thread([this, thread] {
    thread->turn.Wait();
    this_thread = thread;
    thread->body();
    thread->body = nullptr;
    thread->done = true;
    if (Thread* next = PickNext(); next != nullptr) {
      current_ = next;
      next->turn.Post();
    } else {
      outside_->turn.Post();
    }
  });
}

std::unique_ptr<RunningThread> SimScheduler::Start(std::string_view name, int process,
                                                   std::function<void()> body) {
  Thread* thread =
      threads_.emplace_back(std::make_unique<Thread>(name, process, std::move(body))).get();
  Enter(thread);
  Point("start");
  return std::make_unique<Running>(this, thread);
}

int SimScheduler::process() const { return current_->process; }

void SimScheduler::Count(const char* what, uint64_t detail) {
  if (this_thread != current_) {
    std::fprintf(stderr, "simulation: %s was called by a thread that the scheduler did not start\n",
                 what);
    std::abort();
  }
  ++steps_;
  uint64_t name = 0;
  for (const char* c = what; *c != '\0'; ++c) name = name * 31 + static_cast<unsigned char>(*c);
  for (const char c : current_->name) name = name * 31 + static_cast<unsigned char>(c);
  trace_ = Mix(trace_ + name + kGolden * detail + static_cast<uint64_t>(now_ns_));
  const Call call{now_ns_, what, current_, detail};
  if (last_calls_.size() < kKeptCalls) {
    last_calls_.push_back(call);
  } else {
    last_calls_[static_cast<size_t>(steps_ - 1) % kKeptCalls] = call;
  }
  if (steps_ > options_.max_steps) Stop("the run takes more calls than it may");
  if (now_ns_ - kBeginningNs > options_.max_time_ns && exclusive_ < 0) {
    Stop("the run takes more simulated time than it may");
  }
}

void SimScheduler::Point(const char* what, uint64_t detail) {
  Count(what, detail);
  if (random_.Chance(switch_chance_)) SwitchFrom(current_);
}

bool SimScheduler::WaitUntil(const char* what, int64_t until_ns, std::function<bool()> ready) {
  Count(what, 0);
  Thread* self = current_;
  self->waiting = true;
  self->what = what;
  self->until_ns = until_ns;
  self->ready = std::move(ready);
  SwitchFrom(self);
  self->waiting = false;
  return self->ready();
}

void SimScheduler::SwitchFrom(Thread* self) {
  Thread* next = PickNext();
  if (next == self) return;
  current_ = next;
  next->turn.Post();
  self->turn.Wait();
}

bool SimScheduler::Alone() const {
  return std::all_of(threads_.begin(), threads_.end(), [](const auto& t) { return t->done; });
}

void SimScheduler::Collect(std::vector<Thread*>* ready) {
  ready->clear();
  for (const auto& thread : threads_) {
    if (thread->done || (exclusive_ >= 0 && thread->process != exclusive_)) continue;
    if (!thread->waiting || thread->until_ns <= now_ns_ || thread->ready()) {
      ready->push_back(thread.get());
    }
  }
}

// Null: all threads have ended.
SimScheduler::Thread* SimScheduler::PickNext() {
  Collect(&ready_);
  if (ready_.empty()) {
    int64_t next_ns = kForever;
    for (const auto& thread : threads_) {
      if (!thread->done && (exclusive_ < 0 || thread->process == exclusive_)) {
        next_ns = std::min(next_ns, thread->until_ns);
      }
    }
    if (next_ns == kForever) {
      if (Alone()) return nullptr;
      Stop("no thread can go on");
    }
    now_ns_ = std::max(now_ns_, next_ns);
    Collect(&ready_);
  }
  return ready_[random_.Below(ready_.size())];
}

void SimScheduler::BeginExclusive(int process) {
  exclusive_ = process;
  saved_now_ns_ = now_ns_;
}

void SimScheduler::EndExclusive() {
  exclusive_ = -1;
  now_ns_ = saved_now_ns_;
}

std::string SimScheduler::WhoWaits() const {
  std::string text;
  for (const auto& thread : threads_) {
    if (thread->done) continue;
    text += fmt::format("  {} (process {}): {}\n", thread->name, thread->process,
                        thread->waiting ? thread->what : "can run");
  }
  return text;
}

std::string SimScheduler::LastCalls() const {
  std::string text;
  for (size_t i = 0; i < last_calls_.size(); ++i) {
    const Call& call = last_calls_[(static_cast<size_t>(steps_) + i) % last_calls_.size()];
    text += fmt::format("  {:.6f} s  {:<15} {} {:x}\n",
                        static_cast<double>(call.now_ns - kBeginningNs) * 1e-9, call.thread->name,
                        call.what, call.detail);
  }
  return text;
}

namespace {

class SimMonitor : public Monitor {
 public:
  SimMonitor(SimScheduler* scheduler, std::function<void(const char*)> point, Random* random)
      : scheduler_(scheduler), point_(std::move(point)), random_(random) {}

  void Lock() override {
    point_("lock");
    Take();
  }
  void Unlock() override {
    held_ = false;
    point_("unlock");
  }
  void Wait(int64_t until_ns) override {
    point_("wait");
    held_ = false;
    if (!random_->Chance(0.03)) {  // else it returns without a notification
      const int64_t seen = notified_;
      scheduler_->WaitUntil("notification", until_ns,
                            [this, seen] { return notified_ != seen && !held_; });
    }
    Take();
  }
  void NotifyAll() override {
    ++notified_;
    point_("notify");
  }

 private:
  void Take() {
    while (held_) {
      scheduler_->WaitUntil("a lock", kForever, [this] { return !held_; });
    }
    held_ = true;
  }

  SimScheduler* scheduler_;
  std::function<void(const char*)> point_;
  Random* random_;
  bool held_ = false;
  int64_t notified_ = 0;
};

}  // namespace

std::unique_ptr<Monitor> MakeMonitor(SimScheduler* scheduler,
                                     std::function<void(const char*)> point, Random* random) {
  return std::make_unique<SimMonitor>(scheduler, std::move(point), random);
}

}  // namespace halograph::sim
