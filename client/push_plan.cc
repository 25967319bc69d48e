#include "client/push_plan.h"

#include <algorithm>
#include <numeric>

#include "common/graph/owner_split.h"

namespace halograph {

Status CheckPush(const MutableTensor& tensor, const RowPush& push) {
  const std::string name = push.tensor.ToString();
  if (push.dtype != DType::kFloat32 && push.dtype != DType::kFloat16 &&
      push.dtype != DType::kBFloat16) {
    return InvalidArgument("{}: rows of {}: float32, float16 and bfloat16 can be pushed", name,
                           DTypeName(push.dtype));
  }
  const size_t row_bytes = PushedRowBytes(tensor.spec, push.kind, push.dtype);
  if (push.rows.size() != push.ids.size() * row_bytes) {
    return InvalidArgument("{}: {} bytes of rows for {} ids: {} rows of {} {} have {}", name,
                           push.rows.size(), push.ids.size(), push.ids.size(), tensor.spec.dim,
                           DTypeName(push.dtype), push.ids.size() * row_bytes);
  }
  return CheckIdRange(push.ids, tensor.resolved.rows, name);
}

Status PushPlan::Make(const MutableTensor& tensor, const RowPush& push,
                      const std::function<int64_t(int part)>& rows_of_part) {
  split_.Split(tensor, push.ids);
  sorted_.clear();
  messages_.assign(split_.shares().size(), {});
  for (size_t part = 0; part < messages_.size(); ++part) {
    const IdShare& share = split_.shares()[part];
    const auto number = static_cast<int>(part);
    const auto most = static_cast<size_t>(rows_of_part(number));
    if (share.ids.size() > most && !push.step.has_value()) {
      HG_RETURN_IF_ERROR(CutBetweenIds(push, number, share, most));
      continue;
    }
    if (share.ids.empty() && !push.step.has_value()) continue;
    const size_t chunks = share.ids.empty() ? 1 : (share.ids.size() - 1) / most + 1;
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      const size_t begin = chunk * most;
      const size_t count = std::min(most, share.ids.size() - begin);
      messages_[part].push_back({.part = number,
                                 .ids = share.ids.subspan(begin, count),
                                 .positions = share.positions.subspan(begin, count),
                                 .chunk = static_cast<int32_t>(chunk),
                                 .chunks = static_cast<int32_t>(chunks)});
    }
  }
  return OkStatus();
}

Status PushPlan::CutBetweenIds(const RowPush& push, int part, const IdShare& share, size_t most) {
  std::vector<size_t> order(share.ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return share.ids[a] < share.ids[b]; });
  std::vector<int64_t>& ids = sorted_.emplace_back();
  std::vector<int64_t>& positions = sorted_.emplace_back();
  for (const size_t entry : order) {
    ids.push_back(share.ids[entry]);
    positions.push_back(share.positions[entry]);
  }
  for (size_t begin = 0; begin < ids.size();) {
    size_t end = std::min(begin + most, ids.size());
    while (end < ids.size() && end > begin && ids[end] == ids[end - 1]) --end;
    if (end == begin) {
      return ResourceExhausted(
          "{}: id {} stands more than {} times in one push, which is what fits into a message: sum "
          "its rows before, or raise --max-message-bytes",
          push.tensor.ToString(), ids[begin], most);
    }
    messages_[static_cast<size_t>(part)].push_back(
        {.part = part,
         .ids = std::span<const int64_t>(ids).subspan(begin, end - begin),
         .positions = std::span<const int64_t>(positions).subspan(begin, end - begin)});
    begin = end;
  }
  return OkStatus();
}

}  // namespace halograph
