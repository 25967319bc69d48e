#include "common/sampling/kernel/fused_sampler.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/sampling/estimates.h"
#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/kernel/layer.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/kernel/rows.h"
#include "common/sampling/kernel/split.h"

namespace halograph {
namespace {

constexpr double kUsualDegree = 8;
constexpr double kLeastToWake = 16384;  // edges: more than waking a thread takes

class FusedRun {
 public:
  FusedRun(const Schema& schema, const Topology& topology, const SampleRequest& request,
           ThreadPool* pool, FusedWorkspace* workspace, Minibatch* minibatch)
      : schema_(schema),
        topology_(topology),
        request_(request),
        pool_(pool),
        workspace_(workspace),
        crew_(pool, &workspace->room),
        lists_(&schema, workspace),
        minibatch_(minibatch),
        excluded_(request.exclude.begin(), request.exclude.end()) {}

  [[nodiscard]] Status Run(const FusedSampler::LayerCheck& check) {
    minibatch_->sampled_edges = 0;
    minibatch_->node_weights.clear();
    if (pool_ != nullptr && MayGrow()) crew_.Wake();
    HG_RETURN_IF_ERROR(lists_.AddSeeds(request_, &minibatch_->seed_positions));
    const auto& layers = request_.spec->layers;
    minibatch_->layers.resize(layers.size());
    for (size_t l = 0; l < layers.size(); ++l) {
      if (check) HG_RETURN_IF_ERROR(check());
      HG_RETURN_IF_ERROR(AddLayer(static_cast<int>(l), layers[l], &minibatch_->layers[l]));
    }
    lists_.CopyTo(&minibatch_->nodes);
    return OkStatus();
  }

 private:
  // Whether some layer may pay to be split.
  [[nodiscard]] bool MayGrow() const {
    auto nodes = static_cast<double>(CountSeeds({&request_, 1}));
    for (const auto& layer : request_.spec->layers) {
      double most = 0;
      for (const auto& [relation, rule] : layer) {
        most = std::max(most, rule.fanout == kFullNeighborhood ? kUsualDegree : rule.fanout);
      }
      nodes *= std::max(most, 1.0);
    }
    return nodes >= kLeastToWake;
  }

  [[nodiscard]] Status AddLayer(int layer, const std::vector<RelationRule>& rules,
                                SampledLayer* sampled) {
    lists_.GetSizes(&sampled->num_destinations);
    sampled->blocks.resize(rules.size());
    tasks_.clear();
    rows_.resize(rules.size());
    for (size_t g = 0; g < rules.size(); ++g) {
      const auto& [relation, rule] = rules[g];
      const int type = schema_.DestinationType(relation);
      sampled->blocks[g].relation = relation;
      const uint64_t layer_key = LayerKey(request_.batch_seed, rule.key_layer(layer),
                                          static_cast<int>(schema_.relations.size()), relation);
      HG_ASSIGN_OR_RETURN(LayerDraws draws, MakeLayerDraws(topology_[relation], rule, layer_key,
                                                           {.edge_ids = request_.edge_ids,
                                                            .weights = request_.weights}));
      tasks_.push_back({.draws = std::move(draws),
                        .destination_type = type,
                        .source_type = schema_.SourceType(relation),
                        .num_destinations = sampled->num_destinations[type]});
      for (const ExcludedEdges& excluded : excluded_) {
        if (excluded.relation() != relation) continue;
        excluded.FindIn(lists_.of(type), sampled->num_destinations[type], &rows_[g]);
        tasks_.back().excluded = rows_[g];
      }
    }
    HG_RETURN_IF_ERROR(SampleTasks(sampled->blocks));
    for (const Block& block : sampled->blocks) {
      minibatch_->sampled_edges += std::ssize(block.indices);
    }
    lists_.GetSizes(&sampled->num_sources);
    for (size_t g = 0; g < rules.size(); ++g) {
      if (IsEstimate(rules[g].rule)) HG_RETURN_IF_ERROR(FillEstimate(g, sampled->blocks));
    }
    return OkStatus();
  }

  // What the block of a layer that is drawn needs of in-degrees.
  [[nodiscard]] Status FillEstimate(size_t g, std::span<Block> blocks) {
    const FusedLayerTask& task = tasks_[g];
    const FusedNodes& list = lists_.of(task.destination_type);
    const bool sources = request_.source_degrees && task.source_type == task.destination_type;
    const auto count = static_cast<size_t>(sources ? list.size : task.num_destinations);
    const RelationTopology& topology = *task.draws.topology;
    HG_RETURN_IF_ERROR(
        StatusOf(GetInDegrees(topology, {list.ids.data(), count}, &degrees_), g, blocks));
    std::vector<LeftOutEdges> left_out;
    for (const ExcludedRow& row : task.excluded) {
      left_out.push_back(
          {row.destination, CountEdges(topology, list.ids.data()[row.destination], row.sources)});
    }
    FillEstimates(task.draws.rule(), degrees_, left_out, &blocks[g]);
    return OkStatus();
  }

  // The in-edges of `v`, whose offsets were looked at, from ascending `sources`.
  [[nodiscard]] static int64_t CountEdges(const RelationTopology& topology, int64_t v,
                                          std::span<const int64_t> sources) {
    const PickRow row = FindPickRow(topology, v);
    const CscSegment& segment = topology.segments()[static_cast<size_t>(row.segment)];
    int64_t edges = 0;
    for (int64_t p = 0; p < row.degree; ++p) {
      edges +=
          std::binary_search(sources.begin(), sources.end(), segment.Source(row.begin + p)) ? 1 : 0;
    }
    return edges;
  }

  [[nodiscard]] Status SampleTasks(std::span<Block> blocks) {
    if (pool_ != nullptr && PaysToSplit(tasks_)) {
      const SplitOutcome split = SampleSplitLayer(tasks_, &crew_, workspace_, blocks);
      return StatusOf(split.outcome, split.task, blocks);
    }
    for (size_t g = 0; g < tasks_.size(); ++g) {
      HG_RETURN_IF_ERROR(
          tasks_[g].excluded.empty()
              ? StatusOf(SampleFusedLayer(tasks_[g], workspace_, &blocks[g]), g, blocks)
              : SampleLeavingOut(g, blocks));
    }
    return OkStatus();
  }

  // In chunks as far as there are edges to leave out: most often seeds have them, which come first.
  [[nodiscard]] Status SampleLeavingOut(size_t g, std::span<Block> blocks) {
    FusedLayerTask task = tasks_[g];
    task.num_destinations = task.excluded.back().destination + 1;
    const SplitOutcome split =
        SampleSplitLayer({&task, 1}, &crew_, workspace_, blocks.subspan(g, 1));
    HG_RETURN_IF_ERROR(StatusOf(split.outcome, g, blocks));
    const FusedOutcome rest =
        SampleFusedLayerFrom(task.num_destinations, tasks_[g], workspace_, &blocks[g]);
    return StatusOf(rest, g, blocks);
  }

  [[nodiscard]] Status StatusOf(const FusedOutcome& outcome, size_t task,
                                std::span<const Block> blocks) const {
    if (outcome.done()) return OkStatus();
    if (outcome.kind == FusedOutcome::Kind::kListTooLong) {
      return lists_.CheckLength(tasks_[task].source_type);
    }
    return DamageOf(outcome, schema_.relations[blocks[task].relation].triple());
  }

  const Schema& schema_;
  const Topology& topology_;
  const SampleRequest& request_;
  ThreadPool* pool_;
  FusedWorkspace* workspace_;
  ChunkCrew crew_;
  MinibatchLists lists_;
  Minibatch* minibatch_;
  std::vector<FusedLayerTask> tasks_;           // of one layer
  std::vector<std::vector<ExcludedRow>> rows_;  // that they leave out
  const std::vector<ExcludedEdges> excluded_;
  std::vector<int64_t> degrees_;  // of one block's nodes; its memory is reused
};

}  // namespace

bool FusedSampler::Takes(std::span<const SampleRequest> requests) {
  return std::all_of(requests.begin(), requests.end(), [](const SampleRequest& request) {
    return request.spec == nullptr || IsNodeWise(request.spec->kind());
  });
}

Status FusedSampler::Sample(std::span<const SampleRequest> requests, FusedWorkspace* workspace,
                            std::span<Minibatch> minibatches, const LayerCheck& check) const {
  assert(requests.size() == minibatches.size());
  HG_RETURN_IF_ERROR(ValidateRequests(*schema_, requests));
  return CatchNoMemory(CountSeeds(requests), "seeds", [&]() -> Status {
    for (size_t i = 0; i < requests.size(); ++i) {
      FusedRun run(*schema_, *topology_, requests[i], pool_, workspace, &minibatches[i]);
      HG_RETURN_IF_ERROR(run.Run(check));
    }
    return OkStatus();
  });
}

}  // namespace halograph
