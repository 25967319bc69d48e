// Input rows that training learns (DistDGLv2, section 5.4): a minibatch's rows are pulled from the
// RowStore, and the gradients of the loss in them are pushed to their owners, who apply the
// optimizer. All ranks push every step, so that an owner applies a step as one: what is learnt does
// not depend on which rank's push came first, nor on the number of servers.
//
// Used by one thread, but for Pull.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/stores.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "trainer/distributed/communicator.h"
#include "trainer/models/model.h"
#include "trainer/options/embedding_options.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Rows of a minibatch's nodes.
struct LearntRows {
  std::vector<torch::Tensor> by_type;  // in the order of the learnt types; [nodes, dim]
  CallStats stats;
};

class LearntInputs {
 public:
  // Creates the tensors, or finds those of an earlier run (EmbeddingOptions::begin). Every rank
  // calls it; the ranks meet. `ranks` outlives it.
  //   FailedPrecondition  a tensor was trained before, and options.begin is kNew; it has another
  //                       weight decay; the store keeps no mutable tensors: what to do is named
  //   else                as TensorAdmin::Create, TensorAdmin::List and WorkTogether
  [[nodiscard]] static StatusOr<std::unique_ptr<LearntInputs>> Open(
      const Stores& stores, const EmbeddingOptions& options, const std::vector<LearntType>& types,
      uint64_t seed, Communicator* ranks, const CancelToken* cancel);

  // How many steps behind the rows of a step are: they show exactly the pushes up to the step as
  // many and one before it. Whoever pulls and pushes sees to it.
  [[nodiscard]] int64_t staleness() const { return staleness_; }

  [[nodiscard]] std::vector<LearntType> types() const;  // with their widths
  // The tensors, in the order of the learnt types.
  [[nodiscard]] std::vector<TensorRef> tensors() const;
  // Of the next push; the same on all ranks.
  [[nodiscard]] int64_t next_step() const { return next_step_; }
  // After the tensors were set back, on every rank: pushes go on with this step.
  void GoOnWith(int64_t step);

  // Pulls the rows of a minibatch; none of one without seeds. They show all pushes of this rank
  // that have ended, and none of those that have not begun. By any thread, also while another one
  // pushes. The call is like `like`, but that it is waited for. Throws as libtorch does. Errors as
  // RowStore::Pull, with what was being done.
  [[nodiscard]] StatusOr<LearntRows> Pull(const Minibatch& minibatch,
                                          const CallContext& like = {}) const;

  // Puts rows where the model looks for them. In training their gradients are kept for Push.
  void Give(const LearntRows& rows, bool training, ModelInput* input);

  // Pushes the gradients of what Give gave last, of all types in one call, as the next step of this
  // rank; none after a minibatch without seeds. Errors as RowStore::Push, with what was being done.
  [[nodiscard]] Status Push(const Minibatch& minibatch, const CancelToken* cancel,
                            TraceId trace_id = {});

 private:
  struct Learnt {
    int node_type = 0;
    MutableTensorSpec spec = {};
    torch::Tensor given = {};  // with a gradient after backward; or none
  };

  LearntInputs(std::shared_ptr<RowStore> rows, const EmbeddingOptions& options, int rank,
               int world_size)
      : rows_(std::move(rows)),
        staleness_(options.staleness),
        rank_(rank),
        world_size_(world_size) {}

  // That rows can be pulled: none is.
  [[nodiscard]] Status CheckRows(CallContext& context) const;
  [[nodiscard]] Status CreateOrFind(TensorAdmin& admin, EmbedBegin begin, CallContext& context);
  // Creates or finds on rank 0, and agrees on the run's number with the others.
  [[nodiscard]] Status Begin(TensorAdmin& admin, EmbedBegin begin, Communicator& ranks,
                             const CancelToken* cancel);
  [[nodiscard]] std::vector<PushMark> Marks() const;

  const std::shared_ptr<RowStore> rows_;
  const int64_t staleness_;
  const int rank_;
  const int world_size_;
  std::vector<Learnt> learnt_;
  uint64_t run_ = 0;  // of all ranks (SyncStep::run)
  int64_t next_step_ = 0;
  mutable Mutex mutex_;
  // Of the last push, in the order of learnt_; none before the first.
  std::vector<PushMark> marks_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
