#include "trainer/device/compaction.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace halograph {
namespace {

int64_t Lengths(const IdsToCompact& ids) {
  int64_t all = 0;
  for (const auto& list : ids.lists) all += std::ssize(list);
  return all;
}

// The lists of one type, one behind the other.
torch::Tensor Joined(const Device& device, const IdsToCompact& ids) {
  torch::Tensor joined = device.HostTensor({Lengths(ids)}, torch::kInt64);
  auto* to = joined.data_ptr<int64_t>();
  for (const auto& list : ids.lists) to = std::copy(list.begin(), list.end(), to);
  return joined;
}

}  // namespace

FirstAppearances FindFirstAppearances(const torch::Tensor& entries) {
  const int64_t size = entries.numel();
  const auto of_bool = entries.options().dtype(torch::kBool);
  const auto [sorted, order] = entries.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  // Where a run of equal ids begins: its first entry is the first of all, as the sort is stable.
  torch::Tensor starts = torch::ones({size}, of_bool);
  starts.narrow(0, 1, size - 1)
      .copy_(sorted.narrow(0, 1, size - 1).ne(sorted.narrow(0, 0, size - 1)));
  const torch::Tensor places = torch::arange(size, entries.options());
  const torch::Tensor begins = std::get<0>((places * starts).cummax(0));
  const torch::Tensor is_first = torch::zeros({size}, of_bool).scatter_(0, order, starts);
  const torch::Tensor ranks = is_first.cumsum(0, torch::kInt64) - 1;
  const torch::Tensor of_run = ranks.index_select(0, order.index_select(0, begins));
  FirstAppearances found;
  found.positions = torch::zeros_like(entries).scatter_(0, order, of_run).to(torch::kInt32);
  // Entries that are not the first go to a place behind all.
  const torch::Tensor to = ranks.masked_fill(is_first.logical_not(), size);
  found.unique = torch::zeros({size + 1}, entries.options()).scatter_(0, to, entries);
  found.count = ranks.narrow(0, size - 1, 1) + 1;
  return found;
}

void DeviceCompaction::Compact(std::span<const IdsToCompact> types) const {
  const torch::NoGradGuard no_grad;
  const Queue::Scope scope(queue_);
  struct OfType {
    torch::Tensor entries;  // on the host, as are those that follow
    torch::Tensor positions = {}, count = {}, unique = {};
    FirstAppearances found = {};
  };
  std::vector<OfType> made;
  for (const IdsToCompact& ids : types) {
    OfType& type = made.emplace_back(OfType{Joined(device_, ids)});
    type.found = FindFirstAppearances(device_.Copy(type.entries));
    const int64_t known = std::ssize(ids.lists.front());
    const torch::Tensor& positions = type.found.positions;
    type.positions = device_.BeginHome(positions.narrow(0, known, positions.numel() - known));
    type.count = device_.BeginHome(type.found.count);
  }
  queue_.Finish(queue_.Record());
  for (OfType& type : made) {
    const int64_t count = *type.count.data_ptr<int64_t>();
    type.unique = device_.BeginHome(type.found.unique.narrow(0, 0, count));
  }
  queue_.Finish(queue_.Record());
  for (size_t t = 0; t < made.size(); ++t) {
    const auto* from = made[t].positions.data_ptr<int32_t>();
    for (const std::span<int32_t> to : types[t].positions) {
      std::copy_n(from, to.size(), to.begin());
      from += to.size();
    }
    const auto* const unique = made[t].unique.data_ptr<int64_t>();
    types[t].unique->assign(unique, unique + made[t].unique.numel());
  }
}

}  // namespace halograph
