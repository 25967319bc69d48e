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
  // What ranks rows is worth a part of the memory at most.
  const auto all_rows = static_cast<size_t>(rows);
  bool counts = options.weights.empty() && options.count_reads;
  size_t rank_bytes = counts ? all_rows * sizeof(float) : 0;
  if (options.look_ahead && (counts || !weights.empty())) rank_bytes += all_rows;  // classes
  rank_bytes_ = rank_bytes;
  if (rank_bytes > options.memory_bytes / 4) {
    if (counts && !options.look_ahead) {
      return InvalidArgument(
          "a cache of {} bytes: to count the reads of {} rows takes {} of them, and may take a "
          "quarter; give {} at least",
          options.memory_bytes, rows, rank_bytes, 4 * rank_bytes);
    }
    if (options.look_ahead) weights.clear();
    counts = false;
    rank_bytes = 0;
  }
  const size_t known_bytes = slot_bytes + sizeof(uint32_t);  // and whose rows they are
  slot_count_ = UsableSlots(options.memory_bytes - rank_bytes, known_bytes);
  if (slot_count_ == 0) {
    return InvalidArgument("a cache of {} bytes has no room for a row, which takes {}",
                           options.memory_bytes, known_bytes + kPlanBytesASlot);
  }
  slot_count_ = std::max<int64_t>(1, std::min(slot_count_, rows));
  row_bytes_ = known_bytes + kPlanBytesASlot;
  look_ahead_ = options.look_ahead;
  HG_ASSIGN_OR_RETURN(auto planner, NewPlanner(rows, weights));
  slots_ = std::make_unique<SlotRows>(slot_count_, slot_bytes);
  fetched_ = std::make_unique<FetchedRows>(rows);
  const MutexLock lock(mutex_);
  planner_ = std::move(planner);
  if (counts) reads_.resize(all_rows);
  return OkStatus();
}

StatusOr<std::unique_ptr<Planner>> CachedRows::NewPlanner(int64_t rows,
                                                          std::span<const float> weights) const {
  if (!look_ahead_) return MakeStaticPlanner(weights, slot_count_);
  return MakeLookAheadPlanner(
      {.rows = rows, .slots = slot_count_, .classes = RankClasses(weights)});
}

template <typename Call>
Status CachedRows::OfPlanner(const Call& call) {
  if (std::exchange(planner_lost_, true)) {
    return ResourceExhausted("no memory for what plans the cache");
  }
  const Status status = call();  // or it throws
  planner_lost_ = false;
  return status;
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
  const auto place = waiting_.try_emplace(ticket, std::move(announced));
  const Status status =
      OfPlanner([&]() HG_REQUIRES(mutex_) { return planner_->Announce(ticket - first_, numbers); });
  if (!status.ok()) {
    if (place.second) waiting_.erase(place.first);
    return Annotate(status,
                    fmt::format("ticket {}: remote rows, numbered through all types", ticket));
  }
  largest_step_ = std::max(largest_step_, std::ssize(numbers));
  if (!reads_.empty()) {
    for (const int64_t number : numbers) ++reads_[static_cast<size_t>(number)];
  }
  return OkStatus();
}

int64_t CachedRows::announced() const {
  const MutexLock lock(mutex_);
  return first_ + planner_->announced();
}

int64_t CachedRows::largest_step() const {
  const MutexLock lock(mutex_);
  return largest_step_;
}

Status CachedRows::RankByReads() {
  const MutexLock lock(mutex_);
  if (reads_.empty() || (look_ahead_ && slot_count_ == planner_->rows())) return OkStatus();
  try {
    HG_ASSIGN_OR_RETURN(auto planner, NewPlanner(planner_->rows(), reads_));
    // Steps that are announced keep their plans. They read and store before those that the new
    // planner plans, which knows of no row that they leave.
    while (planner_->planned() < planner_->announced()) {
      HG_RETURN_IF_ERROR(PlanNext(kNoStep, nullptr));
    }
    first_ += planner_->announced();
    planner_ = std::move(planner);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory to rank {} rows anew", reads_.size());
  }
  reads_ = std::vector<float>();
  return OkStatus();
}

void CachedRows::Drop(int64_t ticket) {
  TicketPlan unused;
  try {
    (void)Begin(ticket, &unused);
  } catch (const std::bad_alloc&) {  // the next that begins says so
  }
  if (unused.taken) EndTicket(ticket);
}

void CachedRows::DropWaiting() {
  for (;;) {
    int64_t ticket = kNoStep;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) return;
      ticket = waiting_.begin()->first;
    }
    Drop(ticket);
  }
}

bool CachedRows::wants_more() const {
  const MutexLock lock(mutex_);
  return look_ahead_ && planner_->wants_more();
}

CachedRowsFigures CachedRows::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

int64_t CachedRows::bytes() const {
  const MutexLock lock(mutex_);
  return planner_->bytes() + slots_->bytes() + fetched_->bytes();
}

int64_t CachedRows::enough_bytes() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(static_cast<size_t>(most_fetched_) * row_bytes_ + rank_bytes_);
}

Status CachedRows::PlanNext(int64_t ticket, TicketPlan* own) {
  StepPlan next;
  HG_RETURN_IF_ERROR(OfPlanner([&]() HG_REQUIRES(mutex_) { return planner_->PlanNext(&next); }));
  const int64_t planned = first_ + next.step;
  if (planned == ticket) {
    own->plan = std::move(next);
    return OkStatus();
  }
  const auto waits = waiting_.find(planned);
  if (waits != waiting_.end()) waits->second.plan = std::move(next);
  return OkStatus();
}

// Plans all steps up to this one: plans are made in order.
Status CachedRows::Begin(int64_t ticket, TicketPlan* plan) {
  const MutexLock lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) {
    return FailedPrecondition(
        "ticket {} was {}; announce each before it is pulled, and pull it once", ticket,
        ticket >= 0 && ticket < first_ + planner_->announced() ? "pulled or dropped before"
                                                               : "not announced");
  }
  *plan = std::move(found->second);
  plan->taken = true;
  waiting_.erase(found);
  while (first_ + planner_->planned() <= ticket) HG_RETURN_IF_ERROR(PlanNext(ticket, plan));
  return OkStatus();
}

bool CachedRows::IsTurnOf(int64_t ticket) const {
  const MutexLock lock(mutex_);
  return ended_ >= ticket;
}

void CachedRows::EndTicket(int64_t ticket) {
  std::shared_ptr<PlannedPull> next;
  {
    const MutexLock lock(mutex_);
    ended_early_.insert(ticket);
    while (ended_early_.erase(ended_) > 0) ++ended_;
    const auto found = for_turn_.find(ended_);
    if (found == for_turn_.end()) return;
    next = std::move(found->second);
    for_turn_.erase(found);
  }
  PostTurn(std::move(next));
}

}  // namespace halograph
