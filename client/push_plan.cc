#include "client/push_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "common/base/rng.h"
#include "common/graph/owner_split.h"
#include "common/state/row_push.h"

namespace halograph {
namespace {

constexpr size_t kBucketsOfAMessage = 8;  // so that messages are nearly full

Status CheckPush(const MutableTensor& tensor, const RowPush& push) {
  HG_RETURN_IF_ERROR(CheckPushedRows(tensor.spec, push));
  HG_RETURN_IF_ERROR(CheckIdRange(push.ids, tensor.resolved.rows, push.tensor.ToString()));
  return CheckPushedValues(tensor.spec, push);
}

}  // namespace

Status OfPush(const Status& status, std::span<const RowPush> pushes, const RowPush& push) {
  return pushes.size() == 1 ? status : Annotate(status, "push to " + push.tensor.ToString());
}

StatusOr<std::vector<const MutableTensor*>> CheckPushes(const MutableCatalog& tensors,
                                                        std::span<const RowPush> pushes) {
  std::vector<const MutableTensor*> found;
  for (const RowPush& push : pushes) {
    found.push_back(tensors.FindMutable(push.tensor));
    if (found.back() == nullptr) {
      return OfPush(NotFound("{}: no such mutable tensor; there are: {}", push.tensor.ToString(),
                             tensors.Names()),
                    pushes, push);
    }
    if (const Status checked = CheckPush(*found.back(), push); !checked.ok()) {
      return OfPush(checked, pushes, push);
    }
    if (std::find(found.begin(), found.end() - 1, found.back()) == found.end() - 1) continue;
    return InvalidArgument("{}: pushed to twice in one call, which fixes no order of the two",
                           push.tensor.ToString());
  }
  return found;
}

Status PushPlan::Make(const MutableTensor& tensor, const RowPush& push,
                      const std::function<int64_t(int part)>& rows_of_part) {
  split_.Split(tensor, push.ids);
  ordered_.clear();
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
      PushMessage& message = messages_[part].emplace_back(
          PushMessage{number, push, share.positions.subspan(begin, count)});
      message.push.ids = share.ids.subspan(begin, count);
      if (!push.step.has_value()) continue;
      message.push.step->chunk = static_cast<int32_t>(chunk);
      message.push.step->chunks = static_cast<int32_t>(chunks);
    }
  }
  return OkStatus();
}

void PushPlan::AddMessages(const RowPush& push, int part, std::span<const int64_t> ids,
                           std::span<const int64_t> positions, std::span<const size_t> ends) {
  size_t begin = 0;
  for (const size_t end : ends) {
    messages_[static_cast<size_t>(part)]
        .emplace_back(PushMessage{part, push, positions.subspan(begin, end - begin)})
        .push.ids = ids.subspan(begin, end - begin);
    begin = end;
  }
}

// By a hash of the id, without sorting: rows keep their order, so that they are read from front to
// back.
bool PushPlan::CutBetweenBuckets(const RowPush& push, int part, const IdShare& share, size_t most) {
  const size_t rows = share.ids.size();
  const auto bits = static_cast<int>(std::bit_width(kBucketsOfAMessage * (rows / most)));
  const auto bucket_of = [&](int64_t id) { return Mix(static_cast<uint64_t>(id)) >> (64 - bits); };
  std::vector<size_t> places((size_t{1} << bits) + 1, 0);  // of the next row of each bucket
  for (const int64_t id : share.ids) ++places[bucket_of(id) + 1];
  std::vector<size_t> ends;
  size_t end = 0, message = 0;
  for (size_t bucket = 1; bucket < places.size(); ++bucket) {
    const size_t count = places[bucket];
    if (count > most) return false;
    if (end - message + count > most) ends.push_back(message = end);
    end = places[bucket] += places[bucket - 1];
  }
  ends.push_back(rows);
  std::vector<int64_t>& ids = ordered_.emplace_back(rows);
  std::vector<int64_t>& positions = ordered_.emplace_back(rows);
  for (size_t i = 0; i < rows; ++i) {
    const size_t place = places[bucket_of(share.ids[i])]++;
    ids[place] = share.ids[i];
    positions[place] = share.positions[i];
  }
  AddMessages(push, part, ids, positions, ends);
  return true;
}

Status PushPlan::CutBetweenIds(const RowPush& push, int part, const IdShare& share, size_t most) {
  if (CutBetweenBuckets(push, part, share, most)) return OkStatus();
  std::vector<size_t> order(share.ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return share.ids[a] < share.ids[b]; });
  std::vector<int64_t>& ids = ordered_.emplace_back();
  std::vector<int64_t>& positions = ordered_.emplace_back();
  for (const size_t entry : order) {
    ids.push_back(share.ids[entry]);
    positions.push_back(share.positions[entry]);
  }
  std::vector<size_t> ends;
  for (size_t begin = 0; begin < ids.size(); begin = ends.back()) {
    size_t end = std::min(begin + most, ids.size());
    while (end < ids.size() && end > begin && ids[end] == ids[end - 1]) --end;
    if (end == begin) {
      return ResourceExhausted(
          "{}: id {} stands more than {} times in one push, which is what fits into a message: sum "
          "its rows before, or raise --max-message-bytes",
          push.tensor.ToString(), ids[begin], most);
    }
    ends.push_back(end);
  }
  AddMessages(push, part, ids, positions, ends);
  return OkStatus();
}

}  // namespace halograph
