// Checkpoints: every tensor's rows as they were at one moment, while pushes go on.
#include <algorithm>
#include <set>

#include "common/state/engine/admin_turn.h"
#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/log/bytes.h"
#include "common/state/engine/store.h"

namespace halograph {
namespace {

// Pushes wait for so many to be copied, and maybe for the processor until they are written.
constexpr int64_t kImageBytesAtATime = int64_t{128} << 10;
// An increment more, and the next checkpoint is whole. Snapshots stay increments for longer, since
// they promise to be small.
constexpr size_t kMostIncrements = 8;
constexpr size_t kMostIncrementsOfSnapshots = 64;

// Time for a checkpoint: there is room for the pushes that come in meanwhile.
bool IsLong(const PushLog::Stats& log, const StateOptions& options) {
  return 2 * log.full_segment_bytes >= options.log_bytes;
}

bool HasSteps(const StepCollector& steps) {
  return steps.step() >= 0 || steps.memory().world_size > 0;
}

}  // namespace

bool Store::LogIsFull() const {
  const PushLog::Stats log = log_->stats();
  if (IsLong(log, options_)) checkpointer_->Want();
  return log.full_segment_bytes >= options_.log_bytes && !step_snapshot_waits_;
}

void Store::CheckpointIfLong() {
  const AdminTurn turn(*this);
  if (!IsLong(log_->stats(), options_)) return;
  const Status written = WriteCheckpoint(nullptr, std::nullopt, {}).status();
  if (written.ok()) return;
  log_->Fail(Annotate(written, "the checkpoint that shortens the log"));  // it would grow for ever
}

Status Store::Checkpoint(const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  return WriteCheckpoint(nullptr, std::nullopt, limits).status();
}

bool Store::NextIsWhole(bool snapshot) const {
  if (checkpoint_.files.empty()) return true;
  const size_t increments = checkpoint_.files.size() - 1;
  if (snapshot) return increments >= kMostIncrementsOfSnapshots;
  int64_t bytes = 0;
  for (size_t i = 1; i < checkpoint_.files.size(); ++i) {
    bytes += file_bytes_.at(checkpoint_.files[i]);
  }
  return increments >= kMostIncrements || bytes >= file_bytes_.at(checkpoint_.files[0]);
}

StatusOr<SnapshotInfo> Store::WriteCheckpoint(const std::string* name, std::optional<int64_t> step,
                                              const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(log_->failure());
  const bool whole = NextIsWhole(name != nullptr);
  Moments moments;
  SnapshotInfo info;
  info.step = step.value_or(-1);
  if (name != nullptr) info.name = *name;
  Status status = FindMoments(step, whole, limits, &moments);
  if (status.ok()) status = WriteMoments(moments, whole, limits, &info);
  ReleaseMoments(moments, status.ok());
  if (!status.ok()) return status;
  return info;
}

Status Store::FindMoments(std::optional<int64_t> step, bool whole, const WorkLimits& limits,
                          Moments* moments) {
  {
    const MonitorLock lock(*monitor_);
    for (const auto& [number, tensor] : tensors_) {
      moments->push_back(std::make_shared<Moment>());
      moments->back()->tensor = tensor;
      moments->back()->whole = whole;
      if (!step.has_value()) ReachNow(*moments->back());
    }
    step_snapshot_waits_ = step.has_value();
    // The step may need pushes that wait for a shorter log, which comes after this snapshot only.
    if (step_snapshot_waits_) monitor_->NotifyAll();
  }
  Status status = step.has_value() ? AwaitStep(*step, limits, *moments) : OkStatus();
  {
    const MonitorLock lock(*monitor_);
    step_snapshot_waits_ = false;
    for (const auto& moment : *moments) moment->tensor->progress.moment = nullptr;
    std::erase_if(*moments, [](const auto& moment) { return !moment->reached; });
  }
  // All: every turn that was taken is waited for, or left.
  const Patience patience(limits, env_.scheduler());
  for (const auto& moment : *moments) {
    const Status captured = CaptureInTurn(*moment, patience);
    if (status.ok()) status = captured;
  }
  return status;
}

Status Store::AwaitStep(int64_t step, const WorkLimits& limits, const Moments& moments) {
  const int64_t until = env_.scheduler().NowNs() + options_.step_timeout_ns;
  while (true) {
    Moments now;
    {
      const MonitorLock lock(*monitor_);
      HG_ASSIGN_OR_RETURN(const std::string missing, FindReached(step, moments, &now));
      if (now.empty() && missing.empty()) return OkStatus();
      if (now.empty()) {
        const Status waited = WaitForChange(limits, until);
        if (absl::IsDeadlineExceeded(waited)) {
          return DeadlineExceeded(
              "step {} was not reached in time: {}; if nobody pushes to it any more, drop the "
              "tensor or snapshot without a step",
              step, missing);
        }
        HG_RETURN_IF_ERROR(waited);
      }
    }
    // At once: pushes to these tensors wait for the turns that were taken.
    Status status;
    for (const auto& moment : now) {
      const Status captured = CaptureInTurn(*moment, Patience(limits, env_.scheduler()));
      if (status.ok()) status = captured;
    }
    HG_RETURN_IF_ERROR(status);
  }
}

StatusOr<std::string> Store::FindReached(int64_t step, const Moments& moments, Moments* now) {
  std::string missing;
  bool any_steps = moments.empty();
  Moments without_steps;
  for (const auto& moment : moments) {
    LiveTensor& tensor = *moment->tensor;
    const StepCollector& steps = tensor.progress.steps;
    any_steps = any_steps || HasSteps(steps);
    if (moment->reached) continue;
    if (steps.step() > step) {
      return FailedPrecondition(
          "step {} is over: {} is at step {}; choose a later step, snapshot without a step, or "
          "drop the tensor if it is of an earlier run",
          step, tensor.spec.ref.ToString(), steps.step());
    }
    tensor.progress.moment = moment;
    tensor.progress.moment_step = step;
    if (steps.step() == step) {
      now->push_back(moment);
    } else if (!HasSteps(steps)) {
      without_steps.push_back(moment);
    } else {
      missing = fmt::format("{} is at step {}{}{}", tensor.spec.ref.ToString(), steps.step(),
                            steps.empty() ? "" : "; ", steps.Missing());
    }
  }
  if (!any_steps) missing = "no tensor has a synchronous push";
  // Tensors that nobody pushes in steps come last.
  if (missing.empty() && now->empty()) *now = without_steps;
  for (const auto& moment : *now) ReachNow(*moment);
  return missing;
}

void Store::ReachNow(Moment& moment) {
  moment.ticket = moment.tensor->turns.Take();
  Reach(moment, last_lsn_);
}

void Store::Reach(Moment& moment, int64_t lsn) {
  LiveTensor::Progress& progress = moment.tensor->progress;
  progress.moment = nullptr;
  moment.at = {moment.tensor->number, lsn, progress.pushes, progress.pushed_rows,
               progress.steps.memory()};
  moment.waiting = progress.steps.Waiting();
  moment.reached = true;
  monitor_->NotifyAll();
}

void Store::Capture(Moment& moment) {
  LiveTensor& tensor = *moment.tensor;
  tensor.touched.AddAll(tensor.dirty);
  moment.capture = std::make_shared<RowCapture>(moment.whole ? tensor.touched : tensor.dirty,
                                                options_.max_image_bytes, env_.scheduler());
  tensor.capture = moment.capture;
  tensor.dirty.Clear();
}

std::string Store::WaitingFor(const LiveTensor& tensor) {
  return fmt::format("waiting for the pushes to {} before it", tensor.spec.ref.ToString());
}

int64_t Store::TakeTicket(LiveTensor& tensor) {
  const MonitorLock lock(*monitor_);
  return tensor.turns.Take();
}

Status Store::CaptureInTurn(Moment& moment, const Patience& patience) {
  LiveTensor& tensor = *moment.tensor;
  if (!moment.ticket.has_value()) {
    // The push that reached the moment captures. No turn of our own may be waited for: a later push
    // may have the turn before it, and wait for the images to be written.
    const MonitorLock lock(*monitor_);
    while (!moment.performed) {
      const Status waited = (moment.claimed ? Patience() : patience).Wait(*monitor_);
      if (waited.ok()) continue;
      moment.given_up = true;
      return Annotate(waited, WaitingFor(tensor));
    }
    return OkStatus();
  }
  if (moment.capture != nullptr) return OkStatus();  // done before
  const Status waited = tensor.turns.WaitForTurn(*moment.ticket, patience, [] {});
  if (!waited.ok()) return Annotate(waited, WaitingFor(tensor));
  Capture(moment);
  tensor.turns.EndTurn();
  return OkStatus();
}

bool Store::Claim(Moment& moment) {
  const MonitorLock lock(*monitor_);
  moment.claimed = !moment.given_up;
  return moment.claimed;
}

void Store::ReleaseMoments(const Moments& moments, bool written) {
  for (const auto& moment : moments) {
    if (moment->capture == nullptr) continue;  // its push found no memory
    LiveTensor& tensor = *moment->tensor;
    moment->capture->Close();
    moment->capture->RunLeft();
    static_cast<void>(tensor.turns.WaitForTurn(TakeTicket(tensor), Patience(), [] {}).ok());
    tensor.capture = nullptr;
    if (!written) tensor.dirty.AddAll(moment->capture->wanted());
    tensor.turns.EndTurn();
  }
}

Status Store::WriteMoments(const Moments& moments, bool whole, const WorkLimits& limits,
                           SnapshotInfo* info) {
  std::string clients;
  CheckpointInfo next;
  {
    const MonitorLock lock(*monitor_);
    clients_.Save(&clients);
    next.lsn = last_lsn_;
  }
  if (!whole) next.files = checkpoint_.files;
  next.first_lsn = next.lsn + 1;
  for (const auto& moment : moments) {
    next.first_lsn = std::min(next.first_lsn, moment->at.lsn + 1);
    info->lsn = std::max(info->lsn, moment->at.lsn);
    info->step = std::max(info->step, moment->at.steps.step);
  }
  const int64_t number = next_file_++;
  next.files.push_back(number);
  HG_ASSIGN_OR_RETURN(info->bytes, WriteFile(number, moments, clients));
  HG_RETURN_IF_ERROR(log_->SyncTo(next.lsn, Patience(limits, env_.scheduler())));
  next.first_epoch = log_->FirstEpochAfter(next.first_lsn - 1);
  CatalogueSnapshot snapshot = {*info, next.files, {}};
  for (const auto& moment : moments) {
    snapshot.tensors.push_back({moment->tensor->number, moment->tensor->spec});
  }
  return SwitchTo(next, info->name.empty() ? nullptr : &snapshot, nullptr);
}

Status Store::SwitchTo(const CheckpointInfo& next, const CatalogueSnapshot* snapshot,
                       const std::vector<CatalogueTensor>* tensors) {
  // The images may show a push that the log lacks, or lack one that it holds.
  HG_RETURN_IF_ERROR(log_->failure());
  KeptSnapshots::List snapshots = snapshots_.list();
  std::shared_ptr<const KeptSnapshot> made;
  if (snapshot != nullptr) snapshots.push_back(made = snapshots_.Share(*snapshot));
  const std::set<int64_t> named = NamedBy(next, snapshots);
  HG_RETURN_IF_ERROR(
      Written(catalogue_->SetCheckpoint(next, LeftBeside(named), snapshot, tensors)));
  checkpoint_ = next;
  SetNamedFiles(named);
  log_->Free(next.first_epoch);
  {
    const MonitorLock lock(*monitor_);
    ++checkpoints_;
    checkpointed_ns_ = env_.scheduler().NowNs();
    if (made != nullptr) snapshots_.Add(std::move(made));
    monitor_->NotifyAll();
  }
  RemoveUnusedFiles();
  return OkStatus();
}

StatusOr<int64_t> Store::WriteFile(int64_t number, const Moments& moments,
                                   const std::string& clients) {
  StatusOr<int64_t> bytes = WriteSections(FilePath(number), moments, clients);
  if (bytes.ok()) {
    file_bytes_[number] = *bytes;
    unused_.insert(number);  // until the catalogue names it
  } else if (!absl::IsResourceExhausted(bytes.status())) {
    // A full disk ends this file only; whatever else failed, what is on the disk is unknown.
    log_->Fail(bytes.status());
  }
  return bytes;
}

StatusOr<int64_t> Store::WriteSections(const std::filesystem::path& path, const Moments& moments,
                                       const std::string& clients) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointWriter> writer,
                      CheckpointWriter::Create(path, catalogue_->generation(), env_.files()));
  HG_RETURN_IF_ERROR(WriteImages(moments, writer.get()));
  std::vector<TensorMoment> at;
  for (const auto& moment : moments) at.push_back(moment->at);
  HG_RETURN_IF_ERROR(writer->AddMoments(at));
  HG_RETURN_IF_ERROR(writer->AddClients(BytesOf(clients)));
  for (const auto& moment : moments) {
    for (const auto& push : moment->waiting) HG_RETURN_IF_ERROR(writer->AddWaiting(*push));
  }
  return writer->Finish();
}

// Of all tensors in turns: no push waits long for the images that it saved to be written.
Status Store::WriteImages(Moments moments, CheckpointWriter* writer) const {
  RowImages images;
  std::erase_if(moments, [](const auto& moment) { return moment->capture == nullptr; });
  while (!moments.empty()) {
    for (auto& moment : moments) {
      const StateRows& table = *moment->tensor->table;
      const int64_t rows =
          std::max<int64_t>(1, kImageBytesAtATime / static_cast<int64_t>(table.image_bytes()));
      images.rows.clear();
      images.images.clear();
      const uint32_t number = moment->tensor->number;
      bool more = false;
      {
        const TurnsRead read(moment->tensor->turns);
        HG_RETURN_IF_ERROR(moment->tensor->CheckWhole());
        HG_ASSIGN_OR_RETURN(more, moment->capture->TakeNext(rows, table, &images));
      }
      moment->capture->RunLeft();
      if (!more) moment = nullptr;
      if (!images.rows.empty()) HG_RETURN_IF_ERROR(writer->AddImages(number, images));
      // A thread that computes all the time keeps its processor for milliseconds, while threads of
      // a push, which wake each other, wait for one.
      if (pushes_under_way_ > 0) env_.scheduler().Yield();
    }
    std::erase(moments, nullptr);
  }
  return OkStatus();
}

}  // namespace halograph
