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
  std::vector<Row> lost = {};  // hits that are not here, known in its turn
  std::vector<size_t> asked;   // of ids: misses, and rows that the store below has here
};

// Goes on with whatever was answered: the store below, or the ticket before it.
struct CachedRows::PlannedPull {
  PlannedPull(int64_t of, std::span<const RowRequest> asked_for, CallContext& by, StatusDone end)
      : ticket(of), requests(asked_for), context(by), done(std::move(end)) {}

  const int64_t ticket;
  const std::span<const RowRequest> requests;
  CallContext& context;
  StatusDone done;
  TicketPlan plan = {};
  std::vector<TypePull> types = {};
  // What the store below is asked for: first what is planned, then what is lost.
  std::vector<RowRequest> below = {};
  std::vector<SomeRows> rows = {};
  CallContext inner = {};
  CachedRowsFigures figures = {};
  std::optional<CancelToken::Registration> on_cancel = {};

  void AskFor(size_t request, std::span<const size_t> which, RowRequest* asked) {
    *asked = rows.emplace_back(requests[request], which).Of(requests[request]);
  }
};

Status CachedRows::Pull(std::span<const RowRequest> requests, CallContext& context) {
  if (!context.ticket.has_value()) return rest_->Pull(requests, context);
  return StartAndWait<Status>(
      context,
      [&](CallContext& inner, StatusDone done) { StartPull(requests, inner, std::move(done)); },
      [&] { GiveUpTurn(*context.ticket); });
}

void CachedRows::StartPull(std::span<const RowRequest> requests, CallContext& context,
                           StatusDone done) {
  if (!context.ticket.has_value()) return rest_->StartPull(requests, context, std::move(done));
  const auto pull =
      std::make_shared<PlannedPull>(*context.ticket, requests, context, std::move(done));
  GoOn(pull, [&]() -> Status {
    HG_RETURN_IF_ERROR(Ask(*pull));
    AskBelow(pull, &CachedRows::AwaitTurn);
    return OkStatus();
  });
}

// Does `work` of the pull, whose error, or what it throws, is the end of the pull.
void CachedRows::GoOn(const std::shared_ptr<PlannedPull>& pull,
                      const std::function<Status()>& work) {
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = ResourceExhausted("no memory to pull {} rows of {} tensors",
                               pull->plan.plan.slots.size(), pull->requests.size());
  } catch (const std::exception& error) {
    status = Internal("{}", error.what());
  }
  if (!status.ok()) End(*pull, std::move(status));
}

// What `work` left to ask for, and what then.
void CachedRows::AskBelow(const std::shared_ptr<PlannedPull>& pull, Then then) {
  if (pull->below.empty()) return (this->*then)(pull);
  rest_->StartPull(pull->below, pull->inner, [this, pull, then](Status pulled) {
    pull->context.stats += std::exchange(pull->inner.stats, {});
    if (!pulled.ok()) return End(*pull, std::move(pulled));
    GoOn(pull, [&] {
      (this->*then)(pull);
      return OkStatus();
    });
  });
}

void CachedRows::End(PlannedPull& pull, Status status) {
  pull.on_cancel.reset();
  if (pull.plan.taken) EndTicket(pull.ticket);
  EndCall(std::move(pull.done), std::move(status));
}

Status CachedRows::Ask(PlannedPull& pull) {
  HG_RETURN_IF_ERROR(Begin(pull.ticket, &pull.plan));
  HG_RETURN_IF_ERROR(CheckCached(pull.requests));
  pull.inner = InnerContext(pull.context);
  pull.inner.ticket.reset();
  pull.types = Split(pull.requests, pull.plan);
  pull.below.assign(pull.requests.begin(), pull.requests.end());
  pull.rows.reserve(pull.requests.size());
  for (const TypePull& type : pull.types) {
    for (const size_t r : type.requests) pull.AskFor(r, type.asked, &pull.below[r]);
  }
  return OkStatus();
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

void CachedRows::AwaitTurn(const std::shared_ptr<PlannedPull>& pull) {
  // First, so that no cancellation is missed: what comes before the pull waits is seen below.
  pull->on_cancel.emplace(pull->context.cancel,
                          [this, ticket = pull->ticket] { GiveUpTurn(ticket); });
  {
    const MutexLock lock(mutex_);
    if (ended_ < pull->ticket && pull->context.Check().ok()) {
      for_turn_.emplace(pull->ticket, pull);
      return;
    }
  }
  TakeTurn(pull);
}

void CachedRows::GiveUpTurn(int64_t ticket) {
  std::shared_ptr<PlannedPull> pull;
  {
    const MutexLock lock(mutex_);
    const auto found = for_turn_.find(ticket);
    if (found == for_turn_.end()) return;
    pull = std::move(found->second);
    for_turn_.erase(found);
  }
  PostTurn(std::move(pull));
}

void CachedRows::PostTurn(std::shared_ptr<PlannedPull> pull) {
  const PostWork post = pull->context.post;  // which may be gone before it has returned
  post([this, pull = std::move(pull)] { TakeTurn(pull); });
}

// When it has come, or is given up.
void CachedRows::TakeTurn(const std::shared_ptr<PlannedPull>& pull) {
  pull->on_cancel.reset();
  const auto read = [&]() -> Status {
    if (!IsTurnOf(pull->ticket)) return pull->context.Check();
    ReadSlots(*pull);
    AskBelow(pull, &CachedRows::StoreFetched);
    return OkStatus();
  };
  GoOn(pull, read);
}

void CachedRows::ReadSlots(PlannedPull& pull) {
  ForgetFetchedBefore(pull.ticket);
  pull.below.clear();
  pull.rows.clear();
  for (TypePull& type : pull.types) {
    std::vector<size_t> lost_at;
    for (const TypePull::Row& row : type.hits) {
      if (!slots_->Holds(row.slot, row.number)) {
        type.lost.push_back(row);
        lost_at.push_back(row.at);
        continue;
      }
      for (size_t k = 0; k < type.requests.size(); ++k) {
        const CachedTensor& tensor = type.type->tensors[k];
        std::memcpy(RowOf(pull.requests[type.requests[k]], row.at, tensor.row_bytes),
                    slots_->At(row.slot, tensor.offset), tensor.row_bytes);
        pull.context.stats.local_bytes += static_cast<int64_t>(tensor.row_bytes);
      }
    }
    for (size_t k = 0; k < type.requests.size(); ++k) {
      pull.context.Pulled(pull.requests[type.requests[k]].tensor, PulledFrom::kCache,
                          type.hits.size() - lost_at.size(), type.type->tensors[k].row_bytes);
    }
    pull.figures.hits += std::ssize(type.hits) - std::ssize(type.lost);
    pull.figures.missing += std::ssize(type.lost);
    pull.figures.fetched += std::ssize(type.misses) + std::ssize(type.lost);
    if (lost_at.empty()) continue;
    for (const size_t r : type.requests) pull.AskFor(r, lost_at, &pull.below.emplace_back());
  }
}

void CachedRows::StoreFetched(const std::shared_ptr<PlannedPull>& pull) {
  const auto store = [&](const TypePull& type, const TypePull::Row& row) {
    if (row.slot == kNoSlot) return;
    for (size_t k = 0; k < type.requests.size(); ++k) {
      const CachedTensor& tensor = type.type->tensors[k];
      std::memcpy(slots_->At(row.slot, tensor.offset),
                  RowOf(pull->requests[type.requests[k]], row.at, tensor.row_bytes),
                  tensor.row_bytes);
    }
    slots_->SetHolds(row.slot, row.number);
  };
  // Those that were lost first: a miss may have the slot of a hit of the same step.
  for (const TypePull& type : pull->types) {
    for (const TypePull::Row& row : type.lost) {
      store(type, row);
      fetched_->Add(row.number);
    }
    for (const TypePull::Row& row : type.misses) {
      store(type, row);
      pull->figures.refetched += fetched_->Add(row.number) ? 1 : 0;
    }
  }
  CountTurn(pull->figures, pull->context);
  End(*pull, OkStatus());
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
