#include "trainer/pipeline/minibatch_stream.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "trainer/pipeline/trace_ids.h"

namespace halograph {
namespace {

// Where a cache gains by it, for each step that is taken so many beyond what it was told of.
constexpr int64_t kLookFurther = 64;
// The schedule need only be a little ahead of that.
constexpr int64_t kScheduledAhead = 2;  // times the samples under way
// Of a stage that waits for others, for each thread that goes on with what they answer.
constexpr size_t kCallsAThread = 4;
// One thread goes through the epochs, one after the other.
constexpr size_t kEpochsKept = 2;
constexpr size_t kSampleStage = 1;
// What a cache keeps of a row of a step that it is told of, about: the access, and its slot.
constexpr int64_t kPlanBytesARow = 16;

// Makes the step one about the rows that its subgraph has. Without any it is one without rows.
void TakeRows(FoundRows found, Step* step) {
  step->rows = std::ssize(found.positions);
  step->labels = std::move(found.labels);
  step->weighs_rows = found.weighed;
  step->row_weights = std::move(found.weights);
  if (step->rows == 0) {
    step->minibatch = {};
    step->blocks = {};
    step->split = {};
    return;
  }
  step->minibatch.seed_positions = {std::move(found.positions)};
  step->seed_types = {found.type};
}

}  // namespace

MinibatchStream::MinibatchStream(const BatchMaker* maker, const SeedSource* source,
                                 SeedShards shards, StreamOptions options,
                                 std::vector<StepStage> more)
    : maker_(maker),
      source_(source),
      shards_(std::move(shards)),
      options_(std::move(options)),
      steps_(shards_.Steps(options_.batch_size)),
      plan_stage_(measured_stage() + 1),
      gather_stage_(plan_stage_ + (options_.cache != nullptr ? 1 : 0)),
      orders_(shards_.of_rank[options_.rank].size(), options_.seed, options_.rank, kEpochsKept),
      bulk_(std::clamp<int64_t>(options_.bulk, 1, std::max<int64_t>(steps_, 1))),
      first_ticket_(options_.cache == nullptr ? 0 : options_.cache->announced()),
      // The first that is whole.
      counted_epoch_(options_.first_epoch + (options_.first_step > 0 ? 1 : 0)) {
  const int64_t first = options_.first_epoch * steps_ + options_.first_step;
  const int64_t all = steps_ * options_.epochs;
  const int64_t end = options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
  PipelineOptions<Step> bounds;
  bounds.count = std::max<int64_t>(0, end - first);
  bounds.ahead = static_cast<int64_t>(options_.prefetch);
  bounds.ready = gather_stage_;
  bounds.memory = options_.memory;
  bounds.always = options_.always;
  bounds.together = bulk_;
  bounds.bytes = [](const Step& step) { return step.bytes; };
  bounds.measured = measured_stage();
  bounds.grows = gather_stage_;
  if (options_.too_large) {
    bounds.too_large = [this](int64_t bytes) { options_.too_large(bytes, bulk_); };
  }
  bulks_.emplace(maker_, bulk_, bounds.count);
  pipeline_ = std::make_unique<StagePipeline<Step>>(Stages(std::move(more)), std::move(bounds));
}

MinibatchStream::~MinibatchStream() { Close(); }

size_t MinibatchStream::sample_stage() const { return kSampleStage; }

size_t MinibatchStream::measured_stage() const {
  return kSampleStage + (maker_->compacts_apart() ? 1 : 0);
}

void MinibatchStream::Close() {
  bulks_->Close();
  pipeline_->Close();
  if (!std::exchange(closed_, true) && options_.cache != nullptr) options_.cache->DropWaiting();
}

StatusOr<std::optional<Step>> MinibatchStream::Next() {
  if (options_.cache != nullptr) LookFurther();
  auto next = pipeline_->Next();
  ++taken_;
  return next;
}

int64_t MinibatchStream::PlannedAhead() const {
  return static_cast<int64_t>(options_.prefetch) + options_.sampled_ahead;
}

// Up to the cache's certificate, or what the memory holds. Steps without rows have no ticket, so
// that a little less may be admitted than is meant.
void MinibatchStream::LookFurther() {
  pipeline_->Admit(plan_stage_, taken_ + PlannedAhead());
  if (!options_.cache->wants_more()) return;
  pipeline_->Admit(plan_stage_, options_.cache->announced() - first_ticket_ + kLookFurther);
}

// Whole bulks: two of them at servers where there is room, so that one waits while the other is
// worked on.
size_t MinibatchStream::SamplesAtOnce() const {
  const auto bulk = static_cast<size_t>(bulk_);
  if (maker_->samples_here()) return options_.threads * bulk;
  const size_t most = std::min(kCallsAThread * options_.threads, options_.samples);
  if (bulk == 1) return most;
  return bulk * std::max(most / bulk, std::min<size_t>(options_.samples / bulk, 2));
}

int64_t MinibatchStream::least_ahead() const {
  const bool asks = !maker_->samples_here();
  const auto at_servers = static_cast<int64_t>(asks ? SamplesAtOnce() + options_.prefetch : 0);
  return std::max(at_servers, bulk_ > 1 ? 2 * bulk_ : 0);
}

std::vector<StepStage> MinibatchStream::Stages(std::vector<StepStage> more) {
  const int64_t first = options_.first_epoch * steps_ + options_.first_step;
  const auto scheduled = kScheduledAhead * static_cast<int64_t>(SamplesAtOnce());
  std::vector<StepStage> stages;
  stages.push_back({.name = "schedule",
                    .run =
                        [this, first](int64_t index, Step* step) {
                          const Status made =
                              RunCaught([&] { return Schedule(first + index, step); });
                          if (!made.ok()) bulks_->Abort(index, made);
                          return made;
                        },
                    .depth = scheduled});
  const bool plans = options_.cache != nullptr;
  const bool apart = maker_->compacts_apart();
  const int64_t ahead = std::max(plans ? scheduled : options_.sampled_ahead, 2 * bulk_);
  stages.push_back(
      {.name = "sample",
       .start = [this](int64_t index, Step* step, const PostWork& post,
                       StatusDone done) { Sample(index, step, post, std::move(done)); },
       .at_once = SamplesAtOnce(),
       .threads = options_.threads,
       // What is not measured yet stays within twice what is under way.
       .depth = apart ? static_cast<int64_t>(SamplesAtOnce()) : ahead,
       .admitted = options_.sampled});
  if (apart) {
    stages.push_back({.name = "compact",
                      .run = [this](int64_t, Step* step) { return Compact(step); },
                      .threads = options_.threads,
                      .depth = ahead});
  }
  if (plans) {
    // One thread, in order of the steps. What it is ahead of the gathering is what the cache knows
    // of the future.
    stages.push_back({.name = "plan",
                      .run = [this](int64_t, Step* step) { return Plan(step); },
                      .admitted = PlannedAhead()});
  }
  stages.push_back({.name = "gather",
                    .start = [this](int64_t, Step* step, const PostWork& post,
                                    StatusDone done) { Gather(step, post, std::move(done)); },
                    .at_once = kCallsAThread * options_.threads,
                    .threads = options_.threads});
  for (StepStage& stage : more) stages.push_back(std::move(stage));
  if (options_.on_stage) {
    for (StepStage& stage : stages) stage = Told(std::move(stage));
  }
  return stages;
}

StepStage MinibatchStream::Told(StepStage stage) const {
  using Clock = std::chrono::steady_clock;
  const auto tell = [this, name = stage.name](const Step& step, Clock::time_point begin) {
    options_.on_stage(name, step.key, begin, Clock::now());
  };
  if (stage.run) {
    stage.run = [tell, run = std::move(stage.run)](int64_t index, Step* step) {
      const Clock::time_point begin = Clock::now();
      Status made = run(index, step);
      tell(*step, begin);
      return made;
    };
  } else {
    stage.start = [tell, start = std::move(stage.start)](int64_t index, Step* step,
                                                         const PostWork& post, StatusDone done) {
      const Clock::time_point begin = Clock::now();
      start(index, step, post, [tell, step, begin, done = std::move(done)](Status made) {
        tell(*step, begin);
        done(std::move(made));
      });
    };
  }
  return stage;
}

Status MinibatchStream::Schedule(int64_t index, Step* step) {
  const int64_t epoch = index / steps_;
  const int64_t of_epoch = index % steps_;
  const IdRange batch_rows = shards_.Batch(options_.rank, options_.batch_size, of_epoch);
  const int64_t shard_begin = shards_.of_rank[options_.rank].begin;
  const auto order = options_.purpose == BatchPurpose::kTrain ? orders_.Of(epoch) : nullptr;
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(batch_rows.size()));
  for (int64_t i = batch_rows.begin; i < batch_rows.end; ++i) {
    rows.push_back(shard_begin + (order != nullptr ? (*order)[i] : i));
  }
  const auto rank = static_cast<uint64_t>(options_.rank);
  const uint64_t draws =
      SubKey(StepKey(options_.seed, TrainerStream::kTask, static_cast<uint64_t>(epoch),
                     static_cast<uint64_t>(of_epoch), rank),
             static_cast<uint64_t>(options_.purpose));
  HG_RETURN_IF_ERROR(source_->Collect(rows, draws, &step->seeds));
  step->key = {
      .purpose = options_.purpose,
      .epoch = epoch,
      .step = of_epoch,
      .batch_seed = BatchSeed(options_.seed, options_.purpose, static_cast<uint64_t>(epoch),
                              static_cast<uint64_t>(of_epoch),
                              static_cast<uint64_t>(options_.world_size), rank)};
  step->rows = std::ssize(rows);
  step->labels = std::move(step->seeds.labels);
  return OkStatus();
}

void MinibatchStream::Sample(int64_t index, Step* step, const PostWork& post, StatusDone done) {
  CallContext context = ContextOf(*step);
  context.post = post;
  StatusDone complete = [this, step, done = std::move(done)](Status sampled) {
    if (sampled.ok() && !maker_->compacts_apart()) {
      sampled = RunCaught([&] { return Complete(step); });
    }
    done(std::move(sampled));
  };
  try {
    bulks_->Start(index, {std::exchange(step->seeds, {}), step->key.batch_seed, step}, context,
                  std::move(complete));
  } catch (const std::exception& error) {  // the rest of its bulk would wait for it
    bulks_->Abort(index, Internal("sampling a minibatch: {}", error.what()));
    throw;
  }
}

Status MinibatchStream::Complete(Step* step) const {
  HG_RETURN_IF_ERROR(maker_->Complete(step));
  if (source_->finds_rows() && step->rows > 0) {
    TakeRows(source_->FindRows(step->minibatch), step);
  }
  step->bytes = BytesOf(*step);
  return OkStatus();
}

Status MinibatchStream::Compact(Step* step) const {
  HG_RETURN_IF_ERROR(Annotate(maker_->Compact(step), "compacting a minibatch"));
  step->bytes = BytesOf(*step);
  return OkStatus();
}

Status MinibatchStream::Plan(Step* step) {
  if (step->rows == 0) return OkStatus();
  CachedRows& cache = *options_.cache;
  if (step->key.epoch > counted_epoch_ && !std::exchange(ranked_, true)) {
    // Rows that rank as before are right all the same.
    if (const Status ranked = cache.RankByReads(); !ranked.ok())
      spdlog::warn("{}", ToString(ranked));
  }
  const int64_t ticket = cache.announced();
  HG_RETURN_IF_ERROR(Annotate(cache.Announce(ticket, step->nodes_to_gather()),
                              "planning which rows the cache keeps"));
  step->ticket = ticket;
  if (!told_of_room_ && cache.largest_step() > cache.slots() && options_.small_cache) {
    told_of_room_ = true;
    options_.small_cache(cache.largest_step(), cache.slots());
  }
  return OkStatus();
}

void MinibatchStream::Gather(Step* step, const PostWork& post, StatusDone done) const {
  CallContext context = ContextOf(*step);
  context.post = post;
  context.ticket = step->ticket;
  context.pulled = options_.pulled;
  // A ticket whose pull never began is ended all the same, or later steps wait for it for ever.
  const auto drop = [this, ticket = step->ticket] {
    if (ticket.has_value()) options_.cache->Drop(*ticket);
  };
  try {
    maker_->StartPull(context, step, [drop, done = std::move(done)](Status pulled) {
      drop();
      done(std::move(pulled));
    });
  } catch (...) {
    drop();
    throw;
  }
}

CallContext MinibatchStream::ContextOf(const Step& step) const {
  return {.cancel = options_.cancel, .trace_id = TraceIdOf(options_.rank, step.key)};
}

ItemBytes MinibatchStream::BytesOf(const Step& step) const {
  const auto labels =
      static_cast<int64_t>(step.labels.data.size() + step.row_weights.size() * sizeof(float));
  ItemBytes bytes{static_cast<int64_t>(sizeof(Step)) + labels + maker_->BytesOf(step),
                  maker_->RowBytesOf(step)};
  if (options_.more_bytes) bytes.more += options_.more_bytes(step.minibatch);
  if (options_.cache != nullptr) {
    for (const auto& nodes : step.nodes_to_gather())
      bytes.measured += kPlanBytesARow * std::ssize(nodes);
  }
  return bytes;
}

}  // namespace halograph
