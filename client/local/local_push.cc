#include "client/local/local_push.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "client/push_plan.h"

namespace halograph {
namespace {

// The rows of a message, one after the other; in `gathered` unless they lie so already.
std::span<const std::byte> PushedRowsOf(const PushMessage& message, size_t row_bytes,
                                        std::vector<std::byte>* gathered) {
  const RowPush& push = message.push;
  const bool whole = push.ids.size() * row_bytes == push.rows.size() &&
                     std::is_sorted(message.positions.begin(), message.positions.end());
  if (whole) return push.rows;
  gathered->resize(push.ids.size() * row_bytes);
  for (size_t i = 0; i < message.positions.size(); ++i) {
    std::memcpy(gathered->data() + i * row_bytes,
                push.rows.data() + static_cast<size_t>(message.positions[i]) * row_bytes,
                row_bytes);
  }
  return *gathered;
}

// One of the call's pushes.
struct PushedHere {
  size_t row_bytes = 0;
  PushPlan plan = {};
  PushMark mark = {};
  size_t next = 0;             // message to the part that is pushed to
  Status status = OkStatus();  // after an error nothing more is pushed
};

// Pushes the next message of each to a part, as far as a store takes as many bytes in one, and
// waits for all of them. False: none is left.
StatusOr<bool> PushMessages(const PartStates& states, PushClients* clients, int part,
                            std::deque<PushedHere>* pushes, const WorkLimits& limits) {
  std::vector<StatePush> messages;
  std::vector<PushedHere*> of;
  std::deque<std::vector<std::byte>> gathered;  // rows
  int64_t left = StateOptions{}.max_push_bytes;
  for (PushedHere& push : *pushes) {
    const std::vector<PushMessage>& all = push.plan.messages()[static_cast<size_t>(part)];
    if (!push.status.ok() || push.next == all.size() || messages.size() == kPushWindow) continue;
    const PushMessage& message = all[push.next];
    left -= static_cast<int64_t>(message.push.ids.size() * (push.row_bytes + sizeof(int64_t)));
    if (left < 0 && !messages.empty()) break;
    ++push.next;
    messages.push_back({.push = message.push, .id = {}});
    messages.back().push.rows = PushedRowsOf(message, push.row_bytes, &gathered.emplace_back());
    of.push_back(&push);
  }
  if (messages.empty()) return false;
  HG_ASSIGN_OR_RETURN(const PushClients::Numbers numbers,
                      clients->Take(part, static_cast<int>(messages.size()), limits));
  for (size_t i = 0; i < messages.size(); ++i) {
    messages[i].id = {numbers.client, numbers.first + i};
  }
  const auto receipts = states.Find(part)->Push(messages, limits);
  bool all = true;
  for (size_t i = 0; i < receipts.size(); ++i) {
    of[i]->status = receipts[i].status();
    all = all && receipts[i].ok();
    int64_t& lsn = of[i]->mark[static_cast<size_t>(part)];
    if (receipts[i].ok()) lsn = std::max(lsn, receipts[i]->lsn);
  }
  all ? clients->Answered(numbers) : clients->GiveUp(numbers);
  return true;
}

}  // namespace

StatusOr<std::vector<PushMark>> PushLocally(const PartStates& states, PushClients* clients,
                                            std::span<const RowPush> pushes, CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  HG_ASSIGN_OR_RETURN(const auto tensors, CheckPushes(states.catalog(), pushes));
  for (const RowPush& push : pushes) {
    HG_RETURN_IF_ERROR(OfPush(states.CheckPush(push.tensor, push.kind), pushes, push));
  }
  std::deque<PushedHere> planned;
  for (size_t i = 0; i < pushes.size(); ++i) {
    PushedHere& push = planned.emplace_back();
    push.row_bytes = PushedRowBytes(tensors[i]->spec, pushes[i].kind, pushes[i].dtype);
    // Half of what a store takes: its own overhead fits.
    const int64_t rows =
        std::max<int64_t>(1, StateOptions{}.max_push_bytes / 2 /
                                 static_cast<int64_t>(push.row_bytes + sizeof(int64_t)));
    HG_RETURN_IF_ERROR(OfPush(push.plan.Make(*tensors[i], pushes[i], [rows](int) { return rows; }),
                              pushes, pushes[i]));
    push.mark.assign(push.plan.messages().size(), 0);
  }
  const size_t parts = pushes.empty() ? 0 : planned.front().mark.size();
  for (size_t part = 0; part < parts; ++part) {
    for (PushedHere& push : planned) push.next = 0;
    for (bool more = true; more;) {
      HG_ASSIGN_OR_RETURN(
          more, PushMessages(states, clients, static_cast<int>(part), &planned, context.limits()));
    }
  }
  std::vector<PushMark> marks;
  for (size_t i = 0; i < pushes.size(); ++i) {
    if (!planned[i].status.ok()) return OfPush(planned[i].status, pushes, pushes[i]);
    marks.push_back(std::move(planned[i].mark));
  }
  return marks;
}

}  // namespace halograph
