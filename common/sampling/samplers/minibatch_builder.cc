#include "common/sampling/samplers/minibatch_builder.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/registry.h"

namespace halograph {

// Minibatches that are made together: of valid requests, at most kMinibatchesTogether.
class MinibatchesInMaking::Together {
 public:
  Together(const Schema& schema, BuilderWorkspaces* workspaces,
           std::vector<FusedWorkspacePool::Lease> leases)
      : schema_(schema),
        out_degrees_(workspaces->out_degrees()),
        clusters_(workspaces->clusters()),
        leases_(std::move(leases)) {}

  void Begin(std::span<const SampleRequest> requests, std::span<Minibatch> minibatches) {
    makers_.reserve(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const SamplerKind& sampler = SamplerOf(requests[i].spec->kind());
      makers_.push_back({.maker = sampler.make({schema_, requests[i], &*leases_[i], out_degrees_,
                                                clusters_, &minibatches[i]})});
    }
    FindMissing(requests);
  }

  // Takes the answers, of which the first time there are none, and asks on. False: all are made.
  [[nodiscard]] StatusOr<bool> Next() {
    HG_RETURN_IF_ERROR(CheckCounts());
    HG_RETURN_IF_ERROR(CheckAnswers(schema_, questions_.draws, answers_.draws));
    if (!missing_.empty()) {
      HG_RETURN_IF_ERROR(TakeMissing());
      if (part_ < out_degrees_.num_parts()) {
        AskMissing();
        return true;
      }
      for (auto& [relation, degrees] : missing_) out_degrees_.Keep(relation, std::move(degrees));
      missing_.clear();
    }
    questions_.clear();
    Counts begin;
    bool asks = false;
    for (Making& making : makers_) {
      const Counts end = making.ends;
      if (making.maker != nullptr) {
        HG_ASSIGN_OR_RETURN(const bool more,
                            making.maker->Next(AnswersBetween(begin, end), &questions_));
        if (!more) making.maker.reset();
        asks = asks || more;
      }
      begin = end;
      making.ends = {questions_.draws.size(), questions_.sums.size(), questions_.edges.size()};
    }
    return asks;
  }

  [[nodiscard]] const TopologyQuestions& questions() const { return questions_; }
  [[nodiscard]] TopologyAnswers* answers() { return &answers_; }

 private:
  // Of each kind of question.
  struct Counts {
    size_t draws = 0, sums = 0, edges = 0;
  };
  struct Making {
    std::unique_ptr<MinibatchMaker> maker;  // null: its minibatch is made
    Counts ends = {};                       // of its questions
  };

  // Relations whose out-degrees are needed and not there: asked for before all else.
  void FindMissing(std::span<const SampleRequest> requests) {
    for (const SampleRequest& request : requests) {
      if (!DrawRule{.kind = request.spec->kind()}.by_all_degrees()) continue;
      for (const std::vector<RelationRule>& layer : request.spec->layers) {
        for (const auto& [relation, rule] : layer) {
          if (!rule.nothing() && out_degrees_.Find(relation) == nullptr) missing_[relation];
        }
      }
    }
  }
  // One part after the other.
  void AskMissing() {
    questions_.clear();
    for (const auto& [relation, degrees] : missing_) {
      questions_.sums.push_back(out_degrees_.PageOf(relation, part_));
    }
    ++part_;
  }
  [[nodiscard]] Status TakeMissing() {
    if (questions_.size() == 0) return OkStatus();
    size_t answer = 0;
    for (auto& [relation, degrees] : missing_) {
      HG_RETURN_IF_ERROR(out_degrees_.Add(relation, answers_.sums[answer], &degrees));
      answers_.sums[answer++] = {};  // its memory
    }
    return OkStatus();
  }

  [[nodiscard]] Status CheckCounts() {
    if (questions_.size() == 0) return OkStatus();
    if (answers_.sums.size() == questions_.sums.size() &&
        answers_.edges.size() == questions_.edges.size()) {
      return OkStatus();
    }
    return Internal("the source answered {} sums of {} and {} lists of edges of {}",
                    answers_.sums.size(), questions_.sums.size(), answers_.edges.size(),
                    questions_.edges.size());
  }

  [[nodiscard]] AnswerSpans AnswersBetween(const Counts& begin, const Counts& end) {
    return {std::span(answers_.draws).subspan(begin.draws, end.draws - begin.draws),
            std::span(answers_.sums).subspan(begin.sums, end.sums - begin.sums),
            std::span(answers_.edges).subspan(begin.edges, end.edges - begin.edges)};
  }

  const Schema& schema_;
  OutDegreeTables& out_degrees_;
  const ClusterList& clusters_;
  std::map<int, std::vector<uint32_t>> missing_;  // by relation, as far as parts were asked
  int part_ = 0;                                  // to be asked next
  const std::vector<FusedWorkspacePool::Lease> leases_;
  std::vector<Making> makers_;
  TopologyQuestions questions_;
  TopologyAnswers answers_;  // reused from exchange to exchange
};

MinibatchesInMaking::MinibatchesInMaking(const Schema& schema,
                                         std::span<const SampleRequest> requests,
                                         BuilderWorkspaces* workspaces,
                                         std::span<Minibatch> minibatches, const WorkLimits& limits)
    : schema_(schema),
      requests_(requests),
      workspaces_(workspaces),
      minibatches_(minibatches),
      limits_(limits) {
  assert(requests.size() == minibatches.size());
}

MinibatchesInMaking::~MinibatchesInMaking() = default;

const TopologyQuestions& MinibatchesInMaking::questions() const { return together_->questions(); }

TopologyAnswers* MinibatchesInMaking::answers() { return together_->answers(); }

StatusOr<bool> MinibatchesInMaking::Next() {
  if (!valid_) HG_RETURN_IF_ERROR(ValidateRequests(schema_, requests_));
  valid_ = true;
  return CatchNoMemory(CountSeeds(requests_), "seeds", [&]() -> StatusOr<bool> {
    for (;;) {
      if (together_ != nullptr) {
        HG_ASSIGN_OR_RETURN(const bool asks, together_->Next());
        if (asks) return true;
      }
      together_.reset();
      if (requests_.empty()) return false;
      const size_t size = std::min<size_t>(workspaces_->together(), requests_.size());
      HG_ASSIGN_OR_RETURN(auto leases, workspaces_->Take(static_cast<int>(size), limits_));
      together_ = std::make_unique<Together>(schema_, workspaces_, std::move(leases));
      together_->Begin(requests_.first(size), minibatches_.first(size));
      requests_ = requests_.subspan(size);
      minibatches_ = minibatches_.subspan(size);
    }
  });
}

Status BuildMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                        TopologySource& source, BuilderWorkspaces* workspaces,
                        std::span<Minibatch> minibatches, const WorkLimits& limits) {
  MinibatchesInMaking making(schema, requests, workspaces, minibatches, limits);
  return CatchNoMemory(CountSeeds(requests), "seeds", [&]() -> Status {
    for (;;) {
      HG_ASSIGN_OR_RETURN(const bool asks, making.Next());
      if (!asks) return OkStatus();
      HG_RETURN_IF_ERROR(source.Ask(making.questions(), making.answers()));
    }
  });
}

}  // namespace halograph
