// Which share of the threads goes to computing, to sampling and to gathering: --tune. A search by
// figures that it is given; it has no clock, and does nothing by itself.
//
// Each split is visited several times, in rounds over all of them, so that what slows the machine
// down for a while is spread over them. A visit begins with steps that do not count: those that
// were begun under the split before. The others count together, since a step that waited and the
// next one, which did not, belong together. A split is as fast as the median of its visits.
//
// First, sampling and gathering have as many threads each. Then the best of these splits is tried
// with half of either.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace halograph {

// Threads of each kind.
struct ThreadSplit {
  int compute = 1;
  int sample = 1;
  int gather = 1;

  [[nodiscard]] int all() const { return compute + sample + gather; }
  bool operator==(const ThreadSplit&) const = default;
};

struct ThreadLimits {
  int processors = 1;  // that all share; also the most threads that compute
  int sample = 1;
  int gather = 1;
  // Steps that are begun ahead whatever the split is: those that the stages may have at servers, by
  // whichever threads, and those that training asks for.
  int ahead = 1;
};

struct MeasuredSplit {
  ThreadSplit split;
  double step_seconds = 0;

  bool operator==(const MeasuredSplit&) const = default;
};

class ThreadSearch {
 public:
  // After so many steps it ends with the visit that is under way. A few hundred do with any number
  // of processors.
  static constexpr int64_t kMostSteps = 600;
  // Before the first steps that count: the files of a graph are read then.
  static constexpr int64_t kFirstSteps = 10;
  static constexpr int64_t kCountedSteps = 8;  // of a visit
  static constexpr int kRounds = 3;
  // So many splits are visited in every round; of more, the better half goes on to the next.
  static constexpr size_t kKept = 4;
  // A split is as good as the fastest if it is slower by this share at most: of such splits, that
  // of the fewest threads is taken.
  static constexpr double kTie = 0.02;

  // Requires limits of 1 at least. Where they leave no choice, it is done at once.
  explicit ThreadSearch(const ThreadLimits& most);

  // The splits of the first rounds, in order: the one without --tune comes first. All that compute
  // and prepare share the processors, or take some of each other's.
  [[nodiscard]] static std::vector<ThreadSplit> SplitsOf(const ThreadLimits& most);
  // Steps at most that are to be begun ahead of the one that is trained on, so that a split is soon
  // alone at work: enough for all its threads, and some that are ready.
  [[nodiscard]] int64_t AheadOf(const ThreadSplit& split) const;

  [[nodiscard]] bool done() const { return done_; }
  // What the next step is to be taken with; when done, the choice.
  [[nodiscard]] const ThreadSplit& split() const;
  // Steps taken so far.
  [[nodiscard]] int64_t steps() const { return steps_; }
  // The splits that were visited.
  [[nodiscard]] int64_t visited() const { return visited_; }

  // A step was taken with split() in so many seconds. At the end of a visit: its seconds a step,
  // which Take is given next. Requires that it is not done.
  [[nodiscard]] std::optional<double> Count(double seconds);
  // What a visit comes to. Ranks that take steps together give the same figure, and so all go on
  // with the same split.
  void Take(double step_seconds);

  // The best so far; nullopt before the first visit is over.
  [[nodiscard]] std::optional<MeasuredSplit> best() const;

 private:
  struct Tried {
    ThreadSplit split;
    std::vector<double> visits;
  };
  void NextVisit();
  void EndRound();
  // Splits beside the best one; or done.
  void Refine();
  void End();
  [[nodiscard]] bool Backwards() const { return round_ % 2 == 1; }
  [[nodiscard]] size_t Here() const { return Backwards() ? tried_.size() - 1 - at_ : at_; }

  const ThreadLimits most_;
  std::vector<Tried> tried_;  // those that are left
  ThreadSplit choice_;        // once done
  bool refined_ = false;
  bool done_ = false;
  int round_ = 0;
  size_t at_ = 0;        // in the round; odd rounds go backwards
  int64_t to_drop_ = 0;  // steps
  int64_t counted_ = 0;  // steps of the visit
  double seconds_ = 0;   // of them
  int64_t steps_ = 0;
  int64_t visited_ = 0;
};

}  // namespace halograph
