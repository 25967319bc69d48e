#include "proto/state/tensor_messages.h"

#include <limits>

#include "halograph/v1/kv.pb.h"

namespace halograph {
namespace {

constexpr size_t kFieldBytes = 1 + 5;  // a tag, and a length below 2^32

// The enumerations have the same values on both sides.
template <typename Ours, typename Theirs>
constexpr bool Same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(Same(Placement::kNodes, v1::PLACEMENT_NODES));
static_assert(Same(Placement::kEdges, v1::PLACEMENT_EDGES));
static_assert(Same(Placement::kRange, v1::PLACEMENT_RANGE));
static_assert(Same(Placement::kHash, v1::PLACEMENT_HASH));
static_assert(Same(Initializer::Kind::kZeros, v1::Initializer::ZEROS));
static_assert(Same(Initializer::Kind::kConstant, v1::Initializer::CONSTANT));
static_assert(Same(Initializer::Kind::kUniform, v1::Initializer::UNIFORM));
static_assert(Same(Initializer::Kind::kNormal, v1::Initializer::NORMAL));
static_assert(Same(Initializer::Kind::kXavier, v1::Initializer::XAVIER));
static_assert(Same(RowOptimizer::Kind::kNone, v1::RowOptimizer::NONE));
static_assert(Same(RowOptimizer::Kind::kSgd, v1::RowOptimizer::SGD));
static_assert(Same(RowOptimizer::Kind::kAdagrad, v1::RowOptimizer::ADAGRAD));
static_assert(Same(RowOptimizer::Kind::kRowAdagrad, v1::RowOptimizer::ROW_ADAGRAD));
static_assert(Same(RowOptimizer::Kind::kAdam, v1::RowOptimizer::ADAM));
static_assert(Same(PushKind::kGradient, v1::PUSH_GRADIENT));
static_assert(Same(PushKind::kAdd, v1::PUSH_ADD));
static_assert(Same(PushKind::kAssign, v1::PUSH_ASSIGN));
static_assert(Same(PushKind::kImage, v1::PUSH_IMAGE));
static_assert(Same(PushKind::kBits, v1::PUSH_BITS));

Status Unknown(const MutableTensorSpec& spec, std::string_view what, int value) {
  return InvalidArgument("{}: {} {} is unknown to this build", spec.ref.ToString(), what, value);
}

void ToProto(const RowOptimizer& optimizer, v1::RowOptimizer* out) {
  out->set_kind(static_cast<v1::RowOptimizer::Kind>(optimizer.kind));
  out->set_learning_rate(optimizer.learning_rate);
  out->set_momentum(optimizer.momentum);
  out->set_epsilon(optimizer.epsilon);
  out->set_beta1(optimizer.beta1);
  out->set_beta2(optimizer.beta2);
  out->set_weight_decay(optimizer.weight_decay);
}

// What is not given keeps its default.
RowOptimizer ToOptimizer(const v1::RowOptimizer& wire) {
  RowOptimizer optimizer;
  optimizer.kind = static_cast<RowOptimizer::Kind>(wire.kind());
  if (wire.has_learning_rate()) optimizer.learning_rate = wire.learning_rate();
  optimizer.momentum = wire.momentum();
  if (wire.has_epsilon()) optimizer.epsilon = wire.epsilon();
  if (wire.has_beta1()) optimizer.beta1 = wire.beta1();
  if (wire.has_beta2()) optimizer.beta2 = wire.beta2();
  optimizer.weight_decay = wire.weight_decay();
  return optimizer;
}

}  // namespace

void ToProto(const MutableTensorSpec& spec, v1::MutableTensorSpec* out) {
  out->set_edge(spec.ref.edge);
  out->set_type(spec.ref.type);
  out->set_name(spec.ref.name);
  out->set_placement(static_cast<v1::Placement>(spec.placement));
  out->set_rows(spec.rows);
  out->set_dim(spec.dim);
  out->set_dtype(static_cast<v1::DType>(spec.dtype));
  v1::Initializer* initializer = out->mutable_initializer();
  initializer->set_kind(static_cast<v1::Initializer::Kind>(spec.initializer.kind));
  initializer->set_a(spec.initializer.a);
  initializer->set_b(spec.initializer.b);
  initializer->set_seed(spec.initializer.seed);
  ToProto(spec.optimizer, out->mutable_optimizer());
}

StatusOr<MutableTensorSpec> ToSpec(const v1::MutableTensorSpec& wire) {
  MutableTensorSpec spec;
  spec.ref = {wire.edge(), wire.type(), wire.name()};
  if (!v1::Placement_IsValid(wire.placement())) {
    return Unknown(spec, "placement", wire.placement());
  }
  spec.placement = static_cast<Placement>(wire.placement());
  spec.rows = wire.rows();
  spec.dim = wire.dim();
  if (!v1::DType_IsValid(wire.dtype())) return Unknown(spec, "dtype", wire.dtype());
  if (wire.dtype() != v1::DTYPE_UNSPECIFIED) spec.dtype = static_cast<DType>(wire.dtype());
  if (!v1::Initializer::Kind_IsValid(wire.initializer().kind())) {
    return Unknown(spec, "initializer", wire.initializer().kind());
  }
  spec.initializer = {.kind = static_cast<Initializer::Kind>(wire.initializer().kind()),
                      .a = wire.initializer().a(),
                      .b = wire.initializer().b(),
                      .seed = wire.initializer().seed()};
  if (!v1::RowOptimizer::Kind_IsValid(wire.optimizer().kind())) {
    return Unknown(spec, "optimizer", wire.optimizer().kind());
  }
  spec.optimizer = ToOptimizer(wire.optimizer());
  return spec;
}

void ToProto(const MutableTensorStats& tensor, v1::TensorState* out) {
  ToProto(tensor.spec, out->mutable_spec());
  out->set_first_id(tensor.ids.begin);
  out->set_end_id(tensor.ids.end);
  out->set_memory_bytes(tensor.memory_bytes);
  out->set_pushes(tensor.pushes);
  out->set_pushed_rows(tensor.pushed_rows);
  out->set_lsn(tensor.lsn);
  out->set_step(tensor.step);
  out->set_refused(tensor.refused);
  out->set_staleness(tensor.staleness);
  out->set_not_finite_rows(tensor.not_finite_rows);
}

void ToProto(int part, const StateStats& stats, v1::PartState* out) {
  out->set_part(static_cast<uint32_t>(part));
  for (const MutableTensorStats& tensor : stats.tensors) ToProto(tensor, out->add_tensors());
  out->set_lsn(stats.lsn);
  out->set_synced_lsn(stats.synced_lsn);
  out->set_log_bytes(stats.log_bytes);
  out->set_sync_seconds(stats.sync_seconds);
  out->set_syncs(stats.syncs);
  out->set_recovery_seconds(stats.recovery_seconds);
  out->set_replayed_pushes(stats.replayed_pushes);
  out->set_checkpoints(stats.checkpoints);
  out->set_checkpoint_age_seconds(stats.checkpoint_age_seconds);
  out->set_registered_clients(stats.registered_clients);
}

StatusOr<StateStats> ToStats(const v1::PartState& wire) {
  StateStats stats{.tensors = {},
                   .lsn = wire.lsn(),
                   .synced_lsn = wire.synced_lsn(),
                   .log_bytes = wire.log_bytes(),
                   .sync_seconds = wire.sync_seconds(),
                   .syncs = wire.syncs(),
                   .recovery_seconds = wire.recovery_seconds(),
                   .replayed_pushes = wire.replayed_pushes(),
                   .registered_clients = wire.registered_clients(),
                   .checkpoints = wire.checkpoints(),
                   .checkpoint_age_seconds = wire.checkpoint_age_seconds()};
  for (const v1::TensorState& of_tensor : wire.tensors()) {
    MutableTensorStats& tensor = stats.tensors.emplace_back();
    HG_ASSIGN_OR_RETURN(tensor.spec, ToSpec(of_tensor.spec()));
    tensor.ids = {of_tensor.first_id(), of_tensor.end_id()};
    tensor.memory_bytes = of_tensor.memory_bytes();
    tensor.pushes = of_tensor.pushes();
    tensor.pushed_rows = of_tensor.pushed_rows();
    tensor.lsn = of_tensor.lsn();
    tensor.step = of_tensor.step();
    tensor.refused = of_tensor.refused();
    tensor.staleness = of_tensor.staleness();
    tensor.not_finite_rows = of_tensor.not_finite_rows();
  }
  return stats;
}

void ToProto(int part, const SnapshotInfo& info, v1::PartSnapshot* out) {
  out->set_part(static_cast<uint32_t>(part));
  out->set_name(info.name);
  out->set_lsn(info.lsn);
  out->set_step(info.step);
  out->set_bytes(info.bytes);
  for (const MutableTensorSpec& spec : info.tensors) ToProto(spec, out->add_tensors());
}

size_t MessageBytes(const MutableTensorStats& tensor) {
  v1::TensorState message;
  ToProto(tensor, &message);
  return message.ByteSizeLong() + kFieldBytes;
}

size_t MessageBytes(const MutableTensorSpec& spec) {
  v1::MutableTensorSpec message;
  ToProto(spec, &message);
  return message.ByteSizeLong() + kFieldBytes;
}

size_t MessageBytes(const SnapshotInfo& info) {
  v1::PartSnapshot message;
  // Its length may take more bytes than it says here: it has no tensors yet.
  ToProto(std::numeric_limits<int>::max(), SnapshotInfo{info.name, info.lsn, info.step, info.bytes},
          &message);
  return message.ByteSizeLong() + kFieldBytes;
}

StatusOr<SnapshotInfo> ToInfo(const v1::PartSnapshot& wire) {
  SnapshotInfo info{
      .name = wire.name(), .lsn = wire.lsn(), .step = wire.step(), .bytes = wire.bytes()};
  for (const v1::MutableTensorSpec& spec : wire.tensors()) {
    HG_ASSIGN_OR_RETURN(info.tensors.emplace_back(), ToSpec(spec));
  }
  return info;
}

}  // namespace halograph
