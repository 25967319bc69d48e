// How a store begins: its folder, its tensors, and the replay of its log.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "common/base/checksum.h"
#include "common/state/engine/log/bytes.h"
#include "common/state/engine/log/durable_folder.h"
#include "common/state/engine/store.h"

namespace halograph {

namespace {

Status CheckOptions(const StateOptions& options) {
  const std::pair<const char*, int64_t> positive[] = {
      {"segment_bytes", options.segment_bytes},
      {"log_bytes", options.log_bytes},
      {"max_push_bytes", options.max_push_bytes},
      {"max_clients", options.max_clients},
      {"max_image_bytes", options.max_image_bytes},
      {"max_tensors", options.max_tensors},
      {"max_snapshots", options.max_snapshots},
      {"max_registered_clients", options.max_registered_clients},
  };
  for (const auto& [name, value] : positive) {
    if (value <= 0) return InvalidArgument("{} is {}; it must be above 0", name, value);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<StateStore>> StateStore::Open(const StateOptions& options,
                                                       const StateGraph& graph, Env& env) {
  HG_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Store> store;
  const auto begin = [&] {
    store.reset();  // it has the folder
    store = std::make_unique<Store>(options, graph, env);
    Status begun = store->Begin();
    if (!store->begins_again()) return begun;
    auto again = std::make_unique<Store>(options, graph, env);
    again->BeginAgain(*store);
    store = std::move(again);
    return store->Begin();
  };
  Status begun = begin();
  if (absl::IsDataLoss(begun) && options.fall_back_to.empty()) begun = store->WithSnapshots(begun);
  if (absl::IsDataLoss(begun) && !options.fall_back_to.empty()) {
    begun = begin();  // a read may have failed
    if (absl::IsDataLoss(begun)) {
      store.reset();
      begun = Store(options, graph, env).FallBack(begun);
      if (begun.ok()) begun = begin();
    }
  }
  if (!begun.ok()) return Annotate(begun, options.folder.string());
  return std::unique_ptr<StateStore>(std::move(store));
}

Status Store::Begin() {
  const int64_t begin = env_.scheduler().NowNs();
  HG_RETURN_IF_ERROR(OpenFolder());
  HG_RETURN_IF_ERROR(LoadTensors());
  NameTensors();
  HG_RETURN_IF_ERROR(LoadCheckpoint());
  HG_RETURN_IF_ERROR(OpenLog());
  // Now that all that is used was read and fits together.
  HG_RETURN_IF_ERROR(ClearLeftFiles());
  catalogue_->Reserve();
  // What is given up is so for good: the next start must not find it again. It may have more room,
  // and others have read since; the log goes on behind all that was given.
  if (GiveUpWaiting() || !log_->loss().damage.ok()) {
    HG_RETURN_IF_ERROR(Annotate(WriteCheckpoint(nullptr, {}).status(),
                                "the checkpoint without the pushes that are given up"));
  }
  taken_pushes_ = taken_rows_ = 0;  // without what was replayed
  for (const auto& [number, tensor] : tensors_) tensor->not_finite_rows = 0;
  checkpointed_ns_ = env_.scheduler().NowNs();
  recovery_seconds_ = static_cast<double>(checkpointed_ns_ - begin) * 1e-9;
  checkpointer_ = std::make_unique<BackgroundWork>("hg-checkpoint", env_.scheduler(),
                                                   [this] { CheckpointIfLong(); });
  return OkStatus();
}

Status Store::LoadTensors() {
  HG_ASSIGN_OR_RETURN(const std::vector<CatalogueTensor> tensors, catalogue_->Tensors());
  HG_RETURN_IF_ERROR(RemoveRowSpace());
  HG_RETURN_IF_ERROR(MakeTensors(tensors, &memory_bytes_, &tensors_));
  return OkStatus();
}

Status Store::LoadCheckpoint() {
  const std::filesystem::path folder = options_.folder / "checkpoints";
  HG_RETURN_IF_ERROR(MakeDurableFolder(folder, env_.files()));
  HG_ASSIGN_OR_RETURN(checkpoint_, catalogue_->Checkpoint());
  HG_RETURN_IF_ERROR(catalogue_->VisitSnapshots(
      [&](const CatalogueSnapshot& kept) { snapshots_.Add(snapshots_.Share(kept)); }));
  named_files_ = NamedBy(checkpoint_, snapshots_.list());
  for (const int64_t number : named_files_) {
    next_file_ = number + 1;
    StatusOr<std::unique_ptr<ReadableFile>> file = env_.files().OpenToRead(FilePath(number));
    const bool of_checkpoint = std::find(checkpoint_.files.begin(), checkpoint_.files.end(),
                                         number) != checkpoint_.files.end();
    if (absl::IsNotFound(file.status())) {
      // Of a snapshot alone: who reads or restores it is told.
      if (!of_checkpoint) continue;
      return DataLoss("a checkpoint is missing: {}", Message(file.status()));
    }
    HG_RETURN_IF_ERROR(file.status());
    HG_ASSIGN_OR_RETURN(file_bytes_[number], (*file)->Size());
  }
  HG_RETURN_IF_ERROR(LoadRows(checkpoint_.files, tensors_));
  if (checkpoint_.files.empty()) return OkStatus();

  CheckpointVisitor visitor;
  std::map<uint32_t, std::vector<int64_t>> complete;  // by tensor
  visitor.moments = [&](const std::vector<TensorMoment>& moments) {
    for (const TensorMoment& moment : moments) {
      complete[moment.tensor] = moment.complete;
      applied_before_[moment.tensor] = moment.lsn;
      const auto found = tensors_.find(moment.tensor);
      if (found == tensors_.end()) continue;  // it was dropped
      LiveTensor::Progress& progress = found->second->progress;
      progress.steps.Remember(moment.steps);
      progress.applied_step = moment.steps.step;
      progress.pushes = moment.pushes;
      progress.pushed_rows = moment.pushed_rows;
    }
    return OkStatus();
  };
  visitor.clients = [&](std::span<const std::byte> table) { return clients_.LoadDrawn(table); };
  visitor.registered = [&](std::span<const std::byte> table) {
    return clients_.LoadRegistered(table);
  };
  visitor.waiting = [&](const LogRecord& record) { return LoadWaiting(record); };
  HG_RETURN_IF_ERROR(ReadCheckpoint(FilePath(checkpoint_.files.back()), env_.files(), visitor));
  // Now that what waits is there: they count while it is missing.
  for (const auto& [number, tensor] : tensors_) {
    tensor->progress.applied.Complete(complete[number]);
  }
  return OkStatus();
}

Status Store::LoadWaiting(const LogRecord& record) {
  const auto found = tensors_.find(record.tensor);
  if (found == tensors_.end()) return OkStatus();
  LiveTensor::Progress& progress = found->second->progress;
  // It was counted when it came in.
  --progress.pushes;
  progress.pushed_rows -= std::ssize(record.push.ids);
  return PerformAgain(found->second, record);
}

Status Store::LoadRows(const std::vector<int64_t>& files, const TensorMap& tensors) {
  for (const auto& [number, tensor] : tensors) {
    tensor->touched.Clear();
    tensor->dirty.Clear();
    HG_RETURN_IF_ERROR(tensor->table->Forget());
  }
  CheckpointVisitor visitor;
  visitor.images = [&](uint32_t number, std::span<const int64_t> rows,
                       std::span<const std::byte> images) -> Status {
    const auto found = tensors.find(number);
    if (found == tensors.end()) return OkStatus();
    LiveTensor& tensor = *found->second;
    if (images.size() != rows.size() * tensor.table->image_bytes()) {
      return DataLoss("{} bytes of images of {} rows of {}", images.size(), rows.size(),
                      tensor.spec.ref.ToString());
    }
    for (const int64_t row : rows) {
      if (row >= 0 && row < tensor.table->rows()) continue;
      return DataLoss("an image of row {} of {}, which has {}", row, tensor.spec.ref.ToString(),
                      tensor.table->rows());
    }
    HG_RETURN_IF_ERROR(tensor.table->LoadImages(rows, images));
    tensor.touched.Add(rows);
    return OkStatus();
  };
  for (const int64_t number : files) {
    const Status read = ReadCheckpoint(FilePath(number), env_.files(), visitor);
    if (!read.ok()) return Annotate(read, FilePath(number).string());
  }
  for (const auto& [number, tensor] : tensors) {
    HG_RETURN_IF_ERROR(tensor->InitializeRows(tensor->touched));
  }
  return OkStatus();
}

Status Store::OpenLog() {
  PushLogOptions options;
  options.folder = options_.folder / "log";
  options.stamp = Checksum64(BytesOf(fmt::format("{}/{}", graph_.identity, graph_.part)));
  options.sync = options_.sync;
  options.sync_interval_ns = options_.sync_interval_ns;
  options.segment_bytes = options_.segment_bytes;
  options.accept_loss = options_.accept_loss;
  options.on_loss = options_.on_loss;
  options.on_unsynced_loss = options_.on_unsynced_loss;
  options.on_failure = options_.on_failure;
  if (options_.on_sync != nullptr) {
    options.on_sync = [this](int64_t ns) { options_.on_sync(graph_.part, ns); };
  }
  HG_ASSIGN_OR_RETURN(const int64_t synced, catalogue_->SyncedLsn());
  LogStart start;
  start.first_epoch = checkpoint_.first_epoch;
  HG_ASSIGN_OR_RETURN(start.segments, catalogue_->Segments());
  start.first_lsn = checkpoint_.first_lsn;
  start.last_lsn = checkpoint_.lsn;
  start.durable_lsn = std::max(checkpoint_.lsn, synced);
  last_lsn_ = checkpoint_.lsn;
  HG_ASSIGN_OR_RETURN(const uint32_t next_tensor, catalogue_->NextNumber());
  const LogReader replay = {
      [this, next_tensor](const LogRecord& record) { return Replay(record, next_tensor); },
      [this] { return EndReplay(); }};
  HG_ASSIGN_OR_RETURN(log_, PushLog::Open(options, start, *catalogue_, env_, replay));
  last_lsn_ = log_->stats().last_lsn;
  return OkStatus();
}

Status Store::Replay(const LogRecord& record, uint32_t next_tensor) {
  if (record.lsn > checkpoint_.lsn) {
    last_lsn_ = record.lsn;
    clients_.Take(record);
  }
  if (record.registers) return OkStatus();
  const auto found = tensors_.find(record.tensor);
  if (found == tensors_.end() && record.tensor < next_tensor) return OkStatus();  // it was dropped
  if (found == tensors_.end()) {
    return DataLoss(
        "{}: has never given tensor number {}, to which the push of LSN {} is: it is an older "
        "copy, or was cut; restore a copy of the whole state folder",
        (options_.folder / "catalogue").string(), record.tensor, record.lsn);
  }
  const auto before = applied_before_.find(record.tensor);
  if (before != applied_before_.end() && record.lsn <= before->second) return OkStatus();
  const RowPush& push = record.push;
  if (push.rows.size() !=
      push.ids.size() * PushedRowBytes(found->second->spec, push.kind, push.dtype)) {
    return DataLoss("the push of LSN {} has {} bytes of values for {} rows", record.lsn,
                    push.rows.size(), push.ids.size());
  }
  return PerformAgain(found->second, record);
}

}  // namespace halograph
