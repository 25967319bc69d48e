#include "trainer/run/part_sources.h"

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "client/part_alone/part_view.h"
#include "trainer/run/stores.h"

namespace halograph {
namespace {

Status OutputsDiffer(const Session& run, int64_t some, int part, int64_t others, int other) {
  return FailedPrecondition(
      "task '{}' has {} outputs by the labels of part {}, and {} by those of part {}: its metadata "
      "needs num_classes",
      run.task->name(), some, part, others, other);
}

// Of the first parts of ranks, which know no others. The same on all ranks.
Status AgreeOnOutputs(const Session& run) {
  const int world_size = run.options.world_size;
  torch::Tensor all = torch::zeros({world_size}, torch::kFloat64);
  all[run.options.rank] = static_cast<double>(run.task->output_dim());
  HG_RETURN_IF_ERROR(run.ranks->AllReduceSum(all, "all-reduce of the outputs of parts"));
  const auto outputs_of = [&](int rank) { return std::llround(all[rank].item<double>()); };
  const auto part_of = [&](int rank) {
    return PartOfRank(rank, run.stores.graph->info().book.num_parts(), world_size);
  };
  for (int rank = 1; rank < world_size; ++rank) {
    if (outputs_of(rank) == outputs_of(0)) continue;
    return OutputsDiffer(run, outputs_of(rank), part_of(rank), outputs_of(0), part_of(0));
  }
  return OkStatus();
}

// What both have in common.
class SourceOfRun : public PartSource {
 public:
  SourceOfRun(Session& run, std::vector<int> parts) : run_(run), parts_(std::move(parts)) {}

  const std::vector<int>& parts() const override { return parts_; }

  StatusOr<std::unique_ptr<OpenedPart>> Open(int part) override {
    auto opened = std::make_unique<OpenedPart>(&run_.cancel);
    Session& session = opened->session;
    session.options = run_.options;
    session.options.rank = 0;
    session.options.world_size = 1;
    session.options.seed = SubKey(run_.options.seed, static_cast<uint64_t>(part));
    session.stop = run_.stop;
    session.trace = run_.trace;
    session.metrics = run_.metrics;
    session.told_of_memory = run_.told_of_memory;
    session.feature_scales = run_.feature_scales;
    session.tables = run_.tables;
    session.device = run_.device;
    // Of the same queues: what a device keeps of a queue's memory is not for others.
    session.compact = run_.compact;
    if (run_.copier != nullptr) session.copier = std::make_unique<const BatchCopier>(*run_.copier);
    const Status prepared = OpenInto(part, &session);
    if (prepared.ok()) return opened;
    return Annotate(prepared, fmt::format("rank {}, part {}", run_.options.rank, part));
  }

 protected:
  [[nodiscard]] virtual StatusOr<Stores> OpenStoresOfPart(int part, CancelToken* cancel) = 0;
  Session& run_;

 private:
  Status OpenInto(int part, Session* session) {
    HG_ASSIGN_OR_RETURN(session->stores, OpenStoresOfPart(part, &session->cancel));
    HG_ASSIGN_OR_RETURN(session->ranks, Communicator::Join({}));
    RunInputs inputs;
    HG_RETURN_IF_ERROR(PrepareMinibatches(*session, &inputs));
    session->model = run_.model;
    if (session->task->output_dim() == run_.task->output_dim()) return OkStatus();
    return OutputsDiffer(run_, session->task->output_dim(), part, run_.task->output_dim(),
                         parts_.front());
  }

  const std::vector<int> parts_;
};

class PartsOfWholeGraph final : public SourceOfRun {
 public:
  using SourceOfRun::SourceOfRun;

  StatusOr<BothSets> Evaluate() override {
    BothSets sets;
    for (const auto& [purpose, figures] :
         {std::pair{BatchPurpose::kValid, &sets.valid}, {BatchPurpose::kTest, &sets.test}}) {
      HG_ASSIGN_OR_RETURN(const Evaluation evaluated, halograph::Evaluate(run_, purpose));
      if (evaluated.stopped) return BothSets{.stopped = true};
      *figures = evaluated.figures;
    }
    return sets;
  }
  StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) override {
    return MostFrequentShare(run_, set);
  }

 protected:
  StatusOr<Stores> OpenStoresOfPart(int part, CancelToken* /*cancel*/) override {
    return MakePartView(run_.stores, part);
  }
};

class PartsAlone final : public SourceOfRun {
 public:
  // The run has opened, and checked, the first.
  PartsAlone(Session& run, std::vector<int> parts)
      : SourceOfRun(run, std::move(parts)), checked_{this->parts().front()} {}

  StatusOr<BothSets> Evaluate() override {
    std::array<SetSums, 2> sums = {SetSums(*run_.task), SetSums(*run_.task)};
    constexpr std::array kSets = {BatchPurpose::kValid, BatchPurpose::kTest};
    bool stop = false;
    for (size_t i = 0; i < parts().size() && !stop; ++i) {
      HG_ASSIGN_OR_RETURN(const auto part, Open(parts()[i]));
      for (size_t set = 0; set < kSets.size() && !stop; ++set) {
        HG_ASSIGN_OR_RETURN(stop, sums[set].AddRows(part->session, kSets[set]));
      }
    }
    torch::Tensor stopping = torch::full({1}, stop ? 1.0 : 0.0);
    HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(
        stopping, "meeting after evaluation (waiting for other ranks to go through their parts)"));
    if (stopping.item<float>() > 0) return BothSets{.stopped = true};
    HG_ASSIGN_OR_RETURN(const Evaluation valid, sums[0].OverRanks(*run_.ranks));
    HG_ASSIGN_OR_RETURN(const Evaluation test, sums[1].OverRanks(*run_.ranks));
    return BothSets{.valid = valid.figures, .test = test.figures};
  }

  StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) override {
    std::vector<double> own;
    for (const int number : parts()) {
      HG_ASSIGN_OR_RETURN(const auto part, Open(number));
      const std::vector<double> of_part = part->session.task->ClassCounts(set);
      own.resize(of_part.size());
      for (size_t i = 0; i < of_part.size(); ++i) own[i] += of_part[i];
    }
    return MostFrequentOf(own, *run_.ranks);
  }

 protected:
  StatusOr<Stores> OpenStoresOfPart(int part, CancelToken* cancel) override {
    StoreOptions where = StoreOptionsOf(run_.options);
    where.part_alone = part;
    if (!checked_.insert(part).second) where.verify = VerifyLevel::kHeaders;
    return OpenStores(where, cancel);
  }

 private:
  std::set<int> checked_;
};

}  // namespace

Status CheckAveraged(const Session& run, const RunInputs& inputs) {
  if (run.options.average_every == 0) return OkStatus();
  if (run.task->predicts_outputs()) {
    return InvalidArgument(
        "--average-every is for tasks about nodes; train task '{}' with gradients summed in every "
        "step",
        run.task->name());
  }
  if (!inputs.learnt.empty()) {
    std::vector<std::string> types;
    for (const LearntType& learnt : inputs.learnt) {
      types.push_back(run.stores.graph->info().schema.node_types[learnt.node_type].name);
    }
    return InvalidArgument(
        "--average-every: inputs of these node types would be learnt, since they have no features: "
        "{}; learnt inputs are pushed in step with all ranks: give the types features, or leave "
        "the option out",
        fmt::join(types, ", "));
  }
  return run.options.part_only ? AgreeOnOutputs(run) : OkStatus();
}

StatusOr<std::unique_ptr<PartSource>> MakePartSource(Session& run) {
  const TrainOptions& options = run.options;
  const GraphInfo& info = run.stores.graph->info();
  HG_ASSIGN_OR_RETURN(std::vector<int> parts,
                      PartsOfRank(options.rank, info.book.num_parts(), options.world_size));
  if (!options.part_only) return std::make_unique<PartsOfWholeGraph>(run, std::move(parts));
  return std::make_unique<PartsAlone>(run, std::move(parts));
}

}  // namespace halograph
