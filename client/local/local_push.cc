#include "client/local/local_push.h"

#include <algorithm>
#include <cstring>

#include "client/push_plan.h"

namespace halograph {
namespace {

// The rows of a message, one after the other; in `gathered` unless they lie so already.
std::span<const std::byte> PushedRowsOf(const PushMessage& message, const RowPush& push,
                                        size_t row_bytes, std::vector<std::byte>* gathered) {
  const bool whole = message.ids.size() == push.ids.size() &&
                     std::is_sorted(message.positions.begin(), message.positions.end());
  if (whole) return push.rows;
  gathered->resize(message.ids.size() * row_bytes);
  for (size_t i = 0; i < message.positions.size(); ++i) {
    std::memcpy(gathered->data() + i * row_bytes,
                push.rows.data() + static_cast<size_t>(message.positions[i]) * row_bytes,
                row_bytes);
  }
  return *gathered;
}

// Pushes one message; gives its LSN.
StatusOr<int64_t> PushMessageLocally(const PartStates& states, PushClients* clients,
                                     const RowPush& push, const PushMessage& message,
                                     std::span<const std::byte> rows, const WorkLimits& limits) {
  HG_ASSIGN_OR_RETURN(const PushClients::Numbers numbers, clients->Take(message.part, 1, limits));
  StatePush of_part{.push = push, .id = {numbers.client, numbers.first}};
  of_part.push.ids = message.ids;
  of_part.push.rows = rows;
  if (of_part.push.step.has_value()) {
    of_part.push.step->chunk = message.chunk;
    of_part.push.step->chunks = message.chunks;
  }
  const auto receipt = states.Find(message.part)->Push(of_part, limits);
  if (!receipt.ok()) {
    clients->GiveUp(numbers);
    return receipt.status();
  }
  clients->Answered(numbers);
  return receipt->lsn;
}

}  // namespace

StatusOr<PushMark> PushLocally(const PartStates& states, PushClients* clients, const RowPush& push,
                               CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  const MutableTensor* const tensor = states.catalog().FindMutable(push.tensor);
  if (tensor == nullptr) {
    return NotFound("{}: no such mutable tensor; there are: {}", push.tensor.ToString(),
                    states.catalog().Names());
  }
  HG_RETURN_IF_ERROR(CheckPush(*tensor, push));
  HG_RETURN_IF_ERROR(states.CheckPush(push.tensor, push.kind));
  if (context.meanwhile) context.meanwhile();
  const size_t row_bytes = PushedRowBytes(tensor->spec, push.kind, push.dtype);
  // Half of what a store takes: its own overhead fits.
  const int64_t rows = std::max<int64_t>(
      1, StateOptions{}.max_push_bytes / 2 / static_cast<int64_t>(row_bytes + sizeof(int64_t)));
  PushPlan plan;
  HG_RETURN_IF_ERROR(plan.Make(*tensor, push, [rows](int) { return rows; }));
  PushMark mark(plan.messages().size(), 0);
  std::vector<std::byte> gathered;
  for (const std::vector<PushMessage>& of_part : plan.messages()) {
    for (const PushMessage& message : of_part) {
      HG_ASSIGN_OR_RETURN(
          const int64_t lsn,
          PushMessageLocally(states, clients, push, message,
                             PushedRowsOf(message, push, row_bytes, &gathered), context.limits()));
      mark[static_cast<size_t>(message.part)] =
          std::max(mark[static_cast<size_t>(message.part)], lsn);
    }
  }
  return mark;
}

}  // namespace halograph
