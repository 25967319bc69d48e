#include "tests/support/fake_device/streams.h"

#include <utility>
#include <vector>

namespace halograph::fake_device {

std::unique_lock<std::recursive_mutex> Lock() {
  static auto* const mutex =
      new std::recursive_mutex;  // tensors are freed at the end of the process
  return std::unique_lock(*mutex);
}

Streams& Streams::The() {
  static auto* const streams = new Streams;
  return *streams;
}

int& Streams::Current() {
  thread_local int current = kDefault;
  return current;
}

int Streams::Next() {
  const int stream = 1 + next_;
  next_ = (next_ + 1) % (kCount - 1);
  return stream;
}

void Streams::SetOrder(const FakeOrder& order) {
  FinishAll();
  order_ = order;
  random_.seed(order.seed);
}

void Streams::Queue(int stream, std::function<void()> task) {
  Push(stream, {.task = std::move(task), .passes = nullptr, .awaits = nullptr});
}

PointPtr Streams::Record(int stream) {
  auto point = std::make_shared<PointInStream>(PointInStream{.stream = stream, .passed = false});
  Push(stream, {.task = nullptr, .passes = point, .awaits = nullptr});
  return point;
}

void Streams::Await(int stream, PointPtr point) {
  Push(stream, {.task = nullptr, .passes = nullptr, .awaits = std::move(point)});
}

void Streams::Push(int stream, Entry entry) {
  queues_.at(stream).push_back(std::move(entry));
  GoOn();
}

void Streams::Step(int stream) {
  auto& queue = queues_.at(stream);
  if (queue.empty()) return;
  // Points are recorded before they are waited for, so streams never wait for each other in a
  // circle.
  if (const PointPtr& awaited = queue.front().awaits; awaited != nullptr && !awaited->passed) {
    Step(awaited->stream);
    return;
  }
  const Entry entry = std::move(queue.front());
  queue.pop_front();
  try {
    if (entry.task) entry.task();
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  if (entry.passes != nullptr) entry.passes->passed = true;
}

void Streams::GoOn() {
  switch (order_.runs) {
    case FakeOrder::Runs::kWhenAsked:
      return;
    case FakeOrder::Runs::kSideEarly:
      for (int stream = 1; stream < kCount; ++stream) Finish(stream);
      return;
    case FakeOrder::Runs::kDefaultEarly:
      Finish(kDefault);
      return;
    case FakeOrder::Runs::kRandom:
      RunSome();
      return;
    case FakeOrder::Runs::kAtOnce:
      FinishAll();
      return;
  }
}

void Streams::RunSome() {
  // Bursts, so that now one stream is ahead and now another. As many run as are queued, on average.
  constexpr int kLongest = 32;
  if (random_() % (kLongest / 2) != 0) return;
  std::vector<int> streams;
  for (int stream = 0; stream < kCount; ++stream) {
    if (!queues_.at(stream).empty()) streams.push_back(stream);
  }
  const int stream = streams.at(random_() % streams.size());
  for (auto left = random_() % (2 * kLongest); left > 0; --left) Step(stream);
}

bool Streams::Poll(const PointInStream& point) {
  if (!point.passed) Step(point.stream);
  ThrowKept();
  return point.passed;
}

bool Streams::PollStream(int stream) {
  Step(stream);
  ThrowKept();
  return queues_.at(stream).empty();
}

void Streams::RunTo(const PointInStream& point) {
  while (!point.passed) Step(point.stream);
}

void Streams::Finish(int stream) {
  while (!queues_.at(stream).empty()) Step(stream);
}

void Streams::WaitFor(int stream) {
  ++waits_;
  Finish(stream);
}

void Streams::FinishAll() {
  for (int stream = 0; stream < kCount; ++stream) Finish(stream);
}

void Streams::ThrowKept() {
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace halograph::fake_device
