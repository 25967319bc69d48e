#include "trainer/options/control_options.h"

#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 36;
constexpr int64_t kMostEpochsBetween = 1 << 24;

}  // namespace

void AddControlRows(OptionTable& rows, ControlOptions* o) {
  rows.AddChoice("lr-schedule", &o->lr_schedule,
                 {{"constant", LrSchedule::kConstant},
                  {"step", LrSchedule::kStep},
                  {"cosine", LrSchedule::kCosine}},
                 "how the learning rate changes: step multiplies it by --lr-decay every "
                 "--lr-step-epochs, cosine takes it down to --lr-min at the last step")
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("warmup-steps", &o->warmup_steps,
           "first steps, over which the learning rate grows from nearly 0 to that of the schedule")
      .Range(0, kMostSteps)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("lr-step-epochs", &o->lr_step_epochs, "epochs between two steps of the learning rate")
      .Range(1, kMostEpochsBetween)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("lr-decay", &o->lr_decay, "what a step multiplies the learning rate by")
      .Above(0)
      .AtMost(1)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("lr-min", &o->lr_min, "learning rate at the end of the cosine, --lr at most")
      .Range(0, 1e6)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("clip-norm", &o->clip_norm,
           "longest gradient, as the norm over all weights together; a longer one is shortened to "
           "it; 0: as long as it is")
      .Range(0, 1e30)
      .AllRanks()
      .Mark(kOfTraining);
}

void AddLimitRows(OptionTable& rows, ControlOptions* o) {
  rows.Add("max-steps", &o->max_steps,
           "steps after which training ends, in the middle of an epoch too; without --epochs it "
           "takes as many epochs as that; 0: no limit")
      .Range(0, kMostSteps)
      .AllRanks()
      .Mark(kRunLength | kNotInherited | kOfTraining);
  rows.Add("time-limit", &o->time_limit,
           "how long after its start a run ends training, at the next step; evaluation and "
           "predictions follow; 0: no limit")
      .Range(std::chrono::nanoseconds(0), std::chrono::hours(24 * 366))
      .Mark(kOfTraining);
  rows.Add("patience", &o->patience,
           "evaluations in a row without a better validation metric after which training ends; 0: "
           "no limit")
      .Range(0, kMostSteps)
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
  rows.Add("min-delta", &o->min_delta, "a metric is better by more than this")
      .Range(0, 1e30)
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
  rows.Add("eval-every-steps", &o->eval_every_steps,
           "steps between evaluations, beside those of --eval-every; 0: none within an epoch")
      .Range(0, kMostSteps)
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
}

Status CheckControl(const ControlOptions& o, double learning_rate) {
  if (o.lr_schedule == LrSchedule::kCosine && o.lr_min > learning_rate) {
    return InvalidArgument("--lr-min is {}, expected 0 to {} (--lr)", o.lr_min, learning_rate);
  }
  return OkStatus();
}

}  // namespace halograph
