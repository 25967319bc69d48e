// The rest of a graph without servers: a composed store's other half over embedded stores of the
// whole, which records what it is asked for.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/local/mapped_graph.h"

namespace halograph {

// What a rest was asked for. Counts an exchange a layer or pull that is not empty.
struct RestRecord {
  std::mutex mutex;
  std::vector<int64_t> ids;
  int calls = 0;
  Status fail_with = OkStatus();  // after the caller's own work

  [[nodiscard]] Status Note(std::span<const int64_t> asked) {
    ids.insert(ids.end(), asked.begin(), asked.end());
    return fail_with;
  }
};

class WholeRestGraphStore final : public GraphStore {
 public:
  WholeRestGraphStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<RestRecord> record)
      : store_(MakeLocalGraphStore(std::move(graph))), record_(std::move(record)) {}

  const GraphInfo& info() const override { return store_->info(); }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return store_->Sample(requests, context, minibatches);
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_RETURN_IF_ERROR(store_->Ask(questions, context, answers));
    bool asks = false;
    const std::lock_guard lock(record_->mutex);
    const auto note = [&](std::span<const int64_t> destinations, bool nothing) {
      asks = asks || (!nothing && !destinations.empty());
      return record_->Note(destinations);
    };
    for (const LayerGroup& group : questions.draws) {
      HG_RETURN_IF_ERROR(note(group.destinations, group.nothing()));
    }
    for (const ColumnGroup& group : questions.sums) {
      HG_RETURN_IF_ERROR(note(group.destinations, false));
    }
    for (const EdgeGroup& group : questions.edges) {
      HG_RETURN_IF_ERROR(note(group.destinations, false));
    }
    record_->calls += asks ? 1 : 0;
    context.stats.rounds += asks ? kRoundsOfAnExchange : 0;
    return OkStatus();
  }

 private:
  std::unique_ptr<GraphStore> store_;
  std::shared_ptr<RestRecord> record_;
};

class WholeRestRowStore final : public RowStore {
 public:
  WholeRestRowStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<RestRecord> record)
      : store_(MakeLocalRowStore(std::move(graph))), record_(std::move(record)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    CallContext inner = InnerContext(context);
    AsRemote told(context.pulled);
    if (context.pulled != nullptr) inner.pulled = &told;
    HG_RETURN_IF_ERROR(store_->Pull(requests, inner));
    bool asks = false;
    const std::lock_guard lock(record_->mutex);
    for (const RowRequest& request : requests) {
      asks = asks || !request.ids.empty();
      HG_RETURN_IF_ERROR(record_->Note(request.ids));
    }
    record_->calls += asks ? 1 : 0;
    context.stats.remote_bytes += inner.stats.local_bytes;
    context.stats.rounds += asks ? kRoundsOfAnExchange : 0;
    return OkStatus();
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return store_->Push(pushes, context);
  }

 private:
  // Tells another that rows came from servers.
  class AsRemote final : public PulledRows {
   public:
    explicit AsRemote(PulledRows* to) : to_(to) {}
    void Add(const TensorRef& tensor, PulledFrom, int64_t rows, int64_t bytes) override {
      to_->Add(tensor, PulledFrom::kRemote, rows, bytes);
    }

   private:
    PulledRows* const to_;
  };

  std::unique_ptr<RowStore> store_;
  std::shared_ptr<RestRecord> record_;
};

}  // namespace halograph
