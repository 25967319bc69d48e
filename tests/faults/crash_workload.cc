#include "tests/faults/crash_workload.h"

#include <cstring>
#include <numeric>
#include <optional>

namespace halograph {
namespace {

constexpr int64_t kMomentumDim = 5;
constexpr int64_t kSyncIntervalNs = 20'000'000;
constexpr uint64_t kFirstClient = 100;
constexpr uint64_t kRun = 7;

StatusOr<std::vector<std::byte>> Pull(const StateStore& store, const MutableTensorSpec& spec) {
  std::vector<int64_t> ids(static_cast<size_t>(spec.rows));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::byte> rows(ids.size() * static_cast<size_t>(spec.dim) * sizeof(float));
  HG_RETURN_IF_ERROR(store.Pull(spec.ref, ids, {}, 0, rows.data(), {}));
  return rows;
}

// `images`: how all rows begin; those that the snapshot has are set.
Status ReadImages(const StateStore& store, const std::string& name, const TensorRef& ref,
                  std::vector<std::byte>* images) {
  std::optional<SnapshotPlace> place = SnapshotPlace();
  while (place.has_value()) {
    HG_ASSIGN_OR_RETURN(const SnapshotPage page, store.ReadSnapshot(name, ref, *place, 200));
    const size_t bytes = page.rows.empty() ? 0 : page.images.size() / page.rows.size();
    for (size_t i = 0; i < page.rows.size(); ++i) {
      const size_t to = static_cast<size_t>(page.rows[i]) * bytes;
      if (to + bytes > images->size()) return Internal("{}: row {}", name, page.rows[i]);
      std::memcpy(images->data() + to, page.images.data() + i * bytes, bytes);
    }
    place = page.next;
  }
  return OkStatus();
}

}  // namespace

CrashGraph::CrashGraph() {
  schema.graph_name = "crash";
  schema.node_types.push_back({.name = "node", .count = 1, .features = {}});
  book = PartitionBook::Create(schema, {{0, 1}}, {}).value();
  state.identity = "crash";
  state.schema = &schema;
  state.book = &book;
}

MutableTensorSpec CountersSpec() {
  MutableTensorSpec spec;
  spec.ref.name = "counters";
  spec.placement = Placement::kRange;
  spec.rows = kCounterRows;
  spec.dim = kCounterDim;
  return spec;
}

MutableTensorSpec MomentumSpec() {
  MutableTensorSpec spec;
  spec.ref.name = "momentum";
  spec.placement = Placement::kRange;
  spec.rows = kMomentumRows;
  spec.dim = kMomentumDim;
  spec.initializer = {.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = 5};
  spec.optimizer = {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 0.05, .momentum = 0.9};
  return spec;
}

StateOptions CrashOptions(const std::string& folder, int sync_level) {
  StateOptions options;
  options.folder = folder;
  options.sync = static_cast<SyncLevel>(sync_level);
  options.sync_interval_ns = kSyncIntervalNs;
  options.segment_bytes = 64 << 10;
  options.log_bytes = 512 << 10;
  return options;
}

CrashPush::CrashPush(int client, int64_t number) : client_(client), number_(number) {
  const int64_t n = (number + 1) / 2;
  if (number % 2 == 1) {
    ids_ = {client, kCounterRows - 1};
    values_ = {1, static_cast<float>(n % 97), 1 + static_cast<float>(n % 7), 1, 0, 0};
    return;
  }
  ids_ = {(n + client) % kMomentumRows, (5 * n + 3 * client + 1) % kMomentumRows,
          (n + client) % kMomentumRows};
  for (int64_t i = 0; i < std::ssize(ids_) * kMomentumDim; ++i) {
    values_.push_back(static_cast<float>((31 * n + 17 * client + 7 * i) % 41 - 20) / 16);
  }
}

StatePush CrashPush::request() const {
  StatePush request;
  request.id = {kFirstClient + static_cast<uint64_t>(client_), static_cast<uint64_t>(number_)};
  RowPush& push = request.push;
  push.ids = ids_;
  push.rows = std::as_bytes(std::span(values_));
  if (number_ % 2 == 1) {
    push.tensor = CountersSpec().ref;
    push.kind = PushKind::kAdd;
  } else {
    push.tensor = MomentumSpec().ref;
    push.kind = PushKind::kGradient;
    push.step =
        SyncStep{.step = number_ / 2, .rank = client_, .world_size = kCrashClients, .run = kRun};
  }
  return request;
}

PushedRows CrashPush::rows() const {
  return {.rows = ids_, .values = std::as_bytes(std::span(values_))};
}

StatusOr<CrashRows> RowsNow(const StateStore& store) {
  CrashRows rows;
  HG_ASSIGN_OR_RETURN(rows.counters, Pull(store, CountersSpec()));
  HG_ASSIGN_OR_RETURN(rows.momentum, Pull(store, MomentumSpec()));
  return rows;
}

StatusOr<CrashRows> RowsOfSnapshot(const StateStore& store, const std::string& name) {
  CrashRows rows;
  rows.counters.resize(kCounterRows * kCounterDim * sizeof(float));
  HG_RETURN_IF_ERROR(ReadImages(store, name, CountersSpec().ref, &rows.counters));
  rows.momentum = MomentumReference().Images();
  HG_RETURN_IF_ERROR(ReadImages(store, name, MomentumSpec().ref, &rows.momentum));
  return rows;
}

StatusOr<std::array<int64_t, kCrashClients>> CountPushes(const std::vector<std::byte>& counters) {
  std::vector<float> rows(kCounterRows * kCounterDim);
  if (counters.size() != rows.size() * sizeof(float)) return Internal("rows of another size");
  std::memcpy(rows.data(), counters.data(), counters.size());
  std::array<int64_t, kCrashClients> counts = {};
  int64_t total = 0;
  for (size_t client = 0; client < kCrashClients; ++client) {
    const float* row = rows.data() + client * kCounterDim;
    counts[client] = static_cast<int64_t>(row[0]);
    int64_t by_97 = 0;
    int64_t by_7 = 0;
    for (int64_t n = 1; n <= counts[client]; ++n) {
      by_97 += n % 97;
      by_7 += 1 + n % 7;
    }
    if (static_cast<float>(by_97) != row[1] || static_cast<float>(by_7) != row[2]) {
      return Internal("client {}: not its first {} pushes", client, counts[client]);
    }
    total += counts[client];
  }
  if (static_cast<float>(total) != rows[(kCounterRows - 1) * kCounterDim]) {
    return Internal("the shared row shows {} pushes, and those of the clients {}",
                    rows[(kCounterRows - 1) * kCounterDim], total);
  }
  return counts;
}

void MomentumReference::GoTo(int64_t step) {
  while (step_ < step) {
    ++step_;
    std::vector<CrashPush> pushes;
    for (int client = 0; client < kCrashClients; ++client) pushes.emplace_back(client, 2 * step_);
    std::vector<PushedRows> lists;
    for (const CrashPush& push : pushes) lists.push_back(push.rows());
    state_.Apply(PushKind::kGradient, lists);
  }
}

std::vector<std::byte> MomentumReference::Rows() {
  std::vector<std::byte> all;
  for (int64_t id = 0; id < kMomentumRows; ++id) {
    const std::vector<std::byte> row = state_.Pull(id);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::vector<std::byte> MomentumReference::Images() {
  std::vector<std::byte> all;
  for (int64_t id = 0; id < kMomentumRows; ++id) {
    const std::vector<std::byte> image = state_.Image(id);
    all.insert(all.end(), image.begin(), image.end());
  }
  return all;
}

}  // namespace halograph
