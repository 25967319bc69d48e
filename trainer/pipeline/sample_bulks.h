// Steps that are sampled together: some of them in a row make one call of the store, which so asks
// its owners once for all of them (arXiv 2311.02909, section 4: bulk sampling). Each step's
// minibatch has the same bits as alone.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "client/call_context.h"
#include "client/started.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "trainer/pipeline/batch_maker.h"

namespace halograph {

// Thread-safe.
class SampleBulks {
 public:
  // `size`: steps of a bulk, 1 at least. `count`: of all steps, 0, 1, ...: the last bulk has what
  // is left. `maker` outlives it.
  SampleBulks(const BatchMaker* maker, int64_t size, int64_t count)
      : maker_(maker), size_(size), count_(count) {}

  // Step `index` joins its bulk; steps come in any order, each once, or not at all (Abort). With
  // the last of its bulk the call begins, by the context of that step; an error of it is that of
  // all. `done` as BatchMaker::StartSample's; of several steps each is posted by its own context.
  void Start(int64_t index, StepToSample step, const CallContext& like, StatusDone done);

  // Step `index` will not come, for this reason: so its bulk will not be whole, and the others of
  // it end with it, those that are there and those that come.
  void Abort(int64_t index, const Status& reason);

  // The same of all bulks that are not whole, as Cancelled.
  void Close();

 private:
  struct Waiting {
    StepToSample step;
    PostWork post;
    StatusDone done;
  };
  struct Bulk {
    std::vector<Waiting> steps;
    Status failed = OkStatus();
  };
  [[nodiscard]] int64_t SizeOf(int64_t bulk) const;
  void Sample(std::vector<Waiting> steps, const CallContext& like) const;

  const BatchMaker* const maker_;
  const int64_t size_;
  const int64_t count_;
  Mutex mutex_;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  std::map<int64_t, Bulk> bulks_ HG_GUARDED_BY(mutex_);  // that are not whole, or failed
};

}  // namespace halograph
