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

}  // namespace

bool Store::LogIsFull() const {
  const PushLog::Stats log = log_->stats();
  if (IsLong(log, options_)) checkpointer_->Want();
  return log.full_segment_bytes >= options_.log_bytes;
}

void Store::CheckpointIfLong() {
  const AdminTurn turn(*this);
  if (!IsLong(log_->stats(), options_)) return;
  const Status written = WriteCheckpoint(nullptr, {}).status();
  if (written.ok()) return;
  log_->Fail(Annotate(written, "the checkpoint that shortens the log"));  // it would grow for ever
}

Status Store::Checkpoint(const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  return WriteCheckpoint(nullptr, limits).status();
}

bool Store::NextIsWhole() const {
  if (checkpoint_.files.empty()) return true;
  const size_t increments = checkpoint_.files.size() - 1;
  int64_t bytes = 0;
  for (size_t i = 1; i < checkpoint_.files.size(); ++i) {
    bytes += file_bytes_.at(checkpoint_.files[i]);
  }
  return increments >= kMostIncrements || bytes >= file_bytes_.at(checkpoint_.files[0]);
}

StatusOr<SnapshotInfo> Store::WriteCheckpoint(const std::string* name, const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(log_->failure());
  CheckpointUnderWay own;
  SnapshotInfo info;
  if (name != nullptr) info.name = own.name = *name;
  if (name == nullptr) {
    own.chosen = true;
    own.whole = NextIsWhole();
    if (!own.whole) own.base = checkpoint_.files;
  }
  Status status = TakeMoments(own, limits);
  if (status.ok()) status = WriteMoments(own, nullptr, limits, &info);
  ReleaseMoments(own, status.ok());
  if (!status.ok()) return status;
  return info;
}

Status Store::TakeMoments(CheckpointUnderWay& own, const WorkLimits& limits) {
  {
    const MonitorLock lock(*monitor_);
    own.number = next_file_++;
    const TensorMoments before = TakeCount(own);
    for (const auto& [number, tensor] : tensors_) {
      own.moments.push_back(std::make_shared<Moment>());
      Moment& moment = *own.moments.back();
      moment.tensor = tensor;
      moment.of = &own;
      const auto taken = before.find(number);
      if (taken != before.end()) moment.taken_from = taken->second;
      ReachNow(moment);
    }
    own.complete = true;
    own.complete_lsn = last_lsn_;
  }
  // All: every turn that was taken is waited for, or left.
  Status status;
  const Patience patience(limits, env_.scheduler());
  for (const auto& moment : own.moments) {
    const Status captured = CaptureInTurn(*moment, patience);
    if (status.ok()) status = captured;
  }
  return status;
}

Store::TensorMoments Store::TakeCount(CheckpointUnderWay& own) {
  TensorMoments before;
  if (counts_ != nullptr) {
    for (const auto& moment : counts_->moments) {
      if (moment->reached) before[moment->tensor->number] = moment;
    }
  }
  counts_ = &own;
  return before;
}

void Store::ReachNow(Moment& moment) {
  moment.ticket = moment.tensor->turns.Take();
  Reach(moment, last_lsn_);
}

void Store::Reach(Moment& moment, int64_t lsn) {
  LiveTensor::Progress& progress = moment.tensor->progress;
  CheckpointUnderWay& own = *moment.of;
  if (!own.chosen) {
    own.chosen = true;
    if (counts_ == nullptr) counts_ = &own;
    own.whole = counts_ != &own || checkpoint_.files.empty() ||
                checkpoint_.files.size() > kMostIncrementsOfSnapshots;
    if (!own.whole) own.base = checkpoint_.files;
  }
  moment.aside = counts_ != &own;
  moment.whole = own.whole || moment.aside;
  moment.at = {moment.tensor->number,   lsn,
               progress.pushes,         progress.pushed_rows,
               progress.steps.memory(), progress.applied.complete()};
  moment.waiting = progress.steps.Waiting();
  moment.reached = true;
  monitor_->NotifyAll();
}

void Store::Capture(Moment& moment) {
  LiveTensor& tensor = *moment.tensor;
  if (moment.taken_from != nullptr && moment.taken_from->capture != nullptr) {
    tensor.dirty.AddAll(moment.taken_from->capture->wanted());
  }
  tensor.touched.AddAll(tensor.dirty);
  moment.capture = std::make_shared<RowCapture>(moment.whole ? tensor.touched : tensor.dirty,
                                                options_.max_image_bytes, env_.scheduler());
  tensor.captures.push_back(moment.capture);
  if (!moment.aside) tensor.dirty.Clear();
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

void Store::ReleaseMoments(CheckpointUnderWay& own, bool written) {
  bool count_on = false;
  std::vector<std::pair<std::shared_ptr<Moment>, int64_t>> turns;
  {
    const MonitorLock lock(*monitor_);
    for (const auto& moment : own.moments) {
      std::erase(moment->tensor->progress.moments, moment);
      moment->given_up = !moment->claimed;
      while (moment->claimed && !moment->performed) monitor_->Wait(kForever);
    }
    // The turns come before those of whoever counts next.
    count_on = !written && counts_ == &own;
    if (counts_ == &own) counts_ = nullptr;
    for (const auto& moment : own.moments) {
      if (moment->capture == nullptr && moment->taken_from == nullptr) continue;
      turns.emplace_back(moment, moment->tensor->turns.Take());
    }
    std::erase_if(under_way_, [&](const auto& made) { return made.get() == &own; });
    monitor_->NotifyAll();
  }
  for (const auto& [moment, ticket] : turns) {
    if (moment->capture == nullptr) continue;
    moment->capture->Close();
    moment->capture->RunLeft();
  }
  for (const auto& [moment, ticket] : turns) {
    LiveTensor& tensor = *moment->tensor;
    static_cast<void>(tensor.turns.WaitForTurn(ticket, Patience(), [] {}).ok());
    std::erase(tensor.captures, moment->capture);
    const std::shared_ptr<Moment>& from = moment->taken_from;
    if (count_on && moment->capture != nullptr) {
      tensor.dirty.AddAll(moment->capture->wanted());
    } else if (count_on && from != nullptr && from->capture != nullptr) {
      tensor.dirty.AddAll(from->capture->wanted());
    }
    tensor.turns.EndTurn();
  }
}

Status Store::WriteMoments(CheckpointUnderWay& own, std::unique_ptr<CheckpointWriter> writer,
                           const WorkLimits& limits, SnapshotInfo* info) {
  ClientTable::Saved clients;
  CheckpointInfo next;
  Moments moments = own.moments;
  bool aside = false;
  {
    const MonitorLock lock(*monitor_);
    clients = clients_.Save();
    next.lsn = last_lsn_;
    aside = counts_ != &own;
    std::erase_if(moments, [](const auto& moment) { return moment->tensor->progress.dropped; });
  }
  next.files = own.base;
  next.files.push_back(own.number);
  next.first_lsn = own.complete_lsn + 1;  // of tensors that were created since
  for (const auto& moment : moments) {
    next.first_lsn = std::min(next.first_lsn, moment->at.lsn + 1);
    info->lsn = std::max(info->lsn, moment->at.lsn);
    info->step = std::max(info->step, moment->at.steps.step);
  }
  HG_ASSIGN_OR_RETURN(info->bytes, WriteFile(own.number, moments, clients, std::move(writer)));
  HG_RETURN_IF_ERROR(log_->SyncTo(next.lsn, Patience(limits, env_.scheduler())));
  next.first_epoch = log_->FirstEpochAfter(next.first_lsn - 1);
  CatalogueSnapshot snapshot = {*info, next.files, {}};
  for (const auto& moment : moments) {
    snapshot.tensors.push_back({moment->tensor->number, moment->tensor->spec});
  }
  if (aside) return KeepAside(snapshot);
  return SwitchTo(next, info->name.empty() ? nullptr : &snapshot, nullptr);
}

Status Store::SwitchTo(const CheckpointInfo& next, const CatalogueSnapshot* snapshot,
                       const std::vector<CatalogueTensor>* tensors) {
  // The images may show a push that the log lacks, or lack one that it holds.
  HG_RETURN_IF_ERROR(log_->failure());
  std::shared_ptr<const KeptSnapshot> made;
  HG_RETURN_IF_ERROR(Name(next, snapshot, tensors, &made));
  log_->Free(next.first_epoch);
  {
    const MonitorLock lock(*monitor_);
    checkpoint_ = next;
    counts_ = nullptr;
    ++checkpoints_;
    checkpointed_ns_ = env_.scheduler().NowNs();
    if (made != nullptr) snapshots_.Add(std::move(made));
    monitor_->NotifyAll();
  }
  RemoveUnusedFiles();
  return OkStatus();
}

Status Store::KeepAside(const CatalogueSnapshot& snapshot) {
  HG_RETURN_IF_ERROR(log_->failure());
  std::shared_ptr<const KeptSnapshot> made;
  HG_RETURN_IF_ERROR(Name(checkpoint_, &snapshot, nullptr, &made));
  const MonitorLock lock(*monitor_);
  snapshots_.Add(std::move(made));
  monitor_->NotifyAll();
  return OkStatus();
}

Status Store::Name(const CheckpointInfo& next, const CatalogueSnapshot* snapshot,
                   const std::vector<CatalogueTensor>* tensors,
                   std::shared_ptr<const KeptSnapshot>* made) {
  KeptSnapshots::List snapshots = snapshots_.list();
  if (snapshot != nullptr) snapshots.push_back(*made = snapshots_.Share(*snapshot));
  const std::set<int64_t> named = NamedBy(next, snapshots);
  Status set =
      FailUnlessFull(catalogue_->SetCheckpoint(next, LeftBeside(named), snapshot, tensors));
  if (set.ok()) SetNamedFiles(named);
  // A full disk gets back what the file took.
  if (absl::IsResourceExhausted(set)) RemoveUnusedFiles();
  return set;
}

StatusOr<int64_t> Store::WriteFile(int64_t number, const Moments& moments,
                                   const ClientTable::Saved& clients,
                                   std::unique_ptr<CheckpointWriter> writer) {
  unused_.insert(number);  // until the catalogue names it
  StatusOr<int64_t> bytes = WriteSections(FilePath(number), moments, clients, std::move(writer));
  if (!bytes.ok()) return FileFailed(bytes.status(), moments);
  file_bytes_[number] = *bytes;
  return bytes;
}

StatusOr<int64_t> Store::WriteSections(const std::filesystem::path& path, const Moments& moments,
                                       const ClientTable::Saved& clients,
                                       std::unique_ptr<CheckpointWriter> writer) {
  if (writer == nullptr) {
    HG_ASSIGN_OR_RETURN(writer,
                        CheckpointWriter::Create(path, catalogue_->generation(), env_.files()));
  }
  HG_RETURN_IF_ERROR(WriteImages(moments, writer.get()));
  std::vector<TensorMoment> at;
  for (const auto& moment : moments) at.push_back(moment->at);
  HG_RETURN_IF_ERROR(writer->AddMoments(at));
  HG_RETURN_IF_ERROR(writer->AddClients(clients));
  for (const auto& moment : moments) {
    for (const auto& push : moment->waiting) HG_RETURN_IF_ERROR(writer->AddWaiting(*push));
  }
  return writer->Finish();
}

Status Store::FileFailed(const Status& status, const Moments& moments) {
  if (!absl::IsResourceExhausted(status)) return FailUnlessFull(status);
  int64_t bytes = 0;
  for (const auto& moment : moments) {
    if (moment->capture != nullptr) {
      const size_t of_row = sizeof(int64_t) + moment->tensor->table->image_bytes();
      bytes += moment->capture->wanted().Count() * static_cast<int64_t>(of_row);
    }
    for (const auto& push : moment->waiting) bytes += push->record.copied_bytes();
  }
  return ResourceExhausted(
      "{}; some {} bytes are needed for rows and waiting pushes: make room, or delete a snapshot",
      Message(status), bytes);
}

// Of all tensors in turns: no push waits long for the images that it saved to be written.
Status Store::WriteImages(Moments moments, CheckpointWriter* writer) const {
  RowImages images;
  std::erase_if(moments,
                [](const auto& moment) { return moment->capture == nullptr || moment->in_file; });
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
      if (!more) {
        moment->in_file = true;
        moment = nullptr;
      }
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
