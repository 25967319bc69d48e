// A pull with a ticket: what it asks the store below for, and what it does when its turn comes.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "client/cached/cached_rows.h"

namespace halograph {
namespace {

constexpr size_t kNotAsked = static_cast<size_t>(-1);

// Where row i of a request goes.
std::byte* RowOf(const RowRequest& request, size_t i, size_t row_bytes) {
  const auto to = request.positions.empty() ? i : static_cast<size_t>(request.positions[i]);
  return request.out.data() + to * row_bytes;
}

// Some of the rows of a request, by where they stand in it.
struct SomeRows {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;

  SomeRows(const RowRequest& request, std::span<const size_t> which) {
    for (const size_t i : which) {
      ids.push_back(request.ids[i]);
      positions.push_back(request.positions.empty() ? static_cast<int64_t>(i)
                                                    : request.positions[i]);
    }
  }
  // Nothing to ask for: positions, of which there are none, would not say so.
  [[nodiscard]] RowRequest Of(const RowRequest& request) const {
    return {.tensor = request.tensor,
            .ids = ids,
            .positions = positions,
            .out = ids.empty() ? std::span<std::byte>() : request.out};
  }
};

}  // namespace

struct CachedRows::TypePull {
  struct Row {
    size_t at = 0;  // in the ids of the requests
    int64_t number = 0;
    int32_t slot = kNoSlot;
  };
  const CachedType* type = nullptr;
  std::vector<size_t> requests;  // of each of the type's tensors
  std::vector<Row> hits;
  std::vector<Row> misses;
  std::vector<size_t> asked;  // of ids: misses, and rows that the store below has here
};

Status CachedRows::Pull(std::span<const RowRequest> requests, CallContext& context) {
  if (!context.ticket.has_value()) return rest_->Pull(requests, context);
  const int64_t ticket = *context.ticket;
  TicketPlan plan;
  Status status;
  try {
    status = Begin(ticket, &plan);
    if (status.ok()) status = PullPlanned(ticket, requests, plan, context);
  } catch (const std::bad_alloc&) {
    status = ResourceExhausted("no memory to pull {} rows of {} tensors", plan.plan.slots.size(),
                               requests.size());
  } catch (...) {
    if (plan.taken) End(ticket);
    throw;
  }
  if (plan.taken) End(ticket);
  return status;
}

Status CachedRows::PullPlanned(int64_t ticket, std::span<const RowRequest> requests,
                               const TicketPlan& plan, CallContext& context) {
  HG_RETURN_IF_ERROR(CheckCached(requests));
  std::vector<TypePull> types = Split(requests, plan);
  std::vector<RowRequest> rest(requests.begin(), requests.end());
  std::vector<SomeRows> asked;
  asked.reserve(requests.size());
  for (const TypePull& type : types) {
    for (const size_t r : type.requests) {
      rest[r] = asked.emplace_back(requests[r], type.asked).Of(requests[r]);
    }
  }
  CallContext inner = InnerContext(context);
  inner.ticket.reset();
  const Status status = rest_->Pull(rest, inner);
  context.stats += inner.stats;
  HG_RETURN_IF_ERROR(status);
  HG_RETURN_IF_ERROR(AwaitTurn(ticket, context));
  return TakeTurn(ticket, requests, &types, context);
}

Status CachedRows::CheckCached(std::span<const RowRequest> requests) const {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!features_->Find(requests[i].tensor).ok()) continue;  // the store below may know it
    const Status status = CheckPull(*features_, requests.subspan(i, 1)).status();
    if (status.ok()) continue;
    return requests.size() == 1 ? status : Annotate(status, fmt::format("request {}", i));
  }
  return OkStatus();
}

std::vector<CachedRows::TypePull> CachedRows::Split(std::span<const RowRequest> requests,
                                                    const TicketPlan& plan) const {
  std::vector<bool> missed(plan.plan.slots.size());
  for (const PlannedMiss& miss : plan.plan.misses) missed[miss.position] = true;
  std::vector<TypePull> types;
  for (size_t t = 0; t < types_.size(); ++t) {
    const CachedType& type = types_[t];
    TypePull pull{.type = &type, .requests = {}, .hits = {}, .misses = {}, .asked = {}};
    for (const CachedTensor& tensor : type.tensors) {
      size_t found = kNotAsked;
      for (size_t r = 0; r < requests.size(); ++r) {
        if (!(requests[r].tensor == tensor.tensor)) continue;
        if (found != kNotAsked) break;  // twice: the second passes by
        found = r;
      }
      pull.requests.push_back(found);
    }
    if (std::ranges::count(pull.requests, kNotAsked) > 0) continue;
    const std::span<const int64_t> ids = requests[pull.requests.front()].ids;
    const bool same = std::ranges::all_of(pull.requests, [&](size_t r) {
      return requests[r].ids.data() == ids.data() ? requests[r].ids.size() == ids.size()
                                                  : std::ranges::equal(requests[r].ids, ids);
    });
    if (!same) continue;
    size_t at = t == 0 ? 0 : plan.ends[t - 1];  // in the plan
    for (size_t i = 0; i < ids.size() && at <= plan.ends[t]; ++i) {
      const int64_t number = type.remote.NumberOf(ids[i]);
      const bool hit = number >= 0 && at < plan.ends[t] && !missed[at];
      if (!hit) pull.asked.push_back(i);
      if (number < 0) continue;
      if (at < plan.ends[t]) {
        (hit ? pull.hits : pull.misses).push_back({i, number, plan.plan.slots[at]});
      }
      ++at;
    }
    if (at == plan.ends[t]) types.push_back(std::move(pull));
  }
  return types;
}

Status CachedRows::TakeTurn(int64_t ticket, std::span<const RowRequest> requests,
                            std::vector<TypePull>* types, CallContext& context) {
  ForgetFetchedBefore(ticket);
  CachedRowsFigures figures;
  std::vector<RowRequest> lost_requests;
  std::vector<SomeRows> lost_rows;
  lost_rows.reserve(requests.size());
  std::vector<std::vector<TypePull::Row>> lost(types->size());
  const auto store = [&](const TypePull& pull, const TypePull::Row& row) {
    if (row.slot == kNoSlot) return;
    for (size_t k = 0; k < pull.requests.size(); ++k) {
      const CachedTensor& tensor = pull.type->tensors[k];
      std::memcpy(slots_->At(row.slot, tensor.offset),
                  RowOf(requests[pull.requests[k]], row.at, tensor.row_bytes), tensor.row_bytes);
    }
    slots_->SetHolds(row.slot, row.number);
  };
  for (size_t t = 0; t < types->size(); ++t) {
    const TypePull& pull = (*types)[t];
    std::vector<size_t> lost_at;
    for (const TypePull::Row& row : pull.hits) {
      if (!slots_->Holds(row.slot, row.number)) {
        lost[t].push_back(row);
        lost_at.push_back(row.at);
        continue;
      }
      for (size_t k = 0; k < pull.requests.size(); ++k) {
        const CachedTensor& tensor = pull.type->tensors[k];
        std::memcpy(RowOf(requests[pull.requests[k]], row.at, tensor.row_bytes),
                    slots_->At(row.slot, tensor.offset), tensor.row_bytes);
        context.stats.local_bytes += static_cast<int64_t>(tensor.row_bytes);
      }
    }
    figures.hits += std::ssize(pull.hits) - std::ssize(lost[t]);
    figures.missing += std::ssize(lost[t]);
    figures.fetched += std::ssize(pull.misses) + std::ssize(lost[t]);
    if (lost_at.empty()) continue;
    for (const size_t r : pull.requests) {
      lost_requests.push_back(lost_rows.emplace_back(requests[r], lost_at).Of(requests[r]));
    }
  }
  if (!lost_requests.empty()) {
    CallContext inner = InnerContext(context);
    inner.ticket.reset();
    const Status status = rest_->Pull(lost_requests, inner);
    context.stats += inner.stats;
    HG_RETURN_IF_ERROR(status);
  }
  // Those that were lost first: a miss may have the slot of a hit of the same step.
  for (size_t t = 0; t < types->size(); ++t) {
    for (const TypePull::Row& row : lost[t]) {
      store((*types)[t], row);
      fetched_->Add(row.number);
    }
    for (const TypePull::Row& row : (*types)[t].misses) {
      store((*types)[t], row);
      figures.refetched += fetched_->Add(row.number) ? 1 : 0;
    }
  }
  CountTurn(figures, context);
  return OkStatus();
}

// Whoever ranks rows anew forgets what is kept: no cache is so large that it still has it.
void CachedRows::ForgetFetchedBefore(int64_t ticket) {
  const MutexLock lock(mutex_);
  if (ticket < first_ || fetched_since_ == first_) return;
  fetched_since_ = first_;
  fetched_->Forget();
}

void CachedRows::CountTurn(const CachedRowsFigures& figures, CallContext& context) {
  context.stats.cache_hits += figures.hits;
  context.stats.cache_misses += figures.fetched;
  context.stats.cache_refetches += figures.refetched;
  const MutexLock lock(mutex_);
  figures_.hits += figures.hits;
  figures_.fetched += figures.fetched;
  figures_.missing += figures.missing;
  figures_.refetched += figures.refetched;
  most_fetched_ = fetched_->most();
}

}  // namespace halograph
