// The rest of a graph without servers: a composed store's other half over embedded stores of the
// whole, which records what it is asked for.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/local/mapped_graph.h"
#include "client/partial_stores.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// What a rest was asked for. Counts an exchange a layer or pull that is not empty.
struct RestRecord {
  std::mutex mutex;
  std::vector<int64_t> ids;
  Status fail_with = OkStatus();  // after the caller's own work
};

class WholeRestGraphStore final : public LayeredGraphStore {
 public:
  WholeRestGraphStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<RestRecord> record)
      : graph_(std::move(graph)), store_(MakeLocalGraphStore(graph_)), record_(std::move(record)) {}

  const GraphInfo& info() const override { return graph_->info; }
  StatusOr<Minibatch> Sample(const SampleRequest& request, CallStats* stats) override {
    return store_->Sample(request, stats);
  }
  std::unique_ptr<NeighborSource> NewSource(Meanwhile meanwhile, CallStats* stats) override {
    return std::make_unique<Source>(this, std::move(meanwhile), stats);
  }
  void Shutdown() override {
    store_->Shutdown();
    stopped_ = true;
  }

 private:
  class Source final : public NeighborSource {
   public:
    Source(WholeRestGraphStore* store, Meanwhile meanwhile, CallStats* stats)
        : store_(store), meanwhile_(std::move(meanwhile)), stats_(stats) {}
    Status SampleLayer(std::span<const LayerGroup> groups,
                       std::vector<NeighborPicks>* picks) override {
      if (store_->stopped_) return StoreIsShutDown();
      meanwhile_();
      bool asks = false;
      {
        std::lock_guard lock(store_->record_->mutex);
        HG_RETURN_IF_ERROR(store_->record_->fail_with);
        for (const LayerGroup& group : groups) {
          asks = asks || (group.fanout != 0 && !group.destinations.empty());
          store_->record_->ids.insert(store_->record_->ids.end(), group.destinations.begin(),
                                      group.destinations.end());
        }
      }
      if (asks && stats_ != nullptr) stats_->rounds += kRoundsOfAnExchange;
      LocalNeighborSource source(&store_->graph_->parts->topology(), nullptr);
      return source.SampleLayer(groups, picks);
    }

   private:
    WholeRestGraphStore* store_;
    Meanwhile meanwhile_;
    CallStats* stats_;
  };

  std::shared_ptr<const MappedGraph> graph_;
  std::unique_ptr<GraphStore> store_;
  std::shared_ptr<RestRecord> record_;
  std::atomic<bool> stopped_ = false;
};

class WholeRestKVStore final : public ScatteringKVStore {
 public:
  WholeRestKVStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<RestRecord> record)
      : graph_(std::move(graph)), store_(MakeLocalKVStore(graph_)), record_(std::move(record)) {}

  const GraphInfo& info() const override { return graph_->info; }
  Status Pull(const TensorRef& tensor, std::span<const int64_t> ids,
              std::span<std::byte> destination, CallStats* stats) override {
    return store_->Pull(tensor, ids, destination, stats);
  }
  Status PullTo(const TensorRef& tensor, std::span<const int64_t> ids,
                std::span<const int64_t> positions, std::byte* destination,
                const Meanwhile& meanwhile, CallStats* stats) override {
    HG_ASSIGN_OR_RETURN(const ResolvedTensor resolved, ResolveTensor(info().schema, tensor));
    meanwhile();
    {
      std::lock_guard lock(record_->mutex);
      HG_RETURN_IF_ERROR(record_->fail_with);
      record_->ids.insert(record_->ids.end(), ids.begin(), ids.end());
    }
    const size_t row_bytes = resolved.spec.row_bytes();
    std::vector<std::byte> rows(ids.size() * row_bytes);
    HG_RETURN_IF_ERROR(store_->Pull(tensor, ids, rows, nullptr));
    for (size_t i = 0; i < ids.size(); ++i) {
      std::copy_n(rows.data() + i * row_bytes, row_bytes,
                  destination + static_cast<size_t>(positions[i]) * row_bytes);
    }
    if (stats != nullptr && !ids.empty()) {
      stats->remote_bytes += static_cast<int64_t>(rows.size());
      stats->rounds += kRoundsOfAnExchange;
    }
    return OkStatus();
  }
  StatusOr<TaskSet> ReadTaskSet(const std::string& task, const std::string& set,
                                const std::string& type) override {
    return store_->ReadTaskSet(task, set, type);
  }
  void Shutdown() override { store_->Shutdown(); }

 private:
  std::shared_ptr<const MappedGraph> graph_;
  std::unique_ptr<KVStore> store_;
  std::shared_ptr<RestRecord> record_;
};

}  // namespace halograph
