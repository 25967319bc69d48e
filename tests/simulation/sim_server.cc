#include "tests/simulation/sim_server.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "common/base/counted.h"
#include "common/state/engine/rows/live_tensor.h"
#include "tests/simulation/sim_client.h"

namespace halograph::sim {
namespace {

constexpr int kWorkers = 3;
constexpr size_t kPushesTogether = 4;
constexpr int64_t kPushLimitNs = 300 * kMillisecond;
constexpr int64_t kPullLimitNs = 60 * kMillisecond;
// A sync may begin late and take its time.
constexpr int64_t kSyncSlackNs = 60 * kMillisecond;

// A segment that has no header yet: with a bit in its place it is no segment, and not used again.
bool IsOnlyMade(const SimDisk& disk, const std::string& path) {
  const StatusOr<int> file = disk.Open(path);
  if (!file.ok()) return false;
  SimDisk::Bytes block(static_cast<size_t>(std::min<int64_t>(disk.Size(*file), 4096)));
  return disk.Read(*file, 0, block) && std::all_of(block.begin(), block.end(), [](std::byte byte) {
           return byte == std::byte();
         });
}

}  // namespace

std::vector<ModelTensor> TensorsOf(const World& world, int server) {
  std::vector<ModelTensor> tensors;
  const IdRange ids = world.IdsOf(server);
  for (const MutableTensorSpec& spec : world.plan.tensors) {
    ModelTensor& tensor = tensors.emplace_back();
    tensor.spec = spec;
    tensor.total_rows = world.plan.rows;
    for (int64_t id = ids.begin; id < ids.end; ++id) tensor.ids.push_back(id);
  }
  return tensors;
}

SimServer::SimServer(World* world, int index, uint64_t seed)
    : world_(world),
      index_(index),
      random_(seed),
      machine_(&world->scheduler, 1 + index, random_.Bits()),
      history_(TensorsOf(*world, index), world->plan.registered ? world->plan.num_clients : 0) {
  machine_.disk().MakeDurableFolder("/state");
}

StateOptions SimServer::Options() const {
  const Plan& plan = world_->plan;
  StateOptions options;
  options.folder = "/state/part";
  options.sync = plan.sync;
  options.sync_interval_ns = plan.sync_interval_ns;
  options.memory_bytes = MemoryBytes();
  options.segment_bytes = plan.segment_bytes;
  options.log_bytes = plan.log_bytes;
  options.max_image_bytes = plan.max_image_bytes;
  options.max_push_bytes = int64_t{1} << 16;
  if (!plan.registered) return options;
  options.max_clients = 1;
  options.max_registered_clients = plan.num_clients;
  options.client_age_s = plan.age_counts ? int64_t{1} << 40 : 0;
  options.client_pushes = plan.age_counts ? 0 : int64_t{1} << 40;
  return options;
}

// Room for the sets of rows of all tensors, twice, and for the rows of the first ones.
int64_t SimServer::MemoryBytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < world_->plan.tensors.size(); ++i) {
    const LiveTensor::Size size = LiveTensor::SizeOf(world_->plan.tensors[i], Graph()).value();
    bytes += 2 * size.set_bytes + (i < world_->plan.in_memory ? size.row_bytes : 0);
  }
  return bytes;
}

StateGraph SimServer::Graph() const {
  StateGraph graph;
  graph.identity = "simulated";
  graph.part = index_;
  graph.schema = &world_->schema;
  graph.book = &world_->book;
  graph.original_ids = [this](bool, int) -> StatusOr<std::span<const int64_t>> {
    const IdRange ids = world_->IdsOf(index_);
    return std::span<const int64_t>(world_->original_ids)
        .subspan(static_cast<size_t>(ids.begin), static_cast<size_t>(ids.size()));
  };
  return graph;
}

bool SimServer::ends() const { return stopping_ || machine_.crashed() || world_->over; }

WorkLimits SimServer::Within(int64_t ns) const {
  WorkLimits limits;
  limits.deadline = std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(world_->scheduler.now_ns() + ns));
  return limits;
}

bool SimServer::excused() const {
  constexpr int64_t kAlmostFull = 1 << 20;
  return machine_.num_faults() > faults_before_ || machine_.free_bytes() < kAlmostFull;
}

void SimServer::Run() {
  while (!world_->over) {
    const bool opened = Open();
    const bool probe = world_->plan.bit_rot && !world_->healed && random_.Chance(0.4);
    if (opened && world_->finishing) {
      CheckTheEnd();
      done_ = true;
    } else if (opened && !probe) {
      Serve();
    }
    const bool as_it_was = Close();
    if (done_) return;
    // What is in the log and not known could not be judged.
    if (opened && probe && as_it_was && history_.Unsettled().empty()) ProbeBitRot();
    world_->scheduler.Sleep(random_.Between(1, 50) * kMillisecond);
  }
}

bool SimServer::Open() {
  faults_before_ = machine_.num_faults();
  env_ = machine_.Boot();
  StatusOr<std::unique_ptr<StateStore>> store = StateStore::Open(Options(), Graph(), *env_);
  if (machine_.crashed()) {
    ++world_->statistics.crashes_in_recovery;
    return false;
  }
  if (!store.ok()) {
    if (!excused()) {
      world_->Fail(fmt::format("server {} does not open after {}: {}", index_, end_.how,
                               halograph::ToString(store.status())));
    } else if (absl::IsDataLoss(store.status())) {
      world_->Fail(fmt::format("server {}: takes a failed read or write for damage: {}", index_,
                               halograph::ToString(store.status())));
    }
    return false;
  }
  store_ = std::move(*store);
  for (const MutableTensorSpec& spec : world_->plan.tensors) {
    const Status created = store_->Create(spec);
    if (machine_.crashed()) return false;
    if (created.ok()) continue;
    if (!excused()) {
      world_->Fail(fmt::format("server {}: cannot create a tensor: {}", index_,
                               halograph::ToString(created)));
    }
    return false;
  }
  if (!RegisterClients()) return false;
  JudgeLife();
  return !world_->failed();
}

bool SimServer::RegisterClients() {
  if (!world_->plan.registered) return true;
  for (const auto& client : world_->clients) {
    const Status registered = store_->RegisterClient(client->id(), {}).status();
    if (machine_.crashed()) return false;
    if (registered.ok() || absl::IsAlreadyExists(registered)) continue;
    if (!excused()) {
      world_->Fail(fmt::format("server {}: cannot register a client: {}", index_,
                               halograph::ToString(registered)));
    }
    return false;
  }
  return true;
}

void SimServer::RegisterOneMore() {
  const Status refused = store_->RegisterClient(random_.Bits(), {}).status();
  if (machine_.crashed() || absl::IsResourceExhausted(refused) || excused()) return;
  world_->Fail(fmt::format("server {}: a client had to leave the table, or: {}", index_,
                           halograph::ToString(refused)));
}

void SimServer::PushAsTwin() {
  std::vector<const PushRecord*> acknowledged;
  for (const PushRecord& push : world_->pushes) {
    if (push.server == index_ && push.promised && push.lsn > 0) acknowledged.push_back(&push);
  }
  if (acknowledged.empty()) return;
  PushRecord twin = *acknowledged[random_.Below(acknowledged.size())];
  twin.kind = PushKind::kAdd;
  twin.step = std::nullopt;
  twin.ids = {world_->IdsOf(index_).begin};
  const MutableTensorSpec& spec = world_->plan.tensors[static_cast<size_t>(twin.tensor)];
  twin.values.assign(static_cast<size_t>(spec.dim), 12345);
  const Status refused = store_->Push(RequestOf(twin), Within(kPushLimitNs)).status();
  if (machine_.crashed()) return;
  ++world_->statistics.twins;
  if (absl::IsFailedPrecondition(refused) || absl::IsDeadlineExceeded(refused)) return;
  world_->Fail(fmt::format("server {}: another push with the number of {}: {}", index_,
                           twin.ToString(), halograph::ToString(refused)));
}

StatusOr<StoreRows> SimServer::AllRows(StateStore& store) const {
  StoreRows rows;
  const IdRange range = world_->IdsOf(index_);
  std::vector<int64_t> ids(static_cast<size_t>(range.size()));
  std::iota(ids.begin(), ids.end(), range.begin);
  for (const MutableTensorSpec& spec : world_->plan.tensors) {
    std::vector<std::byte> bytes(ids.size() * RowBytes(spec.dtype, spec.dim));
    HG_RETURN_IF_ERROR(store.Pull(spec.ref, ids, {}, 0, bytes.data(), {}));
    rows.push_back(std::move(bytes));
  }
  return rows;
}

// Nothing goes wrong meanwhile: whether a push was in the log is asked by sending it again, as its
// client would.
void SimServer::JudgeLife() {
  machine_.HoldTrouble(true);
  Recovered recovered;
  recovered.lsn = store_->stats().lsn;
  StatusOr<StoreRows> rows = AllRows(*store_);
  if (!rows.ok()) {
    world_->Fail(
        fmt::format("server {}: cannot pull: {}", index_, halograph::ToString(rows.status())));
    return;
  }
  recovered.rows = std::move(*rows);
  std::vector<std::pair<PushRecord*, StatusOr<PushReceipt>>> again;
  std::vector<PushRecord*> unsettled = history_.Unsettled();
  if (world_->plan.registered) {  // what one says is answered comes before it
    std::stable_sort(unsettled.begin(), unsettled.end(),
                     [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  }
  for (PushRecord* push : unsettled) {
    if (history_.FollowsLost(*push, recovered.lsn)) {
      recovered.in_log[push] = 0;
      continue;
    }
    StatusOr<PushReceipt> receipt = store_->Push(RequestOf(*push), Within(kPushLimitNs));
    if (receipt.ok()) recovered.in_log[push] = receipt->repeated ? receipt->lsn : 0;
    again.emplace_back(push, std::move(receipt));
  }
  std::vector<PushRecord*> lost;
  std::string wrong = history_.LifeEnds(end_, recovered, &lost);
  for (const auto& [push, receipt] : again) {
    if (!wrong.empty()) break;
    history_.PushBegins(push);
    wrong = history_.PushReturned(push, receipt, world_->scheduler.now_ns());
  }
  if (!wrong.empty()) world_->Fail(fmt::format("server {}: {}", index_, wrong));
  if (!lost.empty()) {
    ++losses_;
    world_->network.Forget(index_);
    for (PushRecord* push : lost) {
      if (push->lsn == 0) push->answered_lsn = -1;
      push->next_try_ns = 0;
    }
    for (auto& client : world_->clients) client->ForgetLsns(index_);
  }
  world_->statistics.lost = history_.num_lost();
  end_ = {};
  machine_.HoldTrouble(false);
}

void SimServer::Serve() {
  stopping_ = false;
  restart_ = false;
  ++lives_;
  for (int i = 0; i < kWorkers; ++i) {
    threads_.push_back(world_->scheduler.Start(fmt::format("server{}.{}", index_, i), process(),
                                               [this] { Work(); }));
  }
  threads_.push_back(world_->scheduler.Start(fmt::format("server{}.admin", index_), process(),
                                             [this] { Administrate(); }));
  threads_.push_back(world_->scheduler.Start(fmt::format("server{}.steps", index_), process(),
                                             [this] { KeepSteps(); }));
  world_->scheduler.WaitUntil("a crash, a restart or the end", kForever,
                              [this] { return restart_ || ends(); });
  stopping_ = true;
  threads_.clear();
  if (!machine_.crashed()) ++world_->statistics.restarts;
}

// Up to which LSN a store that closes without a fault shows on the disk that it was synced. At
// kNever, and where the log has failed, the damaged record alone may know it.
int64_t SimServer::ShownByClose(const StateStats& stats) const {
  if (world_->plan.sync == SyncLevel::kNever || stats.tensors.empty()) return 0;
  return stats.tensors.front().refused.empty() ? stats.synced_lsn : 0;
}

// Ends the process, wherever it stands, and notes how it ended. Returns whether it just ended.
bool SimServer::Close() {
  const int64_t faults = machine_.num_faults();
  shown_lsn_ = store_ != nullptr ? ShownByClose(store_->stats()) : 0;
  store_.reset();
  if (machine_.num_faults() > faults) shown_lsn_ = 0;
  const bool crashed = machine_.crashed();
  const int64_t now_ns = machine_.crashed() ? machine_.crashed_ns() : world_->scheduler.now_ns();
  env_.reset();
  if (crashed) machine_.WoundUp();
  const bool power = crashed && machine_.crash_kind() == CrashKind::kPowerLoss;
  const SyncLevel level = world_->plan.sync;
  const int64_t age_ns = world_->plan.sync_interval_ns + kSyncSlackNs;
  // Between lives nobody syncs: what was not synced when this one ended stays so.
  if (end_.how.empty()) end_.ended_ns = now_ns;
  int64_t may_lose_from_ns = INT64_MAX;
  if (level == SyncLevel::kNever && (power || machine_.sync_failed_ns() < INT64_MAX)) {
    may_lose_from_ns = 0;
  } else if (level == SyncLevel::kInterval) {
    // A sync that failed may have dropped what the page cache had.
    if (power) may_lose_from_ns = end_.ended_ns - age_ns;
    if (machine_.sync_failed_ns() < INT64_MAX) {
      may_lose_from_ns = std::min(may_lose_from_ns, machine_.sync_failed_ns() - age_ns);
    }
  }
  end_.may_lose_from_ns = std::min(end_.may_lose_from_ns, may_lose_from_ns);
  end_.how += fmt::format("{}{}", end_.how.empty() ? "" : ", then ",
                          power     ? "a power loss"
                          : crashed ? "a SIGKILL"
                                    : "a restart");
  world_->statistics.crashes += crashed;
  world_->statistics.power_losses += power;
  return !crashed;
}

void SimServer::Work() {
  SimNetwork& network = world_->network;
  while (!ends()) {
    world_->scheduler.WaitUntil("calls", network.NextArrivalNs(index_),
                                [&] { return ends() || network.HasArrived(index_); });
    if (ends()) return;
    // Pushes that are there together are given to the store together.
    std::vector<std::shared_ptr<const Call>> pushes;
    std::shared_ptr<const Call> pull;
    do {
      const std::shared_ptr<const Call> call = network.Take(index_);
      if (call == nullptr || call->losses != losses_) continue;
      if (call->push == nullptr) {
        pull = call;
      } else {
        pushes.push_back(call);
      }
    } while (pull == nullptr && pushes.size() < kPushesTogether && network.HasArrived(index_));
    AnswerPushes(pushes);
    if (machine_.crashed()) return;
    if (pull == nullptr) continue;
    const auto answer = AnswerTo(*pull);
    AnswerPull(*pull, answer.get());
    if (machine_.crashed()) return;
    network.Send(index_, world_->EndOfClient(pull->client), answer);
  }
}

std::shared_ptr<Call> SimServer::AnswerTo(const Call& call) const {
  const auto answer = std::make_shared<Call>();
  answer->is_answer = true;
  answer->client = call.client;
  answer->server = index_;
  answer->number = call.number;
  answer->push = call.push;
  answer->losses = losses_;
  return answer;
}

StatePush SimServer::RequestOf(const PushRecord& push) const {
  return {.push = {.tensor = world_->plan.tensors[static_cast<size_t>(push.tensor)].ref,
                   .kind = push.kind,
                   .step = push.step,
                   .ids = push.ids,
                   .rows = std::as_bytes(std::span(push.values))},
          .id = {.client = push.client_id,
                 .sequence = push.sequence,
                 .registered = push.registered,
                 .answered = push.answered}};
}

void SimServer::AnswerPushes(const std::vector<std::shared_ptr<const Call>>& calls) {
  std::vector<StatePush> pushes;
  for (const auto& call : calls) {
    pushes.push_back(RequestOf(*call->push));
    history_.PushBegins(call->push);
  }
  if (pushes.empty()) return;
  const auto receipts = store_->Push(pushes, Within(kPushLimitNs));
  for (size_t i = 0; i < calls.size() && !machine_.crashed(); ++i) {
    const auto answer = AnswerTo(*calls[i]);
    AnswerPush(*calls[i], receipts[i], answer.get());
    world_->network.Send(index_, world_->EndOfClient(calls[i]->client), answer);
  }
}

void SimServer::AnswerPush(const Call& call, const StatusOr<PushReceipt>& receipt, Call* answer) {
  std::string wrong = history_.PushReturned(call.push, receipt, world_->scheduler.now_ns());
  if (!wrong.empty()) world_->Fail(fmt::format("server {}: {}", index_, wrong));
  answer->status = receipt.status();
  if (receipt.ok()) {
    answer->receipt = *receipt;
    return;
  }
  switch (receipt.status().code()) {
    case absl::StatusCode::kUnavailable:
      if (!excused()) {
        world_->Fail(fmt::format("server {} refuses pushes though nothing failed: {}", index_,
                                 halograph::ToString(receipt.status())));
      }
      restart_ = true;  // an operator sees it
      return;
    case absl::StatusCode::kDeadlineExceeded:
      return;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
      if (call.push->answered_lsn >= 0) return;  // a message of long ago
      [[fallthrough]];
    default:
      world_->Fail(fmt::format("server {}: {} was refused: {}", index_, call.push->ToString(),
                               halograph::ToString(receipt.status())));
  }
}

void SimServer::AnswerPull(const Call& call, Call* answer) {
  const MutableTensorSpec& spec = world_->plan.tensors[static_cast<size_t>(call.tensor)];
  const IdRange range = world_->IdsOf(index_);
  std::vector<int64_t> ids;
  for (const int64_t position : call.positions) ids.push_back(range.begin + position);
  answer->rows.resize(ids.size() * RowBytes(spec.dtype, spec.dim));
  // A server parks pulls that wait, so that they leave its threads to pushes; here one may wait.
  const int64_t limit_ns = waiting_pulls_ > 0 ? 0 : kPullLimitNs;
  const int64_t began = history_.PullBegins();
  {
    const Counted waits(&waiting_pulls_);
    answer->status =
        store_->Pull(spec.ref, ids, {}, call.min_lsn, answer->rows.data(), Within(limit_ns));
  }
  if (machine_.crashed()) return;
  if (answer->status.ok()) {
    history_.PullReturned(began, call.tensor, call.positions, call.min_lsn, answer->rows);
  } else if (!absl::IsDeadlineExceeded(answer->status)) {
    world_->Fail(fmt::format("server {}: a pull was refused: {}", index_,
                             halograph::ToString(answer->status)));
  }
}

// Short ones while a snapshot waits for its step, so that checkpoints are made then, too.
void SimServer::PauseOperator() {
  const bool hurries = step_is_awaited_;
  const int64_t most_ns = hurries ? 20 * kMillisecond : world_->plan.operator_pause_ns;
  world_->scheduler.WaitUntil(
      "work of the operator",
      world_->scheduler.now_ns() + random_.Between(5 * kMillisecond, most_ns),
      [this, hurries] { return ends() || (step_is_awaited_ && !hurries); });
}

void SimServer::Administrate() {
  while (!ends()) {
    if (!makes_room_) PauseOperator();  // else at once
    if (ends()) return;
    if (random_.Chance(0.2)) PushAsTwin();
    if (machine_.crashed()) return;
    if (world_->plan.registered && random_.Chance(0.2)) RegisterOneMore();
    if (machine_.crashed()) return;
    if (std::exchange(makes_room_, false)) {
      DeleteSnapshot();
    } else if (random_.Chance(0.6)) {
      const int64_t began_ns = world_->scheduler.now_ns();
      const Status made = store_->Checkpoint();
      if (machine_.crashed()) return;
      if (made.ok()) {
        history_.CheckpointReturned(began_ns);
        ++world_->statistics.checkpoints;
      } else if (!excused()) {
        world_->Fail(
            fmt::format("server {}: a checkpoint failed: {}", index_, halograph::ToString(made)));
      }
      makes_room_ = !made.ok();
    } else {
      MakeSnapshot();
    }
  }
}

void SimServer::MakeSnapshot() {
  const size_t there = store_->Snapshots().size();
  if (machine_.crashed()) return;
  if (there > 2 && random_.Chance(0.5)) return DeleteSnapshot();
  const StatusOr<SnapshotInfo> made =
      store_->Snapshot(fmt::format("s{}", next_snapshot_++), std::nullopt, Within(kPushLimitNs));
  if (machine_.crashed()) return;
  if (made.ok()) {
    history_.SnapshotReturned(*made, false);
    ++world_->statistics.snapshots;
  } else if (!excused() && !absl::IsDeadlineExceeded(made.status())) {
    world_->Fail(fmt::format("server {}: a snapshot failed: {}", index_,
                             halograph::ToString(made.status())));
  }
  makes_room_ = !made.ok();
}

// As a trainer does, whose ranks push on meanwhile, or have been killed.
void SimServer::KeepSteps() {
  while (!ends()) {
    const int64_t pause_ns = random_.Between(
        5 * kMillisecond, std::min(2 * world_->plan.operator_pause_ns, 200 * kMillisecond));
    world_->scheduler.WaitUntil("a step to be kept", world_->scheduler.now_ns() + pause_ns,
                                [this] { return ends(); });
    if (ends()) return;
    const auto tensor = store_->Describe(world_->plan.tensors[0].ref);
    const size_t there = store_->Snapshots().size();
    if (machine_.crashed()) return;
    if (!tensor.ok() || there > 4 || world_->plan.num_steps == 0) continue;
    step_is_awaited_ = random_.Chance(0.3);
    const StatusOr<SnapshotInfo> made =
        store_->Snapshot(fmt::format("p{}", next_snapshot_++),
                         std::max<int64_t>(0, tensor->step + random_.Between(0, 2)),
                         Within(random_.Between(1, 300) * kMillisecond));
    step_is_awaited_ = false;
    if (machine_.crashed()) return;
    if (made.ok()) {
      history_.SnapshotReturned(*made, true);
      ++world_->statistics.snapshots;
      ++world_->statistics.step_snapshots;
      continue;
    }
    const bool over = made.status().code() == absl::StatusCode::kFailedPrecondition;
    if (!excused() && !over && !absl::IsDeadlineExceeded(made.status())) {
      world_->Fail(fmt::format("server {}: a snapshot of a step failed: {}", index_,
                               halograph::ToString(made.status())));
    }
  }
}

void SimServer::DeleteSnapshot() {
  const std::vector<SnapshotInfo> there = store_->Snapshots();
  if (machine_.crashed() || there.empty()) return;
  const std::string name = there[random_.Below(there.size())].name;
  history_.SnapshotDeleted(name);
  static_cast<void>(store_->DeleteSnapshot(name).ok());
}

// Flips one bit of a file of a store that is closed: it refuses to open, or holds a state that it
// had. Then all is put back.
void SimServer::ProbeBitRot() {
  const SimDisk whole = machine_.TakeImage();
  machine_.HoldTrouble(true);
  machine_.disk().FixCapacity(whole.capacity());
  const std::vector<std::string> files = machine_.disk().Files();
  const std::string path = files.empty() ? "" : files[random_.Below(files.size())];
  if (!path.empty() && machine_.disk().FlipSomeBit(path, random_)) {
    ++world_->statistics.flipped_bits;
    JudgeFlipped(path, OpenFlipped(path, whole));
    env_.reset();
  }
  machine_.PutImage(whole);
  if (world_->healed) machine_.Heal();  // the image had its own room
  machine_.HoldTrouble(false);
}

StatusOr<std::unique_ptr<StateStore>> SimServer::OpenAlone() {
  env_ = machine_.Boot();
  return StateStore::Open(Options(), Graph(), *env_);
}

// A start needs free room, and damage makes it need no more, but where it may not use a file again:
// where there is none for the flipped disk, there is none for the whole one. What the start makes
// of the damage shows with room.
StatusOr<std::unique_ptr<StateStore>> SimServer::OpenFlipped(const std::string& path,
                                                             const SimDisk& whole) {
  auto store = OpenAlone();
  if (!absl::IsResourceExhausted(store.status())) return store;
  const SimDisk flipped = machine_.TakeImage();
  machine_.PutImage(whole);
  machine_.disk().FixCapacity(whole.capacity());
  const Status of_whole = OpenAlone().status();
  if (!absl::IsResourceExhausted(of_whole) && !IsOnlyMade(whole, path)) {
    world_->Fail(fmt::format(
        "server {}: with a flipped bit of {} a start lacks room: {}; without: {}", index_, path,
        halograph::ToString(store.status()), halograph::ToString(of_whole)));
  }
  machine_.PutImage(flipped);
  machine_.disk().FixCapacity(SimDisk::kPlenty);
  return OpenAlone();
}

void SimServer::JudgeFlipped(const std::string& path, StatusOr<std::unique_ptr<StateStore>> store) {
  if (!store.ok()) {
    ++world_->statistics.refused_damage;
    if (absl::IsDataLoss(store.status()) || absl::IsFailedPrecondition(store.status())) return;
    world_->Fail(fmt::format("server {}: a flipped bit of {} gives {}", index_, path,
                             halograph::ToString(store.status())));
    return;
  }
  const int64_t lsn = (*store)->stats().lsn;
  const StatusOr<StoreRows> rows = AllRows(**store);
  if (rows.ok() && *rows == history_.StateAt(lsn).Rows() && lsn >= shown_lsn_) return;
  world_->Fail(fmt::format("server {}: a flipped bit of {} was taken: LSN {} of {}, {}", index_,
                           path, lsn, history_.last_lsn(),
                           !rows.ok() ? halograph::ToString(rows.status())
                           : *rows != history_.StateAt(lsn).Rows()
                               ? "rows that the log does not give"
                               : "though it was synced"));
}

// All is healed, all clients are done, and the store was opened once more: nothing is missing,
// nothing is there twice, and each snapshot holds its moment.
void SimServer::CheckTheEnd() {
  int64_t pushes = 0;
  for (const PushRecord& push : world_->pushes) pushes += push.server == index_;
  if (pushes != static_cast<int64_t>(history_.num_logged())) {
    world_->Fail(fmt::format("server {}: {} of {} pushes are in the log", index_,
                             history_.num_logged(), pushes));
  }
  for (const auto& [name, rows] : history_.snapshots()) {
    const Status restored = store_->RestoreSnapshot(name);
    const StatusOr<StoreRows> found = AllRows(*store_);
    if (!restored.ok() || !found.ok()) {
      world_->Fail(fmt::format("server {}: cannot restore snapshot {}: {}", index_, name,
                               halograph::ToString(restored)));
    } else if (rows.has_value() && *found != *rows) {
      world_->Fail(fmt::format("server {}: snapshot {} does not show its moment", index_, name));
    }
  }
  if (!machine_.misuse().empty()) {
    world_->Fail(fmt::format("server {}: {}", index_, machine_.misuse()));
  }
}

}  // namespace halograph::sim
