#include "trainer/checkpoint/checkpoints.h"

#include <chrono>
#include <utility>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/wall_clock.h"
#include "trainer/checkpoint/progress.h"
#include "trainer/distributed/wait_together.h"

namespace halograph {
namespace {

CheckpointPlace PlaceOf(const TrainingMoment& moment) {
  return {.epoch = moment.epoch,
          .step = moment.step,
          .steps_done = moment.steps_done,
          .steps_per_epoch = moment.steps_per_epoch};
}

// The tensor, in the host's memory, goes along with the image.
void Add(const std::string& file, std::string name, torch::Tensor tensor, CheckpointImage* image) {
  auto owner = std::make_shared<const torch::Tensor>(tensor.to(torch::kCPU));
  image->files[file].push_back(BytesOfTensor(std::move(name), *owner));
  image->owners.push_back(std::move(owner));
}

}  // namespace

RunIdentity IdentityOf(const Session& session) {
  RunIdentity run{.graph = session.stores.graph->info().identity,
                  .model = session.options.model,
                  .task = session.task->name(),
                  .options = SharedFacts(session.options)};
  return run;
}

Checkpoints::Checkpoints(Session& session, LogLine log)
    : session_(session),
      options_(session.options.checkpoint),
      log_(std::move(log)),
      parameters_(NamedParameters(*session.model, *session.task)),
      buffers_(NamedBuffers(*session.model)) {}

Checkpoints::~Checkpoints() = default;

StatusOr<std::unique_ptr<Checkpoints>> Checkpoints::Open(Session& session, LogLine log) {
  std::unique_ptr<Checkpoints> checkpoints(new Checkpoints(session, std::move(log)));
  const RankWork open_folder = [&](const CancelToken&) { return checkpoints->OpenFolder(); };
  HG_RETURN_IF_ERROR(WorkTogether(*session.ranks, &session.cancel,
                                  session.options.rank == 0 ? open_folder : nullptr,
                                  "waiting for rank 0 to open a folder of checkpoints"));
  if (checkpoints->options_.resume) HG_RETURN_IF_ERROR(checkpoints->Resume());
  checkpoints->PlanNext(checkpoints->start_.steps_done);
  return checkpoints;
}

Status Checkpoints::OpenFolder() {
  HG_ASSIGN_OR_RETURN(CheckpointFolder folder,
                      CheckpointFolder::Open(options_.folder, options_.keep));
  HG_RETURN_IF_ERROR(GoesOn(options_).status());
  std::function<void()> after_each;
  if (session_.learnt != nullptr) {
    HG_ASSIGN_OR_RETURN(snapshots_, RunSnapshots::Open(session_.stores.admin.get(),
                                                       session_.learnt->tensors(), folder.dir()));
    behind_.emplace(snapshots_.get());
    after_each = [this] { snapshots_->DeleteUnused(); };
  }
  writer_ = std::make_unique<CheckpointThread>(std::move(folder), std::move(after_each));
  return OkStatus();
}

bool Checkpoints::Wants(int64_t steps_done) {
  if (writer_ == nullptr) return false;
  asked_for_ = steps_done;
  Report();
  const CheckpointInterval& every = options_.every;
  const bool due = overdue_ || (every.steps > 0 ? steps_done >= next_due_
                                                : since_last_.Seconds() * 1e9 >=
                                                      static_cast<double>(every.time.count()));
  if (!due || writer_->busy()) return false;
  // Before its first push a store does not know that a tensor is pushed to in steps.
  const bool pushed = steps_done > start_.steps_done + 1;
  if (behind_.has_value() && pushed && !overdue_) {
    behind_->Ask(steps_done, session_.learnt->next_step());
  }
  return true;
}

void Checkpoints::PlanNext(int64_t steps_done) {
  since_last_ = Stopwatch();
  overdue_ = false;
  if (const int64_t every = options_.every.steps; every > 0) {
    next_due_ = (steps_done / every + 1) * every;
  }
}

StatusOr<Checkpoints::Tensors> Checkpoints::BuffersOfRanks() {
  Tensors of_ranks;
  if (buffers_.empty()) return of_ranks;
  std::vector<torch::Tensor> flat;
  for (const NamedTensor& buffer : buffers_) flat.push_back(buffer.tensor.detach().reshape({-1}));
  HG_ASSIGN_OR_RETURN(const std::vector<torch::Tensor> gathered,
                      session_.ranks->Gather(torch::cat(flat).to(torch::kCPU),
                                             "gathering buffers for a checkpoint"));
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

StatusOr<Checkpoints::Tensors> Checkpoints::UnderWayOfRanks(const TrainingMoment& moment) {
  Tensors of_ranks;
  if (moment.under_way == nullptr) return of_ranks;
  std::vector<double> own;
  for (const FigureRow& row : FigureRows()) own.push_back(moment.under_way->figures[row.figure]);
  const auto figures = static_cast<int64_t>(own.size());
  own.insert(own.end(), moment.under_way->metric.begin(), moment.under_way->metric.end());
  HG_ASSIGN_OR_RETURN(const std::vector<torch::Tensor> gathered,
                      session_.ranks->Gather(torch::tensor(own, torch::kFloat64),
                                             "gathering an epoch's sums for a checkpoint"));
  if (gathered.empty()) return of_ranks;
  const torch::Tensor all = torch::stack(gathered);
  int64_t column = 0;
  for (const FigureRow& row : FigureRows()) {
    of_ranks[std::string(row.key)] = all.narrow(1, column++, 1).contiguous();
  }
  of_ranks[kMetricSums] = all.narrow(1, figures, all.size(1) - figures).contiguous();
  return of_ranks;
}

StatusOr<CheckpointSnapshot> Checkpoints::KeepLearnt(int64_t steps_done) {
  behind_->GiveUp();  // of a step that did not come
  // Not the session's: a signal cancels that, and the last checkpoint is taken all the same. Other
  // ranks wait in their next collective, not longer than --timeout.
  CallContext context;
  if (session_.options.world_size > 1) {
    context.deadline = std::chrono::steady_clock::now() + session_.options.remote.timeout / 2;
  }
  std::string name = snapshots_->NewName(steps_done);
  HG_RETURN_IF_ERROR(snapshots_->Take(name, std::nullopt, context));
  return CheckpointSnapshot{.name = std::move(name), .next_step = session_.learnt->next_step()};
}

Status Checkpoints::AddLearnt(int64_t steps_done, CheckpointImage* image) {
  if (!behind_->Asked(steps_done)) {
    HG_ASSIGN_OR_RETURN(image->manifest.snapshot, KeepLearnt(steps_done));
    return OkStatus();
  }
  const AskedSnapshot& asked = behind_->asked();
  image->manifest.snapshot = {.name = asked.name, .next_step = session_.learnt->next_step()};
  image->rest = [kept = asked.kept] { return kept.get(); };
  return OkStatus();
}

Status Checkpoints::Write(const TrainingMoment& moment) {
  const Stopwatch copy;
  const torch::NoGradGuard no_grad;
  if (session_.learnt != nullptr) {
    // From here on all have pushed the step, and the next one is not complete without rank 0.
    HG_RETURN_IF_ERROR(session_.ranks->Barrier("meeting for a checkpoint"));
  }
  HG_ASSIGN_OR_RETURN(Tensors of_ranks, BuffersOfRanks());
  HG_ASSIGN_OR_RETURN(Tensors under_way, UnderWayOfRanks(moment));
  const CheckpointPlace place = PlaceOf(moment);
  const KeptMoment to_keep{place, moment.so_far.evaluated};
  if (writer_ == nullptr || kept_ == to_keep) return OkStatus();
  PlanNext(place.steps_done);
  CheckpointImage image;
  if (snapshots_ != nullptr) {
    if (const Status added = AddLearnt(place.steps_done, &image); !added.ok()) {
      ReportFailure(place.steps_done, added);
      return OkStatus();
    }
    if (!moment.best_weights.empty()) image.manifest.best_snapshot = best_inputs_;
  }
  image.manifest.build = BuildVersion();
  image.manifest.time = SecondsSince1970();
  image.manifest.run = IdentityOf(session_);
  image.manifest.trained_on = DescribeGraph(
      session_.stores.graph->info().schema, session_.train_maker->recipe().inputs,
      session_.learnt != nullptr ? session_.learnt->types() : std::vector<LearntType>(),
      session_.task->output_dim());
  image.manifest.place = place;
  image.manifest.progress = ProgressToJson(moment.so_far);
  image.manifest.feature_scales = ToJson(session_.feature_scales);
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
  for (auto& [name, tensor] : under_way) Add(kEpochFile, name, std::move(tensor), &image);
  image.files[kOptimizerFile];  // there, also with nothing in it
  for (const auto& [name, tensor] : moment.optimizer.StateTensors()) {
    const size_t dot = name.find('.');
    const size_t number = std::stoul(name.substr(0, dot));
    Add(kOptimizerFile, parameters_[number].name + name.substr(dot), tensor.clone(), &image);
  }
  image.copy_seconds = copy.Seconds();
  writer_->Start(std::move(image));
  kept_ = to_keep;
  return OkStatus();
}

Status Checkpoints::KeepFirst(const TrainingMoment& moment) {
  if (session_.learnt == nullptr) return OkStatus();
  HG_RETURN_IF_ERROR(Write(moment));
  return AwaitWriter();
}

Status Checkpoints::Keep(const TrainingMoment& moment) { return Write(moment); }

Status Checkpoints::KeepLast(const TrainingMoment& moment) {
  HG_RETURN_IF_ERROR(AwaitWriter());
  // Of a step that did not come; or of one that failed, which is tried once more.
  if (behind_.has_value()) behind_->GiveUp();
  HG_RETURN_IF_ERROR(Write(moment));
  return AwaitWriter();
}

void Checkpoints::Report() {
  for (const CheckpointOutcome& outcome : writer_->TakeOutcomes()) {
    if (!outcome.status.ok()) {
      ReportFailure(outcome.steps_done, outcome.status);
      overdue_ = behind_.has_value() && behind_->CameTooLate(outcome.steps_done);
      continue;
    }
    failure_ = OkStatus();
    Log(Json{{"checkpoint", Json{{"steps_done", outcome.steps_done},
                                 {"folder", outcome.folder.string()},
                                 {"copy_s", outcome.copy_seconds},
                                 {"seconds", outcome.seconds}}}});
  }
}

void Checkpoints::ReportFailure(int64_t steps_done, const Status& status) {
  kept_.reset();
  failure_ = Annotate(
      status, fmt::format("the last checkpoint, after {} steps, was not written", steps_done));
  spdlog::warn("the checkpoint after {} steps was not written, training goes on: {}", steps_done,
               ToString(status));
  Log(Json{{"checkpoint_error", Json{{"steps_done", steps_done}, {"error", ToString(status)}}}});
}

void Checkpoints::Log(const Json& line) {
  if (const Status logged = log_(line); !logged.ok()) spdlog::warn("{}", ToString(logged));
}

Status Checkpoints::AwaitWriter() {
  const auto written = [this](std::chrono::nanoseconds at_most) {
    return writer_->WaitFor(at_most);
  };
  HG_RETURN_IF_ERROR(
      WaitTogether(*session_.ranks, written, "waiting for rank 0 to write a checkpoint"));
  if (writer_ != nullptr) Report();
  return OkStatus();
}

void Checkpoints::Wait() {
  if (writer_ == nullptr) return;
  writer_->Wait();
  Report();
}

}  // namespace halograph
