// Calls of stores as most tests make them: one request, on a context of its own.
#pragma once

#include <span>

#include "client/stores.h"

namespace halograph {

// `stats`, if not null, is added to.
[[nodiscard]] inline StatusOr<Minibatch> SampleOne(GraphStore& store, const SampleRequest& request,
                                                   CallStats* stats = nullptr,
                                                   const CancelToken* cancel = nullptr) {
  CallContext context{.cancel = cancel};
  Minibatch minibatch;
  const Status status = store.Sample(request, context, &minibatch);
  if (stats != nullptr) *stats += context.stats;
  if (!status.ok()) return status;
  return minibatch;
}

[[nodiscard]] inline Status PullOne(RowStore& store, const TensorRef& tensor,
                                    std::span<const int64_t> ids, std::span<std::byte> out,
                                    CallStats* stats = nullptr,
                                    const CancelToken* cancel = nullptr) {
  CallContext context{.cancel = cancel};
  const Status status = store.Pull({.tensor = tensor, .ids = ids, .out = out}, context);
  if (stats != nullptr) *stats += context.stats;
  return status;
}

[[nodiscard]] inline StatusOr<PushMark> PushOne(RowStore& store, const RowPush& push,
                                                CallContext& context) {
  HG_ASSIGN_OR_RETURN(std::vector<PushMark> marks, store.Push({&push, 1}, context));
  return std::move(marks.front());
}

// All rows.
[[nodiscard]] inline StatusOr<TaskSet> ReadWholeTaskSet(const Stores& stores, const TaskSetRef& set,
                                                        const CancelToken* cancel = nullptr) {
  CallContext context{.cancel = cancel};
  const Schema& schema = stores.graph->info().schema;
  const auto index = FindTaskSet(schema, set.task, set.set, set.type);
  const int64_t rows = index.ok() ? schema.tasks[index->task].sets[index->set].rows : 0;
  return stores.tasks->Read(set, {0, rows}, context);
}

}  // namespace halograph
