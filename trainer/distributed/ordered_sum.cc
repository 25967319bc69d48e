#include "trainer/distributed/ordered_sum.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr int64_t kSmallBytes = 64 << 10;  // of all ranks: a collective takes longer than adding

// Of [ranks, ...], in order.
torch::Tensor SumOfRows(const torch::Tensor& rows) {
  torch::Tensor sum = rows[0].clone();
  for (int64_t i = 1; i < rows.size(0); ++i) sum.add_(rows[i]);
  return sum;
}

StatusOr<torch::Tensor> SumOfSmall(std::span<const torch::Tensor> own, ProcessGroup& group,
                                   std::string_view what) {
  const int64_t count = own[0].numel();
  torch::Tensor here = torch::empty({std::ssize(own), count}, own[0].options());
  for (int64_t i = 0; i < std::ssize(own); ++i) here[i].copy_(own[i].view(-1));
  torch::Tensor all = torch::empty({group.size(), std::ssize(own), count}, own[0].options());
  HG_RETURN_IF_ERROR(group.AllGather(here, all, what));
  return SumOfRows(all.flatten(0, 1));
}

// Process p adds up elements [p * part, (p + 1) * part).
StatusOr<torch::Tensor> SumByParts(std::span<const torch::Tensor> own, ProcessGroup& group,
                                   std::string_view what) {
  const int64_t count = own[0].numel(), ranks = std::ssize(own), processes = group.size();
  const int64_t part = (count + processes - 1) / processes;
  torch::Tensor sent = torch::zeros({processes, ranks, part}, own[0].options());
  for (int64_t p = 0; p * part < count; ++p) {
    const int64_t length = std::min(part, count - p * part);
    for (int64_t i = 0; i < ranks; ++i) {
      sent[p][i].narrow(0, 0, length).copy_(own[i].view(-1).narrow(0, p * part, length));
    }
  }
  torch::Tensor received = torch::empty_like(sent);
  HG_RETURN_IF_ERROR(group.AllToAll(sent, received, what));
  torch::Tensor whole = torch::empty({processes, part}, own[0].options());
  HG_RETURN_IF_ERROR(group.AllGather(SumOfRows(received.flatten(0, 1)), whole, what));
  return whole.view(-1).narrow(0, 0, count);
}

}  // namespace

Status OrderedSum(std::span<const torch::Tensor> own, ProcessGroup& group, std::string_view what) {
  const torch::NoGradGuard no_grad;
  if (group.size() == 1) {
    for (size_t i = 1; i < own.size(); ++i) own[0].add_(own[i]);
    for (size_t i = 1; i < own.size(); ++i) own[i].copy_(own[0]);
    return OkStatus();
  }
  const auto bytes = static_cast<int64_t>(own[0].nbytes());
  const bool small = bytes * std::ssize(own) * group.size() <= kSmallBytes;
  HG_ASSIGN_OR_RETURN(const torch::Tensor sum,
                      small ? SumOfSmall(own, group, what) : SumByParts(own, group, what));
  for (const torch::Tensor& one : own) one.view(-1).copy_(sum);
  return OkStatus();
}

}  // namespace halograph
