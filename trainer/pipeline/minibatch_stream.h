// The steps of one rank, prepared ahead in stages and handed over in order: all epochs of training
// in one stream, so that the next epoch is being prepared while this one is evaluated, or one pass
// over an evaluation set.
//
// Stages: schedule (the rows of a step, and what they are about), sample, plan (which rows a cache
// keeps; where there is a cache), gather (rows of features, weights of edges), then those of the
// caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cached/cached_rows.h"
#include "common/base/status.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/sample_bulks.h"
#include "trainer/pipeline/stage_pipeline.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

using StepStage = PipelineStage<Step>;

// Told of a stage that a step has been through, or has failed in.
using OnStage = std::function<void(std::string_view stage, const StepId& step,
                                   std::chrono::steady_clock::time_point begin,
                                   std::chrono::steady_clock::time_point end)>;

struct StreamOptions {
  BatchPurpose purpose = BatchPurpose::kTrain;
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
  int64_t batch_size = 1000;
  int64_t epochs = 1;       // passes over the rows, 1 unless training
  int64_t max_steps = 0;    // of these passes: the minibatches behind are not made; 0: all are
  int64_t first_epoch = 0;  // what to begin with: the minibatches before are not made
  int64_t first_step = 0;
  size_t threads = 1;  // that sample, and as many that gather
  // Samples under way at most, where others are asked. 1 at least; more only if all streams of the
  // store together stay within BuilderWorkspaces::kLimit: a thread that waits for a workspace must
  // not be the one that ends a sample. By default, for two of them: training and evaluation.
  size_t samples = BuilderWorkspaces::kLimit / 2;
  // Steps that are sampled in one call; lowered to those of an epoch. More than 1 only with a
  // prefetch, up to `samples`, and where the maker does not compact apart.
  int64_t bulk = 1;
  size_t prefetch = 4;  // steps gathered and ready at most; 0: each is made when asked for
  // What is sampled runs ahead as far as memory allows, of tiny steps no further than this: else a
  // run would begin with all of its sampling. Where a cache gains by it, further. 1 at least.
  int64_t sampled_ahead = 256;
  int64_t memory = kNoBound;  // bytes of all steps that are prepared; one goes in any case
  int64_t always = 1;         // so many steps go whatever they come to
  // Not negative: samples only so many steps, until Admit of sample_stage() allows more.
  int64_t sampled = -1;
  // What the caller's stages add to a step's rows, by its sampled minibatch, in bytes; null:
  // nothing.
  std::function<int64_t(const Minibatch& minibatch)> more_bytes = {};
  // As PipelineOptions', with the steps of a bulk.
  std::function<void(int64_t bytes, int64_t bulk)> too_large = {};
  // The cache that the maker's rows come from: the stream announces its steps to it, from the next
  // free ticket on, and nobody else does so until it is closed. Null: there is none. Outlives the
  // stream.
  CachedRows* cache = nullptr;
  // Told once, when the cache has room for fewer remote rows than its largest step reads. By the
  // thread that plans; null: nobody.
  std::function<void(int64_t rows, int64_t room)> small_cache = {};
  OnStage on_stage = {};  // by any thread; null: nobody
  // Is told of the rows that steps pull; null: nobody. Outlives the stream.
  PulledRows* pulled = nullptr;
  // Ends the calls that prepare; null: nobody does. Outlives the stream.
  const CancelToken* cancel = nullptr;
};

// For one consumer thread. `maker` and `source` must outlive the stream.
class MinibatchStream {
 public:
  // `source`: the rows of all ranks; `shards` says which are this rank's. Training shuffles them
  // every epoch; the other purposes go through them in order. `more`: stages behind the gathering;
  // their items are counted from the first that was asked for.
  MinibatchStream(const BatchMaker* maker, const SeedSource* source, SeedShards shards,
                  StreamOptions options, std::vector<StepStage> more = {});

  // Requires StreamOptions::cache to outlive it. Steps that are planned and not taken are dropped.
  ~MinibatchStream();

  [[nodiscard]] int64_t steps_per_epoch() const { return steps_; }
  [[nodiscard]] int64_t bulk() const { return bulk_; }  // as lowered
  [[nodiscard]] size_t sample_stage() const;
  [[nodiscard]] size_t gather_stage() const { return gather_stage_; }
  // Where the caller's stages begin among all.
  [[nodiscard]] size_t more() const { return gather_stage_ + 1; }
  // Step (epoch, step), steps innermost, from the first that was asked for; nullopt after the last.
  // Errors as StagePipeline::Next, SeedSource::Collect, BatchMaker and the caller's stages.
  [[nodiscard]] StatusOr<std::optional<Step>> Next();

  // As StagePipeline's.
  void Admit(size_t stage, int64_t end) { pipeline_->Admit(stage, end); }
  void AwaitStage(size_t stage, int64_t index) { pipeline_->AwaitStage(stage, index); }
  // Of all stages, in order.
  [[nodiscard]] const std::vector<StepStage>& stages() const { return pipeline_->stages(); }
  [[nodiscard]] std::vector<StageSeconds> Seconds() const { return pipeline_->Seconds(); }
  [[nodiscard]] std::vector<StageSeconds> ThreadSeconds() const {
    return pipeline_->ThreadSeconds();
  }
  void Limit(size_t stage, size_t threads) { pipeline_->Limit(stage, threads); }
  [[nodiscard]] size_t threads(size_t stage) const { return pipeline_->threads(stage); }
  // Steps that must be allowed to be sampled ahead of what is taken, whatever the number of
  // threads: those that the stages may have at servers, and whole bulks. 0: none.
  [[nodiscard]] int64_t least_ahead() const;

  // As StagePipeline::Close: cancel options.cancel first where a call may be waiting.
  void Close();

 private:
  // Whose end says what a step comes to.
  [[nodiscard]] size_t measured_stage() const;
  [[nodiscard]] std::vector<StepStage> Stages(std::vector<StepStage> more);
  // Samples under way at most.
  [[nodiscard]] size_t SamplesAtOnce() const;
  // The same stage, of which options_.on_stage is told.
  [[nodiscard]] StepStage Told(StepStage stage) const;
  [[nodiscard]] Status Schedule(int64_t index, Step* step);
  void Sample(int64_t index, Step* step, const PostWork& post, StatusDone done);
  // What follows once it is sampled.
  [[nodiscard]] Status Complete(Step* step) const;
  [[nodiscard]] Status Compact(Step* step) const;
  [[nodiscard]] Status Plan(Step* step);
  void Gather(Step* step, const PostWork& post, StatusDone done) const;
  [[nodiscard]] CallContext ContextOf(const Step& step) const;
  [[nodiscard]] ItemBytes BytesOf(const Step& step) const;
  // Steps that are planned and not taken, whatever the cache gains by more.
  [[nodiscard]] int64_t PlannedAhead() const;
  void LookFurther();

  const BatchMaker* const maker_;
  const SeedSource* const source_;
  const SeedShards shards_;
  const StreamOptions options_;
  const int64_t steps_;
  const size_t plan_stage_;  // where there is a cache
  const size_t gather_stage_;
  EpochOrders orders_;
  const int64_t bulk_;  // steps
  std::optional<SampleBulks> bulks_;
  const int64_t first_ticket_;
  int64_t taken_ = 0;  // steps
  // Of the thread that plans.
  const int64_t counted_epoch_;  // after it, rows rank by what steps have read
  bool ranked_ = false;
  bool told_of_room_ = false;
  bool closed_ = false;
  // Last: its threads use all of the above.
  std::unique_ptr<StagePipeline<Step>> pipeline_;
};

}  // namespace halograph
