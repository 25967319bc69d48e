#include "trainer/distributed/hosted_ranks.h"

#include <utility>

namespace halograph {

HostedRanks::HostedRanks(int process, int num_processes, int count)
    : process_(process), num_processes_(num_processes), count_(count), meeting_(count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("rank {}", RankOf(i)));
  meeting_.SetNames(std::move(names));
}

Status HostedRanks::Join(int index, GroupOptions options) {
  options.process = process_;
  options.num_processes = num_processes_;
  options.ranks_each = count_;
  const auto join = [&](std::span<void* const> /*all*/) -> Status {
    timeout_ = options.timeout;
    HG_ASSIGN_OR_RETURN(processes_, ProcessGroup::Join(options));
    return OkStatus();
  };
  return meeting_.Meet(index, nullptr, "joining the other ranks", options.timeout, join);
}

StatusOr<HostedRanks*> HostedRanks::Beside(int index, std::string_view what) {
  const auto open = [&](std::span<void* const> /*all*/) -> Status {
    if (beside_ != nullptr) return OkStatus();
    auto beside = std::make_unique<HostedRanks>(process_, num_processes_, count_);
    beside->timeout_ = timeout_;
    HG_ASSIGN_OR_RETURN(beside->processes_, processes_->Beside(what));
    beside_ = std::move(beside);
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(meeting_.Meet(index, nullptr, what, timeout_, open));
  return beside_.get();
}

void HostedRanks::Leave(int index, std::string_view reason) {
  meeting_.Leave(index, reason);
  if (beside_ != nullptr) beside_->meeting_.Leave(index, reason);
  const MutexLock lock(leaving_);
  if (first_to_leave_.has_value()) return;
  first_to_leave_ = index;
  if (processes_ == nullptr) return;
  processes_->Leave(reason, beside_ == nullptr ? nullptr : beside_->processes_.get());
}

std::optional<int> HostedRanks::first_to_leave() {
  const MutexLock lock(leaving_);
  return first_to_leave_;
}

}  // namespace halograph
