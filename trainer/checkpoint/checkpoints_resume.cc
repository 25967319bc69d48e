// Checkpoints: how a run goes on from one.
#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "common/base/log.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/checkpoint/files/own_state.h"
#include "trainer/checkpoint/progress.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/models/registry.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

MayDiffer MayDifferIn(const Session& session) {
  return {.always = MarkedKeys(session.options, kMayDifferOnResume),
          .length = MarkedKeys(session.options, kRunLength),
          .defaults = DefaultFacts(session.options.model)};
}

// 0 where parts have steps of their own.
int64_t StepsPerEpoch(const Session& session) {
  if (session.options.average_every > 0) return 0;
  return session.Shards(*session.task->source(BatchPurpose::kTrain))
      .Steps(session.options.batch_size);
}

// Rank 0's text on all ranks.
Status ShareText(Communicator& ranks, std::string* text) {
  torch::Tensor length = torch::full({1}, static_cast<int64_t>(text->size()), torch::kInt64);
  HG_RETURN_IF_ERROR(ranks.Broadcast(length, "sharing what a checkpoint is"));
  text->resize(static_cast<size_t>(length.item<int64_t>()));
  return ranks.Broadcast(
      torch::from_blob(text->data(), {static_cast<int64_t>(text->size())}, torch::kUInt8),
      "sharing what a checkpoint is");
}

// What each file has, so that the other ranks know what to expect.
Json ListTensors(const std::map<std::string, std::map<std::string, torch::Tensor>>& files) {
  Json all = Json::object();
  for (const auto& [file, tensors] : files) {
    Json& list = all[file] = Json::array();
    for (const auto& [name, tensor] : tensors) {
      list.push_back(Json{{"name", name},
                          {"dtype", static_cast<int>(tensor.scalar_type())},
                          {"shape", tensor.sizes().vec()}});
    }
  }
  return all;
}

void MakeRoom(const Json& list,
              std::map<std::string, std::map<std::string, torch::Tensor>>* files) {
  for (const auto& [file, tensors] : list.items()) {
    for (const Json& tensor : tensors) {
      (*files)[file][tensor["name"].get<std::string>()] =
          torch::empty(tensor["shape"].get<std::vector<int64_t>>(),
                       static_cast<torch::ScalarType>(tensor["dtype"].get<int>()));
    }
  }
}

// This rank's row of what UnderWayOfRanks made. A figure that is not there, as an older build had
// it not, begins at 0.
StatusOr<EpochSums> UnderWayOf(const std::map<std::string, torch::Tensor>& of_ranks,
                               const Session& session, std::string_view where) {
  const auto ranks = static_cast<int64_t>(session.options.world_size);
  EpochSums own;
  const auto row = [&](const std::string& key, int64_t size) -> StatusOr<std::span<const double>> {
    const auto found = of_ranks.find(key);
    if (found == of_ranks.end()) return std::span<const double>();
    const torch::Tensor& all = found->second;
    if (all.scalar_type() != torch::kFloat64 || all.sizes() != torch::IntArrayRef({ranks, size})) {
      return DataLoss("{}: '{}' in {} is not {} float64 for each of {} ranks", where, key,
                      kEpochFile, size, ranks);
    }
    return std::span<const double>(all.data_ptr<double>() + session.options.rank * size,
                                   static_cast<size_t>(size));
  };
  for (const FigureRow& figure : FigureRows()) {
    HG_ASSIGN_OR_RETURN(const auto value, row(std::string(figure.key), 1));
    if (!value.empty()) own.figures[figure.figure] = value.front();
  }
  HG_ASSIGN_OR_RETURN(const auto sums,
                      row(kMetricSums, static_cast<int64_t>(session.task->metric().sums)));
  own.metric.assign(sums.begin(), sums.end());
  return own;
}

}  // namespace

StatusOr<bool> Checkpoints::GoesOn(const CheckpointOptions& options) {
  if (options.folder.empty()) return false;
  HG_RETURN_IF_ERROR(CheckIsNoCheckpoint(options.folder));
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(options.folder));
  if (there.empty() || options.resume) return !there.empty();
  std::error_code ignored;
  const std::filesystem::path state = OwnStateOf(options.folder);
  return FailedPrecondition(
      "--checkpoint {}: has checkpoints of a run; --resume goes on from the newest; to begin "
      "anew name another folder, or remove them{}",
      options.folder,
      std::filesystem::exists(state, ignored)
          ? fmt::format(" and {}, which has the rows that it learnt", state.string())
          : "");
}

Status Checkpoints::CheckStart(const Session& session, const std::vector<LearntType>& learnt) {
  const CheckpointOptions& options = session.options.checkpoint;
  if (options.folder.empty()) return OkStatus();
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(options.folder));
  if (!there.empty()) {
    const std::filesystem::path& newest = there.rbegin()->second;
    const auto manifest = ReadCheckpointManifest(newest);  // a damaged one is passed over later
    if (manifest.ok()) {
      HG_RETURN_IF_ERROR(
          CheckSameRun(manifest->run, IdentityOf(session), MayDifferIn(session), newest.string()));
    }
  }
  if (learnt.empty() || session.stores.admin == nullptr) return OkStatus();
  CallContext context{.cancel = &session.cancel};
  const auto states = session.stores.admin->List(context);
  if (!states.ok()) return OkStatus();  // who begins them says what it means
  std::vector<TensorRef> own;
  for (const LearntType& type : learnt) {
    own.push_back(
        TensorOf(session.options.embeddings, type, session.stores.graph->info().schema, 0).ref);
  }
  return CheckAlone(*states, own);
}

Status Checkpoints::GoBackTo(const CheckpointManifest& manifest, const CancelToken& cancel) {
  if (snapshots_ == nullptr) return OkStatus();
  if (!manifest.snapshot.has_value()) {
    return DataLoss("it names no snapshot of the learnt inputs");
  }
  const std::string& name = manifest.snapshot->name;
  CallContext context{.cancel = &cancel};
  return Annotate(
      snapshots_->GoBackTo(name, context),
      fmt::format("its learnt inputs are in snapshot {}, which the store is to go back to "
                  "(give the servers or the --state folder of the run that took it)",
                  name));
}

StatusOr<Json> Checkpoints::ReadNewest(std::map<std::string, Tensors>* files,
                                       const CancelToken& cancel) {
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(options_.folder));
  if (there.empty()) {
    spdlog::info("--resume: {} has no checkpoint yet: beginning anew", options_.folder);
    return Json{{"found", false}};
  }
  const MayDiffer may = MayDifferIn(session_);
  const auto needs = [&](const StoredCheckpoint& checkpoint) -> Status {
    const CheckpointManifest& manifest = checkpoint.manifest;
    HG_RETURN_IF_ERROR(
        CheckSameRun(manifest.run, IdentityOf(session_), may, checkpoint.folder.string()));
    HG_RETURN_IF_ERROR(cancel.Check());
    return GoBackTo(manifest, cancel);
  };
  HG_ASSIGN_OR_RETURN(const StoredCheckpoint read, ReadNewestCheckpoint(options_.folder, needs));
  const std::string folder = read.folder.string();
  for (const auto& [name, file] : read.files) {
    HG_ASSIGN_OR_RETURN((*files)[name], TensorsOfFile(file));
  }
  const CheckpointPlace& place = read.manifest.place;
  spdlog::info("--resume: going on from {}: epoch {}, step {}", folder, place.epoch, place.step);
  resumed_from_ = read.folder;
  return Json{{"found", true},
              {"folder", folder},
              {"manifest", ToJson(read.manifest)},
              {"tensors", ListTensors(*files)}};
}

StatusOr<Json> Checkpoints::ReadWhileOthersWait(std::map<std::string, Tensors>* files) {
  Json header;
  const RankWork read = [&](const CancelToken& cancel) -> Status {
    HG_ASSIGN_OR_RETURN(header, ReadNewest(files, cancel));
    // Those of a run that was killed between a snapshot and its checkpoint.
    if (snapshots_ != nullptr) snapshots_->DeleteUnused();
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(WorkTogether(*session_.ranks, &session_.cancel,
                                  session_.options.rank == 0 ? read : nullptr,
                                  "waiting for rank 0 to read a checkpoint"));
  return header;
}

Status Checkpoints::Resume() {
  std::map<std::string, Tensors> files;
  HG_ASSIGN_OR_RETURN(Json header, ReadWhileOthersWait(&files));
  std::string text = CanonicalJson(header);
  HG_RETURN_IF_ERROR(ShareText(*session_.ranks, &text));
  HG_ASSIGN_OR_RETURN(header, ParseJson(text, "a checkpoint of rank 0"));
  if (!header["found"].get<bool>()) return OkStatus();
  if (session_.options.rank != 0) MakeRoom(header["tensors"], &files);
  for (const auto& [file, tensors] : files) {
    for (const auto& [name, tensor] : tensors) {
      if (tensor.numel() == 0) continue;
      HG_RETURN_IF_ERROR(session_.ranks->Broadcast(tensor, "sharing the weights of a checkpoint"));
    }
  }
  return Begin(header, std::move(files));
}

Status Checkpoints::Begin(const Json& header, std::map<std::string, Tensors> files) {
  const auto folder = header["folder"].get<std::string>();
  HG_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                      ManifestFromJson(header["manifest"], folder));
  const CheckpointPlace& place = manifest.place;
  const int64_t steps = StepsPerEpoch(session_);
  if (place.steps_per_epoch != steps) {
    return FailedPrecondition(
        "{}: the checkpoint has {} steps per epoch, this run has {}: use the same training set, "
        "number of ranks and --batch-size, or another folder",
        folder, place.steps_per_epoch, steps);
  }
  HG_ASSIGN_OR_RETURN(TrainResult so_far,
                      ProgressFromJson(manifest.progress, place.epoch, *session_.task, folder));
  so_far.steps = place.steps_done;
  start_ = {.epoch = place.epoch,
            .step = place.step,
            .steps_done = place.steps_done,
            .so_far = std::move(so_far),
            .best_weights = {},
            .under_way = {}};
  kept_ = KeptMoment{place, start_.so_far.evaluated};
  if (const auto epoch = files.find(kEpochFile); epoch != files.end()) {
    HG_ASSIGN_OR_RETURN(start_.under_way, UnderWayOf(epoch->second, session_, folder));
  }
  if (session_.learnt != nullptr && manifest.snapshot.has_value()) {
    session_.learnt->GoOnWith(manifest.snapshot->next_step);
    best_inputs_ = manifest.best_snapshot;
    if (snapshots_ != nullptr && best_inputs_.has_value()) snapshots_->Spare(best_inputs_->name);
  }

  std::vector<NamedTensor> weights = parameters_;
  weights.insert(weights.end(), buffers_.begin(), buffers_.end());
  HG_RETURN_IF_ERROR(CopyTensors(files[kModelFile], weights, folder));
  if (const auto best = files.find(kBestFile); best != files.end()) {
    for (NamedTensor& weight : weights) weight.tensor = torch::empty_like(weight.tensor.detach());
    HG_RETURN_IF_ERROR(CopyTensors(best->second, weights, folder));
    for (NamedTensor& weight : weights) start_.best_weights.push_back(std::move(weight.tensor));
  }
  optimizer_state_ = std::move(files[kOptimizerFile]);
  Tensors own;
  for (const NamedTensor& buffer : buffers_) {
    auto of_ranks = optimizer_state_.extract(kOfRanks + buffer.name);
    if (of_ranks.empty() || of_ranks.mapped().dim() == 0 ||
        of_ranks.mapped().size(0) != session_.options.world_size) {
      return FailedPrecondition("{}: '{}' is not there for each of {} ranks", folder, buffer.name,
                                session_.options.world_size);
    }
    own[buffer.name] = of_ranks.mapped()[session_.options.rank];
  }
  return CopyTensors(own, buffers_, folder);
}

Status Checkpoints::RestoreOptimizer(Optimizer& optimizer) const {
  // From "<parameter's name>.<what>" to "<parameter's number>.<what>".
  Tensors state;
  for (const auto& [name, tensor] : optimizer_state_) {
    const size_t dot = name.rfind('.');
    const auto found = std::find_if(
        parameters_.begin(), parameters_.end(),
        [&](const NamedTensor& parameter) { return parameter.name == name.substr(0, dot); });
    if (dot == std::string::npos || found == parameters_.end()) {
      return FailedPrecondition("optimizer's state: '{}' belongs to no weight", name);
    }
    state[fmt::format("{}{}", found - parameters_.begin(), name.substr(dot))] = tensor;
  }
  return optimizer.RestoreTensors(state);
}

}  // namespace halograph
