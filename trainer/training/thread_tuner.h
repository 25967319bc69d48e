// --tune on a rank: the thread search between the steps of a loop. All ranks have the same split at
// the same step. Where machines have unlike numbers of processors, it is within the fewest; how
// long steps take is what rank 0 finds, since a step is over when all ranks are through with it.
#pragma once

#include <functional>
#include <optional>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/session.h"
#include "trainer/training/thread_search.h"

namespace halograph {

// How a run came to its threads.
struct ThreadChoice {
  enum class By : uint8_t {
    kMeasured,
    kCutShort,    // the best so far: training ended before
    kCheckpoint,  // the run before chose it
  };
  ThreadSplit split;
  By by = By::kMeasured;
  std::optional<double> step_seconds = {};  // of a step; none where nothing was measured
  int64_t splits = 0;                       // that were tried
  int64_t steps = 0;                        // that this took
};
// A line of the log; and as the user is told.
[[nodiscard]] Json ToJson(const ThreadChoice& choice);
[[nodiscard]] std::string ToText(const ThreadChoice& choice);

// For the thread that trains. Every rank makes the same calls, at the same steps.
class ThreadTuner {
 public:
  using OnChoice = std::function<Status(const ThreadChoice& choice)>;

  // What BatchFeed is to be made with: steps at most that are to be sampled before Begin. `chosen`:
  // by the run that this one goes on from.
  [[nodiscard]] static std::optional<int64_t> FirstAhead(const TrainOptions& options,
                                                         const std::optional<ThreadSplit>& chosen);

  // `feed`: of training, made with FirstAhead. It and the session must outlive the tuner.
  // `on_choice`: called once with the choice, on every rank; null: nobody is told.
  ThreadTuner(const Session& session, BatchFeed& feed, std::optional<ThreadSplit> chosen,
              OnChoice on_choice);

  // Before the first step: the ranks meet. Errors as Communicator, or the callback's.
  [[nodiscard]] Status Begin();
  // After each step of `seconds`: the next one has what comes of it. Errors as Begin.
  [[nodiscard]] Status Took(double seconds);
  // At the end of training: the best split so far is chosen, if none was. Errors as the callback.
  [[nodiscard]] Status End();

  // What is to be kept: nullopt before the choice, and where training ended before it.
  [[nodiscard]] const std::optional<ThreadSplit>& chosen() const { return chosen_; }

 private:
  // The fewest that a rank has.
  [[nodiscard]] StatusOr<ThreadLimits> Limits() const;
  void Use(const ThreadSplit& split);
  [[nodiscard]] Status Tell(const ThreadChoice& choice) const;
  [[nodiscard]] Status Choose();

  const Session& session_;
  BatchFeed& feed_;
  const OnChoice on_choice_;
  std::optional<ThreadSplit> chosen_;
  std::optional<ThreadSearch> search_;  // while nothing is chosen
};

}  // namespace halograph
