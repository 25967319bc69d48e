#include "trainer/embeddings/learnt_inputs.h"

#include <algorithm>
#include <random>
#include <utility>

#include "trainer/distributed/wait_together.h"

namespace halograph {
namespace {

std::span<std::byte> BytesOf(const torch::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

const MutableTensorState* FindState(const std::vector<MutableTensorState>& states,
                                    const TensorRef& ref) {
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const auto& state) { return state.spec.ref == ref; });
  return found == states.end() ? nullptr : &*found;
}

// What rank 0 does with the tensor that is there, before it creates its own, `wanted`.
Status MakeRoom(TensorAdmin& admin, const MutableTensorState& state,
                const MutableTensorSpec& wanted, EmbedBegin begin, CallContext& context) {
  if (begin == EmbedBegin::kFresh) return admin.Drop(state.spec.ref, context);
  if (begin == EmbedBegin::kNew && state.step >= 0) {
    return FailedPrecondition(
        "{} was trained before, up to step {}: give --embed-begin continue to go on from it, "
        "--embed-begin fresh to drop it, or another --embed-name",
        state.spec.ref.ToString(), state.step);
  }
  const double found = state.spec.optimizer.weight_decay;
  if (found == wanted.optimizer.weight_decay) return OkStatus();
  return FailedPrecondition(
      "{} has --embed-weight-decay {}, and this run {}: give {} to go on from it, --embed-begin "
      "fresh to drop it, or another --embed-name",
      state.spec.ref.ToString(), found, wanted.optimizer.weight_decay, found);
}

Status NoStates(const Status& why, const TensorRef& learnt) {
  return Annotate(why,
                  fmt::format("the inputs of node type '{}' are learnt (--embed)", learnt.type));
}

}  // namespace

StatusOr<std::unique_ptr<LearntInputs>> LearntInputs::Open(const Stores& stores,
                                                           const EmbeddingOptions& options,
                                                           const std::vector<LearntType>& types,
                                                           uint64_t seed, Communicator* ranks,
                                                           const CancelToken* cancel) {
  std::unique_ptr<LearntInputs> inputs(
      new LearntInputs(stores.rows, options, ranks->rank(), ranks->world_size()));
  for (const LearntType& type : types) {
    inputs->learnt_.push_back({.node_type = type.node_type,
                               .spec = TensorOf(options, type, stores.graph->info().schema, seed)});
  }
  const auto admin = stores.AdminFor("the list of tensors");
  if (!admin.ok()) return NoStates(admin.status(), inputs->learnt_.front().spec.ref);
  HG_RETURN_IF_ERROR(inputs->Begin(**admin, options.begin, *ranks, cancel));
  // All ranks find the same, since nobody pushes before they have met.
  const RankWork find_step = [&](const CancelToken& ended) -> Status {
    CallContext context{.cancel = &ended};
    HG_ASSIGN_OR_RETURN(const auto states, (*admin)->List(context));
    for (const Learnt& learnt : inputs->learnt_) {
      const MutableTensorState* const state = FindState(states, learnt.spec.ref);
      if (state != nullptr) inputs->next_step_ = std::max(inputs->next_step_, state->step + 1);
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(WorkTogether(*ranks, cancel, find_step, "reading the state of learnt inputs"));
  CallContext context{.cancel = cancel};
  HG_RETURN_IF_ERROR(inputs->CheckRows(context));
  return inputs;
}

Status LearntInputs::Begin(TensorAdmin& admin, EmbedBegin begin, Communicator& ranks,
                           const CancelToken* cancel) {
  const RankWork create = [&](const CancelToken& ended) {
    CallContext context{.cancel = &ended};
    return CreateOrFind(admin, begin, context);
  };
  HG_RETURN_IF_ERROR(WorkTogether(ranks, cancel, ranks.rank() == 0 ? create : nullptr,
                                  "waiting for rank 0 to begin learnt inputs"));
  torch::Tensor run = torch::zeros({1}, torch::kInt64);
  if (ranks.rank() == 0) {
    std::random_device draw;
    run.fill_(static_cast<int64_t>((uint64_t{draw()} << 31) ^ draw()));
  }
  HG_RETURN_IF_ERROR(ranks.Broadcast(run, "agreeing on a number for the run's pushes"));
  run_ = static_cast<uint64_t>(run.item<int64_t>());
  return OkStatus();
}

Status LearntInputs::CreateOrFind(TensorAdmin& admin, EmbedBegin begin, CallContext& context) {
  auto states = admin.List(context);
  if (!states.ok()) return NoStates(states.status(), learnt_.front().spec.ref);
  for (const Learnt& learnt : learnt_) {
    const MutableTensorState* const state = FindState(*states, learnt.spec.ref);
    if (state != nullptr) HG_RETURN_IF_ERROR(MakeRoom(admin, *state, learnt.spec, begin, context));
    HG_RETURN_IF_ERROR(Annotate(admin.Create(learnt.spec, context), "learnt inputs"));
  }
  return OkStatus();
}

Status LearntInputs::CheckRows(CallContext& context) const {
  std::vector<RowRequest> none;
  for (const Learnt& learnt : learnt_) none.push_back({.tensor = learnt.spec.ref});
  return Annotate(rows_->Pull(none, context), "learnt inputs");
}

std::vector<LearntType> LearntInputs::types() const {
  std::vector<LearntType> types;
  for (const Learnt& learnt : learnt_) {
    types.push_back({.node_type = learnt.node_type, .dim = learnt.spec.dim});
  }
  return types;
}

std::vector<TensorRef> LearntInputs::tensors() const {
  std::vector<TensorRef> tensors;
  for (const Learnt& learnt : learnt_) tensors.push_back(learnt.spec.ref);
  return tensors;
}

void LearntInputs::GoOnWith(int64_t step) {
  next_step_ = step;
  for (Learnt& learnt : learnt_) learnt.given = torch::Tensor();
  const MutexLock lock(mutex_);
  marks_.clear();
}

std::vector<PushMark> LearntInputs::Marks() const {
  const MutexLock lock(mutex_);
  return marks_.empty() ? std::vector<PushMark>(learnt_.size()) : marks_;
}

StatusOr<LearntRows> LearntInputs::Pull(const Minibatch& minibatch, const CallContext& like) const {
  LearntRows rows;
  std::vector<RowRequest> requests;
  if (minibatch.nodes.empty()) return rows;  // without seeds
  const std::vector<PushMark> after = Marks();
  for (size_t i = 0; i < learnt_.size(); ++i) {
    const Learnt& learnt = learnt_[i];
    const std::vector<int64_t>& ids = minibatch.nodes[learnt.node_type];
    rows.by_type.push_back(torch::empty({std::ssize(ids), learnt.spec.dim}));
    requests.push_back({.tensor = learnt.spec.ref,
                        .ids = ids,
                        .out = BytesOf(rows.by_type.back()),
                        .after = after[i]});
  }
  CallContext context = InnerContext(like);
  context.post = nullptr;
  HG_RETURN_IF_ERROR(
      Annotate(rows_->Pull(requests, context), "pulling learnt inputs of a minibatch"));
  rows.stats = context.stats;
  return rows;
}

void LearntInputs::Give(const LearntRows& rows, bool training, ModelInput* input) {
  for (size_t i = 0; i < learnt_.size(); ++i) {
    learnt_[i].given = torch::Tensor();
    if (rows.by_type.empty()) continue;
    torch::Tensor given = rows.by_type[i];
    if (training) learnt_[i].given = given.requires_grad_();
    input->nodes[learnt_[i].node_type] = given;
  }
}

Status LearntInputs::Push(const Minibatch& minibatch, const CancelToken* cancel, TraceId trace_id) {
  CallContext context{.cancel = cancel, .trace_id = trace_id};
  std::vector<RowPush> pushes;
  std::vector<torch::Tensor> gradients;  // what the pushes borrow
  for (const Learnt& learnt : learnt_) {
    RowPush& push = pushes.emplace_back(RowPush{
        .tensor = learnt.spec.ref,
        .step =
            SyncStep{.step = next_step_, .rank = rank_, .world_size = world_size_, .run = run_}});
    const torch::Tensor gradient = learnt.given.defined() ? learnt.given.grad() : torch::Tensor();
    if (!gradient.defined()) continue;
    push.ids = minibatch.nodes[learnt.node_type];
    push.rows = BytesOf(gradients.emplace_back(gradient.contiguous()));
  }
  auto marks = rows_->Push(pushes, context);
  if (!marks.ok()) {
    return Annotate(marks.status(),
                    fmt::format("pushing the gradients of learnt inputs, step {}", next_step_));
  }
  for (Learnt& learnt : learnt_) learnt.given = torch::Tensor();
  ++next_step_;
  const MutexLock lock(mutex_);
  marks_ = *std::move(marks);
  return OkStatus();
}

}  // namespace halograph
