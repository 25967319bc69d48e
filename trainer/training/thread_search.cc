#include "trainer/training/thread_search.h"

#include <algorithm>
#include <utility>

namespace halograph {
namespace {

// Steps that are ready, beside those that are worked on.
constexpr int64_t kReadyAhead = 2;
// Threads that prepare where nobody chooses, at most.
constexpr int kDefaultPrepare = 2;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::vector<ThreadSplit> ThreadSearch::SplitsOf(const ThreadLimits& most) {
  const int all = most.processors;
  const int most_prepare = std::max(most.sample, most.gather);
  std::vector<ThreadSplit> splits;
  const auto add = [&](int compute, int prepare) {
    const ThreadSplit split{compute, std::min(prepare, most.sample),
                            std::min(prepare, most.gather)};
    const bool there = std::find(splits.begin(), splits.end(), split) != splits.end();
    if (compute >= 1 && !there) splits.push_back(split);
  };
  const int usual = std::min(kDefaultPrepare, most_prepare);
  add(all, usual);
  for (const int compute : {all / 2, 1}) add(compute, usual);  // small models gain by no thread
  for (int prepare = 1;; prepare = std::min(2 * prepare, most_prepare)) {
    for (const int compute : {all, all - prepare / 2, all - prepare}) add(compute, prepare);
    if (prepare == most_prepare) return splits;
  }
}

int64_t ThreadSearch::AheadOf(const ThreadSplit& split) const {
  return std::max<int64_t>(most_.ahead, split.sample + split.gather + kReadyAhead);
}

ThreadSearch::ThreadSearch(const ThreadLimits& most) : most_(most) {
  for (const ThreadSplit& split : SplitsOf(most)) tried_.push_back({split, {}});
  choice_ = tried_.front().split;
  done_ = tried_.size() == 1;
  to_drop_ = kFirstSteps + AheadOf(choice_);
}

const ThreadSplit& ThreadSearch::split() const { return done_ ? choice_ : tried_[Here()].split; }

std::optional<double> ThreadSearch::Count(double seconds) {
  ++steps_;
  if (to_drop_ > 0) {
    --to_drop_;
    return {};
  }
  seconds_ += seconds;
  if (++counted_ < kCountedSteps) return {};
  return seconds_ / static_cast<double>(kCountedSteps);
}

void ThreadSearch::Take(double step_seconds) {
  const ThreadSplit before = split();
  Tried& here = tried_[Here()];
  if (here.visits.empty()) ++visited_;
  here.visits.push_back(step_seconds);
  if (steps_ >= kMostSteps) return End();
  NextVisit();
  if (done_) return;
  // What was begun before comes first; then those of more threads fill up what is ahead of them.
  to_drop_ = before == split() ? 0 : std::max(AheadOf(before), AheadOf(split()));
  counted_ = 0;
  seconds_ = 0;
}

void ThreadSearch::NextVisit() {
  if (++at_ < tried_.size()) return;
  at_ = 0;
  ++round_;
  if (round_ < kRounds) return EndRound();
  refined_ ? End() : Refine();
}

void ThreadSearch::EndRound() {
  if (tried_.size() <= kKept) return;
  std::stable_sort(tried_.begin(), tried_.end(), [](const Tried& a, const Tried& b) {
    return Median(a.visits) < Median(b.visits);
  });
  tried_.resize(std::max(kKept, (tried_.size() + 1) / 2));
}

void ThreadSearch::Refine() {
  refined_ = true;
  round_ = 0;
  const ThreadSplit best = this->best()->split;
  std::erase_if(tried_, [&](const Tried& tried) { return tried.split != best; });
  if (best.sample > 1) tried_.push_back({{best.compute, best.sample / 2, best.gather}, {}});
  if (best.gather > 1) tried_.push_back({{best.compute, best.sample, best.gather / 2}, {}});
  if (tried_.size() == 1) End();
}

void ThreadSearch::End() {
  choice_ = best()->split;
  done_ = true;
}

std::optional<MeasuredSplit> ThreadSearch::best() const {
  std::vector<MeasuredSplit> measured;
  for (const Tried& tried : tried_) {
    if (!tried.visits.empty()) measured.push_back({tried.split, Median(tried.visits)});
  }
  if (measured.empty()) return {};
  const auto by_seconds = [](const MeasuredSplit& a, const MeasuredSplit& b) {
    return a.step_seconds < b.step_seconds;
  };
  const double fastest =
      std::min_element(measured.begin(), measured.end(), by_seconds)->step_seconds;
  std::erase_if(measured, [&](const MeasuredSplit& split) {
    return split.step_seconds > (1 + kTie) * fastest;
  });
  return *std::min_element(
      measured.begin(), measured.end(), [](const MeasuredSplit& a, const MeasuredSplit& b) {
        return std::pair(a.split.all(), a.step_seconds) < std::pair(b.split.all(), b.step_seconds);
      });
}

}  // namespace halograph
