// A graph of two node types without files, and a store of its rows that counts what it is asked for
// and answers when a test lets it.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "client/graph_store.h"
#include "client/row_store.h"
#include "common/base/mutex.h"

namespace halograph {

inline constexpr int64_t kPapers = 1200;
inline constexpr int64_t kVenues = 90;

// Types paper ("feat" of 12 bytes, "year" of 8) and venue ("size" of 3), in three parts each.
inline GraphInfo GatedGraph() {
  GraphInfo info;
  info.schema.node_types = {
      {.name = "paper",
       .count = kPapers,
       .features = {{.name = "feat", .dtype = DType::kFloat32, .rank = 2, .dim = 3},
                    {.name = "year", .dtype = DType::kInt64, .rank = 1, .dim = 1}}},
      {.name = "venue",
       .count = kVenues,
       .features = {{.name = "size", .dtype = DType::kUInt8, .rank = 2, .dim = 3}}}};
  info.book =
      *PartitionBook::Create(info.schema, {{0, 400, 700, kPapers}, {0, 20, 20, kVenues}}, {});
  return info;
}

// Byte `at` of a row.
inline std::byte GatedByte(const TensorRef& tensor, int64_t id, size_t at) {
  const auto name = static_cast<int64_t>(tensor.name.front());
  return static_cast<std::byte>((id * 131 + name * 17 + static_cast<int64_t>(at) * 7 + id / 256) %
                                251);
}

class GatedRows final : public RowStore {
 public:
  explicit GatedRows(const GraphInfo& info) : info_(info) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    {
      const MutexLock lock(mutex_);
      Park(requests);
      changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return IsLet(context.trace_id.low); });
    }
    return Give(requests, context);
  }
  // Answered by who lets it go.
  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override {
    std::function<void()> answer = [this, requests, &context, done = std::move(done)] {
      context.post([this, requests, &context, done] { done(Give(requests, context)); });
    };
    {
      const MutexLock lock(mutex_);
      Park(requests);
      if (!IsLet(context.trace_id.low)) {
        held_.emplace(context.trace_id.low, std::move(answer));
        return;
      }
    }
    answer();
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes, CallContext&) override {
    return RefusePushes(pushes);
  }

  // From now on calls wait until they are let go by the last half of their trace id, or the gate is
  // opened.
  void Close() {
    const MutexLock lock(mutex_);
    open_ = false;
    parked_ = 0;
    let_.clear();
  }
  void AwaitParked(int64_t calls) {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return parked_ >= calls; });
  }
  void Let(uint64_t trace_id) {
    MutexLock lock(mutex_);
    let_.insert(trace_id);
    changed_.NotifyAll();
    std::vector<std::function<void()>> answers;
    for (auto [at, end] = held_.equal_range(trace_id); at != end; ++at)
      answers.push_back(at->second);
    held_.erase(trace_id);
    lock.Unlock();
    for (const auto& answer : answers) answer();
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
    const auto held = std::exchange(held_, {});
    lock.Unlock();
    for (const auto& [trace_id, answer] : held) answer();
  }
  void FailCallsOf(uint64_t trace_id) {
    const MutexLock lock(mutex_);
    fail_.insert(trace_id);
  }

  // The ids of all requests since the last time.
  std::vector<int64_t> TakeAsked() {
    const MutexLock lock(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  void Park(std::span<const RowRequest> requests) HG_REQUIRES(mutex_) {
    for (const RowRequest& request : requests) {
      asked_.insert(asked_.end(), request.ids.begin(), request.ids.end());
    }
    ++parked_;
    changed_.NotifyAll();
  }
  bool IsLet(uint64_t trace_id) const HG_REQUIRES(mutex_) {
    return open_ || let_.contains(trace_id);
  }
  Status Give(std::span<const RowRequest> requests, CallContext& context) {
    {
      const MutexLock lock(mutex_);
      if (fail_.contains(context.trace_id.low))
        return Unavailable("call {} fails", context.trace_id.low);
    }
    HG_RETURN_IF_ERROR(context.Check());
    for (const RowRequest& request : requests) {
      if (request.tensor.name == "moving") {
        std::memset(request.out.data(), 9, request.out.size());
        continue;
      }
      HG_ASSIGN_OR_RETURN(const ResolvedTensor tensor, ResolveTensor(info_.schema, request.tensor));
      const size_t row_bytes = tensor.spec.row_bytes();
      for (size_t i = 0; i < request.ids.size(); ++i) {
        const auto to = request.positions.empty() ? i : static_cast<size_t>(request.positions[i]);
        for (size_t at = 0; at < row_bytes; ++at) {
          request.out[to * row_bytes + at] = GatedByte(request.tensor, request.ids[i], at);
        }
      }
    }
    return OkStatus();
  }

  const GraphInfo info_;
  Mutex mutex_;
  CondVar changed_;
  bool open_ HG_GUARDED_BY(mutex_) = true;
  int64_t parked_ HG_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> let_ HG_GUARDED_BY(mutex_);
  std::set<uint64_t> fail_ HG_GUARDED_BY(mutex_);
  std::multimap<uint64_t, std::function<void()>> held_ HG_GUARDED_BY(mutex_);
  std::vector<int64_t> asked_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
