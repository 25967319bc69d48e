#include "trainer/checkpoint/checkpoints.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "trainer/checkpoint/progress.h"

namespace halograph {
namespace {

constexpr char kOfRanks[] = "ranks.";  // before the name of a buffer that each rank has its own of

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

CheckpointPlace PlaceOf(const TrainingMoment& moment) {
  return {.epoch = moment.epoch,
          .step = moment.step,
          .steps_done = moment.steps_done,
          .steps_per_epoch = moment.steps_per_epoch};
}

// The tensor goes along with the image.
void Add(const std::string& file, std::string name, torch::Tensor tensor, CheckpointImage* image) {
  auto owner = std::make_shared<const torch::Tensor>(std::move(tensor));
  image->files[file].push_back(BytesOfTensor(std::move(name), *owner));
  image->owners.push_back(std::move(owner));
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

}  // namespace

RunIdentity IdentityOf(const Session& session) {
  RunIdentity run{.graph = session.stores.graph->info().identity,
                  .model = session.options.model,
                  .task = session.task->name(),
                  .options = SharedFacts(session.options)};
  return run;
}

Checkpoints::Checkpoints(Session& session, Log log)
    : session_(session),
      options_(session.options.checkpoint),
      log_(std::move(log)),
      parameters_(NamedParameters(*session.model, *session.task)),
      buffers_(NamedBuffers(*session.model)) {}

Checkpoints::~Checkpoints() = default;

StatusOr<std::unique_ptr<Checkpoints>> Checkpoints::Open(Session& session, Log log) {
  if (session.learnt != nullptr) {
    return FailedPrecondition(
        "--checkpoint: inputs are learnt (--embed), which are kept with the graph's state and "
        "would not go back to a checkpoint's step; leave --checkpoint out, and keep them by "
        "snapshots (halograph-ctl state snapshot)");
  }
  std::unique_ptr<Checkpoints> checkpoints(new Checkpoints(session, std::move(log)));
  if (session.options.rank == 0) HG_RETURN_IF_ERROR(checkpoints->OpenFolder());
  if (checkpoints->options_.resume) HG_RETURN_IF_ERROR(checkpoints->Resume());
  const int64_t every = checkpoints->options_.every.steps;
  if (every > 0) {
    checkpoints->next_due_ = (checkpoints->start_.steps_done / every + 1) * every;
  }
  return checkpoints;
}

Status Checkpoints::OpenFolder() {
  HG_ASSIGN_OR_RETURN(CheckpointFolder folder,
                      CheckpointFolder::Open(options_.folder, options_.keep));
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(options_.folder));
  if (!there.empty() && !options_.resume) {
    return FailedPrecondition(
        "--checkpoint {}: has checkpoints of a run; --resume goes on from the newest; to begin "
        "anew name another folder, or remove them",
        options_.folder);
  }
  writer_ = std::make_unique<CheckpointThread>(std::move(folder));
  return OkStatus();
}

StatusOr<Json> Checkpoints::ReadNewest(std::map<std::string, Tensors>* files) {
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(options_.folder));
  if (there.empty()) {
    spdlog::info("--resume: {} has no checkpoint yet: beginning anew", options_.folder);
    return Json{{"found", false}};
  }
  HG_ASSIGN_OR_RETURN(const StoredCheckpoint read, ReadNewestCheckpoint(options_.folder));
  const std::string folder = read.folder.string();
  HG_RETURN_IF_ERROR(CheckSameRun(read.manifest.run, IdentityOf(session_), folder));
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

Status Checkpoints::Resume() {
  std::map<std::string, Tensors> files;
  Json header;
  if (session_.options.rank == 0) {
    HG_ASSIGN_OR_RETURN(header, ReadNewest(&files));
  }
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
  const int64_t steps = session_.Shards(*session_.task->source(BatchPurpose::kTrain))
                            .Steps(session_.options.batch_size);
  if (place.steps_per_epoch != steps) {
    return FailedPrecondition("{}: an epoch had {} steps, and has {}", folder,
                              place.steps_per_epoch, steps);
  }
  HG_ASSIGN_OR_RETURN(TrainResult so_far,
                      ProgressFromJson(manifest.progress, place.epoch, *session_.task, folder));
  so_far.steps = place.steps_done;
  start_ = {.epoch = place.epoch,
            .step = place.step,
            .steps_done = place.steps_done,
            .so_far = std::move(so_far),
            .best_weights = {}};
  kept_ = place;

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

bool Checkpoints::Wants(int64_t steps_done) {
  if (writer_ == nullptr) return false;
  Report();
  const CheckpointInterval& every = options_.every;
  const bool due = every.steps > 0
                       ? steps_done >= next_due_
                       : since_last_.Seconds() * 1e9 >= static_cast<double>(every.time.count());
  return due && !writer_->busy();
}

StatusOr<Checkpoints::Tensors> Checkpoints::BuffersOfRanks() {
  Tensors of_ranks;
  if (buffers_.empty()) return of_ranks;
  std::vector<torch::Tensor> flat;
  for (const NamedTensor& buffer : buffers_) flat.push_back(buffer.tensor.detach().reshape({-1}));
  HG_ASSIGN_OR_RETURN(
      const std::vector<torch::Tensor> gathered,
      session_.ranks->Gather(torch::cat(flat), "gathering buffers for a checkpoint"));
  if (gathered.empty()) return of_ranks;
  const torch::Tensor all = torch::stack(gathered);
  int64_t offset = 0;
  for (const NamedTensor& buffer : buffers_) {
    std::vector<int64_t> shape = buffer.tensor.sizes().vec();
    shape.insert(shape.begin(), all.size(0));
    of_ranks[buffer.name] =
        all.narrow(1, offset, buffer.tensor.numel()).reshape(shape).contiguous();
    offset += buffer.tensor.numel();
  }
  return of_ranks;
}

Status Checkpoints::Write(const TrainingMoment& moment) {
  const Stopwatch copy;
  const torch::NoGradGuard no_grad;
  HG_ASSIGN_OR_RETURN(Tensors of_ranks, BuffersOfRanks());
  const CheckpointPlace place = PlaceOf(moment);
  if (writer_ == nullptr || kept_ == place) return OkStatus();
  CheckpointImage image;
  image.manifest.build = BuildVersion();
  image.manifest.time = SecondsSince1970();
  image.manifest.run = IdentityOf(session_);
  image.manifest.place = place;
  image.manifest.progress = ProgressToJson(moment.so_far);
  image.manifest.facts = Json{{"world_size", session_.options.world_size},
                              {"graph_name", session_.stores.graph->info().schema.graph_name},
                              {"torch", TorchVersion()}};
  for (const NamedTensor& parameter : parameters_) {
    Add(kModelFile, parameter.name, parameter.tensor.detach().clone(), &image);
  }
  for (auto& [name, tensor] : of_ranks) {
    Add(kModelFile, name, tensor.mean(0), &image);
    Add(kOptimizerFile, kOfRanks + name, std::move(tensor), &image);
  }
  for (size_t i = 0; i < moment.best_weights.size(); ++i) {  // nobody changes them: no copy
    const bool parameter = i < parameters_.size();
    Add(kBestFile, parameter ? parameters_[i].name : buffers_[i - parameters_.size()].name,
        moment.best_weights[i], &image);
  }
  image.files[kOptimizerFile];  // there, also with nothing in it
  for (const auto& [name, tensor] : moment.optimizer.StateTensors()) {
    const size_t dot = name.find('.');
    const size_t number = std::stoul(name.substr(0, dot));
    Add(kOptimizerFile, parameters_[number].name + name.substr(dot), tensor.clone(), &image);
  }
  image.copy_seconds = copy.Seconds();
  writer_->Start(std::move(image));
  kept_ = place;
  since_last_ = Stopwatch();
  if (const int64_t every = options_.every.steps; every > 0) {
    next_due_ = (place.steps_done / every + 1) * every;
  }
  return OkStatus();
}

Status Checkpoints::Keep(const TrainingMoment& moment) { return Write(moment); }

Status Checkpoints::KeepLast(const TrainingMoment& moment) {
  Wait();  // what failed is tried once more
  HG_RETURN_IF_ERROR(Write(moment));
  Wait();
  return OkStatus();
}

void Checkpoints::Report() {
  for (const CheckpointOutcome& outcome : writer_->TakeOutcomes()) {
    Json line;
    if (outcome.status.ok()) {
      line["checkpoint"] = Json{{"steps_done", outcome.steps_done},
                                {"folder", outcome.folder.string()},
                                {"copy_s", outcome.copy_seconds},
                                {"seconds", outcome.seconds}};
    } else {
      kept_.reset();
      spdlog::warn("the checkpoint after {} steps was not written, training goes on: {}",
                   outcome.steps_done, ToString(outcome.status));
      line["checkpoint_error"] =
          Json{{"steps_done", outcome.steps_done}, {"error", ToString(outcome.status)}};
    }
    if (const Status logged = log_(line); !logged.ok()) spdlog::warn("{}", ToString(logged));
  }
}

void Checkpoints::Wait() {
  if (writer_ == nullptr) return;
  writer_->Wait();
  Report();
}

std::string Checkpoints::Advice() {
  if (writer_ == nullptr) return "";
  Wait();
  const auto last = writer_->last().has_value() ? writer_->last() : resumed_from_;
  if (!last.has_value()) return "; no checkpoint had been taken yet";
  return fmt::format("; the last good checkpoint is {}", last->string());
}

}  // namespace halograph
