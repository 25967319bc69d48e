// Steps that are sampled together: some of them in a row make one call of the store, which so asks
// its owners once for all of them (arXiv 2311.02909, section 4: bulk sampling). Each step's
// minibatch has the same bits as alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "client/call_context.h"
#include "client/started.h"
#include "common/base/mutex.h"
#include "trainer/pipeline/batch_maker.h"

namespace halograph {

// Thread-safe.
class SampleBulks {
 public:
  // `size`: steps of a bulk, 1 at least. `count`: of all steps, 0, 1, ...: the last bulk has what
  // is left. `maker` outlives it.
  SampleBulks(const BatchMaker* maker, int64_t size, int64_t count)
      : maker_(maker), size_(size), count_(count) {}

  // Step `index` joins its bulk; steps come in any order, each once. With the last of its bulk the
  // call begins, by the context of that step. `done` as BatchMaker::StartSample's, which is called
  // for all of a bulk together; an error is that of all.
  void Start(int64_t index, StepToSample step, const CallContext& like, StatusDone done);

  // Steps whose bulk is not whole end as Cancelled, and so does what comes from now on.
  void Close();

 private:
  struct Bulk {
    std::vector<StepToSample> steps;
    std::vector<StatusDone> done;  // of each

    void End(const Status& status);
  };
  [[nodiscard]] int64_t SizeOf(int64_t bulk) const;

  const BatchMaker* const maker_;
  const int64_t size_;
  const int64_t count_;
  Mutex mutex_;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  std::map<int64_t, Bulk> waiting_ HG_GUARDED_BY(mutex_);  // bulks that are not whole
};

}  // namespace halograph
