#include "client/cached/cached_rows.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "common/graph/owner_split.h"

namespace halograph {

CachedRows::CachedRows(std::shared_ptr<RowStore> rest, const GraphInfo& info)
    : rest_(std::move(rest)),
      schema_(info.schema),
      book_(info.book),
      features_(MakeSchemaCatalog(&schema_, &book_, nullptr)) {}

StatusOr<std::unique_ptr<CachedRows>> CachedRows::Create(std::shared_ptr<RowStore> rest,
                                                         const GraphInfo& info,
                                                         const CachedRowsOptions& options) {
  try {
    std::unique_ptr<CachedRows> cache(new CachedRows(std::move(rest), info));
    HG_RETURN_IF_ERROR(cache->AddTypes(options));
    HG_RETURN_IF_ERROR(cache->MakePlanner(options));
    return cache;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for a cache of {} bytes", options.memory_bytes);
  }
}

Status CachedRows::AddTypes(const CachedRowsOptions& options) {
  std::vector<bool> own(static_cast<size_t>(book_.num_parts()));
  for (const int part : options.own_parts) {
    if (part < 0 || part >= book_.num_parts()) {
      return InvalidArgument("own part {}; the graph has {}", part, book_.num_parts());
    }
    own[static_cast<size_t>(part)] = true;
  }
  std::vector<std::vector<CachedTensor>> tensors(schema_.node_types.size());
  for (const TensorRef& tensor : options.tensors) {
    HG_ASSIGN_OR_RETURN(const ResolvedTensor resolved, ResolveTensor(schema_, tensor));
    if (resolved.edge) return NotFound("{}: only rows of nodes are cached", tensor.ToString());
    auto& of_type = tensors[static_cast<size_t>(resolved.type)];
    size_t offset = 0;
    for (const CachedTensor& other : of_type) {
      if (other.tensor == tensor) return InvalidArgument("{}: named twice", tensor.ToString());
      offset += other.row_bytes;
    }
    of_type.push_back({tensor, offset, resolved.spec.row_bytes()});
  }
  int64_t numbers = 0;
  for (size_t type = 0; type < tensors.size(); ++type) {
    if (tensors[type].empty()) continue;
    const int node_type = static_cast<int>(type);
    types_.push_back({RemoteIds(numbers, book_.NodeBoundaries(node_type), own),
                      std::move(tensors[type]), node_type});
    numbers += types_.back().remote.count();
  }
  return types_.empty() ? InvalidArgument("a cache of no tensor; name some") : OkStatus();
}

Status CachedRows::MakePlanner(const CachedRowsOptions& options) {
  size_t slot_bytes = 0;
  for (const CachedType& type : types_) {
    slot_bytes = std::max(slot_bytes, type.tensors.back().offset + type.tensors.back().row_bytes);
  }
  const int64_t rows = types_.back().remote.first() + types_.back().remote.count();
  if (!options.weights.empty() && options.weights.size() != schema_.node_types.size()) {
    return InvalidArgument("weights of {} node types; the graph has {}", options.weights.size(),
                           schema_.node_types.size());
  }
  std::vector<float> weights(
      options.weights.empty() && options.look_ahead ? 0 : static_cast<size_t>(rows));
  for (const CachedType& type : types_) {
    if (options.weights.empty()) break;
    const auto& of_type = options.weights[static_cast<size_t>(type.node_type)];
    if (of_type.empty()) continue;
    if (std::ssize(of_type) != type.remote.ids()) {
      return InvalidArgument("{} weights for the {} nodes of type '{}'", of_type.size(),
                             type.remote.ids(), schema_.node_types[type.node_type].name);
    }
    for (int64_t id = 0; id < type.remote.ids(); ++id) {
      const int64_t number = type.remote.NumberOf(id);
      if (number >= 0) weights[static_cast<size_t>(number)] = of_type[static_cast<size_t>(id)];
    }
  }
  const size_t known_bytes = slot_bytes + sizeof(uint32_t);  // and whose rows they are
  // A class a row is worth a part of the memory at most.
  size_t class_bytes = options.look_ahead ? weights.size() : 0;
  if (class_bytes > options.memory_bytes / 4) {
    weights.clear();
    class_bytes = 0;
  }
  slot_count_ = UsableSlots(options.memory_bytes - class_bytes, known_bytes);
  if (slot_count_ == 0) {
    return InvalidArgument("a cache of {} bytes has no room for a row, which takes {}",
                           options.memory_bytes, known_bytes + kPlanBytesASlot);
  }
  slot_count_ = std::max<int64_t>(1, std::min(slot_count_, rows));
  auto planner = options.look_ahead
                     ? MakeLookAheadPlanner(
                           {.rows = rows, .slots = slot_count_, .classes = RankClasses(weights)})
                     : MakeStaticPlanner(weights, slot_count_);
  if (!planner.ok()) return planner.status();
  slots_ = std::make_unique<SlotRows>(slot_count_, slot_bytes);
  const MutexLock lock(mutex_);
  planner_ = *std::move(planner);
  return OkStatus();
}

Status CachedRows::Announce(int64_t ticket, std::span<const std::vector<int64_t>> nodes) {
  if (nodes.size() != schema_.node_types.size()) {
    return InvalidArgument("ticket {}: nodes of {} types; the graph has {}", ticket, nodes.size(),
                           schema_.node_types.size());
  }
  std::vector<int64_t> numbers;
  TicketPlan announced;
  for (const CachedType& type : types_) {
    const std::vector<int64_t>& ids = nodes[static_cast<size_t>(type.node_type)];
    HG_RETURN_IF_ERROR(CheckIdRange(
        ids, type.remote.ids(),
        fmt::format("ticket {}, {}", ticket, schema_.node_types[type.node_type].name)));
    for (const int64_t id : ids) {
      const int64_t number = type.remote.NumberOf(id);
      if (number >= 0) numbers.push_back(number);
    }
    announced.ends.push_back(numbers.size());
  }
  const MutexLock lock(mutex_);
  const Status status = planner_->Announce(ticket, numbers);
  if (!status.ok()) return Annotate(status, "remote rows, numbered through all types");
  waiting_.emplace(ticket, std::move(announced));
  return OkStatus();
}

void CachedRows::Drop(int64_t ticket) {
  TicketPlan unused;
  try {
    (void)Begin(ticket, &unused);
  } catch (const std::bad_alloc&) {  // the next that begins plans what this could not
  }
  if (unused.taken) End(ticket);
}

bool CachedRows::closed() const {
  const MutexLock lock(mutex_);
  return planner_->closed();
}

bool CachedRows::wants_more() const {
  const MutexLock lock(mutex_);
  return planner_->wants_more();
}

CachedRowsFigures CachedRows::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

int64_t CachedRows::bytes() const {
  const MutexLock lock(mutex_);
  return planner_->bytes() + slots_->bytes();
}

// Plans all steps up to this one: plans are made in order.
Status CachedRows::Begin(int64_t ticket, TicketPlan* plan) {
  const MutexLock lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) {
    return FailedPrecondition(
        "ticket {} was {}; announce each before it is pulled, and pull it once", ticket,
        ticket >= 0 && ticket < planner_->announced() ? "pulled or dropped before"
                                                      : "not announced");
  }
  *plan = std::move(found->second);
  plan->taken = true;
  waiting_.erase(found);
  while (planner_->planned() <= ticket) {
    StepPlan next;
    HG_RETURN_IF_ERROR(planner_->PlanNext(&next));
    const auto waits = waiting_.find(next.step);
    if (next.step == ticket) {
      plan->plan = std::move(next);
    } else if (waits != waiting_.end()) {
      waits->second.plan = std::move(next);
    }
  }
  return OkStatus();
}

Status CachedRows::AwaitTurn(int64_t ticket, const CallContext& context) {
  // Taken and given back, so that no wait misses it.
  const CancelToken::Registration cancelled(context.cancel, [this] {
    { const MutexLock lock(mutex_); }
    changed_.NotifyAll();
  });
  const MutexLock lock(mutex_);
  const auto done = [&]() HG_REQUIRES(mutex_) {
    return ended_ >= ticket || (context.cancel != nullptr && context.cancel->cancelled());
  };
  if (context.deadline.has_value()) {
    (void)changed_.WaitUntil(mutex_, *context.deadline, done);
  } else {
    changed_.Wait(mutex_, done);
  }
  return ended_ >= ticket ? OkStatus() : context.Check();
}

void CachedRows::End(int64_t ticket) {
  const MutexLock lock(mutex_);
  ended_early_.insert(ticket);
  while (ended_early_.erase(ended_) > 0) ++ended_;
  changed_.NotifyAll();
}

}  // namespace halograph
