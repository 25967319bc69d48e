#include "trainer/distributed/ordered_sum.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr int64_t kSmallBytes = 64 << 10;  // of all ranks: a collective takes longer than adding

// Of [ranks, ...], in order; bfloat16 in float32, and rounded at the end.
torch::Tensor SumOfRows(const torch::Tensor& rows) {
  if (rows.scalar_type() != torch::kBFloat16) {
    torch::Tensor sum = rows[0].clone();
    for (int64_t i = 1; i < rows.size(0); ++i) sum.add_(rows[i]);
    return sum;
  }
  torch::Tensor sum = rows[0].to(torch::kFloat32);
  for (int64_t i = 1; i < rows.size(0); ++i) sum.add_(rows[i].to(torch::kFloat32));
  return sum.to(torch::kBFloat16);
}

// Of every rank here a row, as it travels.
torch::Tensor RowsOf(std::span<const torch::Tensor> own, torch::ScalarType carried) {
  torch::Tensor here =
      torch::empty({std::ssize(own), own[0].numel()}, own[0].options().dtype(carried));
  for (int64_t i = 0; i < std::ssize(own); ++i) here[i].copy_(own[i].view(-1));
  return here;
}

// c10d carries no bfloat16, but any 2 bytes.
torch::Tensor Bytes(const torch::Tensor& carried) {
  return carried.scalar_type() == torch::kBFloat16 ? carried.view(torch::kHalf) : carried;
}

StatusOr<torch::Tensor> SumOfSmall(std::span<const torch::Tensor> own, ProcessGroup& group,
                                   std::string_view what, torch::ScalarType carried) {
  const torch::Tensor here = RowsOf(own, carried);
  torch::Tensor all = torch::empty({group.size(), here.size(0), here.size(1)}, here.options());
  HG_RETURN_IF_ERROR(group.AllGather(Bytes(here), Bytes(all), what));
  return SumOfRows(all.flatten(0, 1));
}

// Process p adds up elements [p * part, (p + 1) * part).
StatusOr<torch::Tensor> SumByParts(std::span<const torch::Tensor> own, ProcessGroup& group,
                                   std::string_view what, torch::ScalarType carried) {
  const int64_t count = own[0].numel(), ranks = std::ssize(own), processes = group.size();
  const int64_t part = (count + processes - 1) / processes;
  torch::Tensor sent = torch::zeros({processes, ranks, part}, own[0].options().dtype(carried));
  for (int64_t p = 0; p * part < count; ++p) {
    const int64_t length = std::min(part, count - p * part);
    for (int64_t i = 0; i < ranks; ++i) {
      sent[p][i].narrow(0, 0, length).copy_(own[i].view(-1).narrow(0, p * part, length));
    }
  }
  torch::Tensor received = torch::empty_like(sent);
  HG_RETURN_IF_ERROR(group.AllToAll(Bytes(sent), Bytes(received), what));
  torch::Tensor whole = torch::empty({processes, part}, sent.options());
  const torch::Tensor sum = SumOfRows(received.flatten(0, 1));
  HG_RETURN_IF_ERROR(group.AllGather(Bytes(sum), Bytes(whole), what));
  return whole.view(-1).narrow(0, 0, count);
}

}  // namespace

Status OrderedSum(std::span<const torch::Tensor> own, ProcessGroup& group, std::string_view what,
                  CarriedAs carried) {
  const torch::NoGradGuard no_grad;
  const bool whole = carried == CarriedAs::kThemselves;
  if (group.size() == 1 && whole) {
    for (size_t i = 1; i < own.size(); ++i) own[0].add_(own[i]);
    for (size_t i = 1; i < own.size(); ++i) own[i].copy_(own[0]);
    return OkStatus();
  }
  const torch::ScalarType dtype = whole ? own[0].scalar_type() : torch::kBFloat16;
  const auto sum = [&]() -> StatusOr<torch::Tensor> {
    if (group.size() == 1) return SumOfRows(RowsOf(own, dtype));
    const auto bytes = own[0].numel() * static_cast<int64_t>(c10::elementSize(dtype));
    const bool small = bytes * std::ssize(own) * group.size() <= kSmallBytes;
    return small ? SumOfSmall(own, group, what, dtype) : SumByParts(own, group, what, dtype);
  }();
  HG_RETURN_IF_ERROR(sum.status());
  for (const torch::Tensor& one : own) one.view(-1).copy_(*sum);
  return OkStatus();
}

}  // namespace halograph
