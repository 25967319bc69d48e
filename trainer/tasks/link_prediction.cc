#include "trainer/tasks/link_prediction.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "common/base/log.h"
#include "trainer/seeds/edge_seeds.h"
#include "trainer/seeds/known_edges.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/tasks/given_negatives.h"
#include "trainer/tasks/held_out.h"
#include "trainer/tasks/link_batch.h"
#include "trainer/tasks/link_checks.h"
#include "trainer/tasks/link_figures.h"
#include "trainer/tasks/link_hits.h"
#include "trainer/tasks/link_ranking.h"
#include "trainer/tasks/link_scores.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

std::unique_ptr<const LinkFigures> RankFigures() {
  std::vector<std::string> keys = {"mrr"};
  keys.insert(keys.end(), std::begin(kHitsKeys), std::end(kHitsKeys));
  return std::make_unique<LinkFigures>(std::move(keys), "MRR");
}

// What a minibatch was drawn for, as its labels say.
enum Tag : int64_t {
  kTraining = 0,
  kEvaluation = 1,
  kEvaluationWithGiven = 2,  // negatives: none are drawn
};

Tag TagOf(const Step& batch) {
  const std::span<const int64_t> labels = batch.labels.As<int64_t>();
  return labels.empty() ? kTraining : static_cast<Tag>(labels[1]);
}

struct EndScores {
  torch::Tensor truth;      // [n]
  torch::Tensor negatives;  // [n, k]; -infinity where a negative is the true end itself
};

struct EdgeSets {
  std::optional<EdgeSeeds> train, valid, test;
};

class LinkPrediction final : public TrainingTask {
 public:
  LinkPrediction(const Schema* schema, const Task& task, const LinkOptions& options, EdgeSets sets,
                 std::optional<KnownEdges> known, std::vector<int64_t> hits_at)
      : schema_(schema),
        name_(task.name),
        relations_(RelationsOf(*schema, task)),
        options_(options),
        scorer_(options.score, std::ssize(schema->relations), options.dim),
        sets_(std::move(sets)),
        known_(std::move(known)),
        hits_at_(std::move(hits_at)),
        figures_(hits_at_.empty() ? RankFigures() : HitsFigures(hits_at_)) {}

  const std::string& name() const override { return name_; }
  std::vector<int> seed_types() const override {
    std::set<int> types;
    for (const int relation : relations_) {
      types.insert({schema_->SourceType(relation), schema_->DestinationType(relation)});
    }
    return {types.begin(), types.end()};
  }
  std::vector<int> predicted_types() const override {
    return {schema_->DestinationType(relations_.front())};
  }
  const SeedSource* source(BatchPurpose set) const override { return Find(set); }
  int64_t output_dim() const override { return options_.dim; }
  std::vector<torch::Tensor> parameters() const override { return scorer_.parameters(); }

  Json Facts() const override {
    const auto rows = [](const std::optional<EdgeSeeds>& set) {
      return set.has_value() ? set->rows() : int64_t{0};
    };
    return Json{{"task_relations", relations_.size()},
                {"train_rows", rows(sets_.train)},
                {"valid_rows", rows(sets_.valid)},
                {"test_rows", rows(sets_.test)}};
  }

  void MoveTo(const torch::Device& device) override { scorer_.to(device); }

  BatchLoss Loss(const std::vector<torch::Tensor>& outputs, const Step& batch) override {
    if (TagOf(batch) == kEvaluationWithGiven) {
      return {.sum = LossOf(ScoresOfGiven(outputs, batch)), .scores = {}};
    }
    BatchLoss loss;
    for (const Asked& asked : AskedOf(outputs, batch)) {
      const EndScores scores = ScoresOf(asked, SpecOf(batch));
      const torch::Tensor own = LossOf(scores);
      loss.sum = loss.sum.defined() ? loss.sum + own : own;
      loss.scores.push_back(CountsOf(scores));
    }
    loss.sum = loss.sum / static_cast<double>(num_ends());
    return loss;
  }

  const Metric& metric() const override { return figures_->metric(); }
  void Measure(const std::vector<torch::Tensor>& scores, const Step& /*batch*/,
               std::span<double> sums) const override {
    if (!hits_at_.empty()) return;  // of training, which no negatives are given for
    std::array<double, kRankSums> own = {};
    for (const torch::Tensor& counts : scores) AddRanksOf(counts, own);
    for (size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
  }
  double MetricOf(std::span<const double> sums) const override { return figures_->First(sums); }
  std::vector<MetricValue> MoreMetrics(std::span<const double> sums) const override {
    return figures_->Others(sums);
  }

  bool predicts_outputs() const override { return true; }

  std::unique_ptr<NodeSweep> StartSweep(BatchPurpose set) override {
    if (!hits_at_.empty()) {
      return std::make_unique<LinkHits>(hits_at_, [this](const auto& outputs, const Step& batch) {
        return ScoresOfGiven(outputs, batch);
      });
    }
    if (!known_.has_value()) return nullptr;
    return std::make_unique<LinkRanking>(
        Find(set), num_ends(), &scorer_, &*known_,
        [this](const auto& outputs, const Step& batch, std::vector<LinkQuery>* queries,
               std::vector<torch::Tensor>* rows, std::vector<torch::Tensor>* truths) {
          for (const Asked& asked : AskedOf(outputs, batch)) {
            AddQueries(asked, batch.minibatch, queries);
            // Rows of their own: those of a score may be a view of the whole minibatch's.
            rows->push_back(scorer_.Queries(asked.given, asked.relations).clone());
            truths->push_back(scorer_.Each(rows->back(), asked.truth));
          }
        });
  }

  Status CheckGraph(GraphStore& graph, Communicator& ranks,
                    const CancelToken* cancel) const override;
  Status CheckRows(const Stores& stores, Communicator& ranks, std::span<const int> learnt,
                   const CancelToken* cancel) override;

 private:
  [[nodiscard]] int64_t num_ends() const { return options_.ends == CorruptedEnds::kBoth ? 2 : 1; }
  [[nodiscard]] const EdgeSeeds* Find(BatchPurpose set) const {
    const auto& found = set == BatchPurpose::kTrain   ? sets_.train
                        : set == BatchPurpose::kValid ? sets_.valid
                                                      : sets_.test;
    return found.has_value() ? &*found : nullptr;
  }
  [[nodiscard]] NegativeSpec SpecOf(const Step& batch) const {
    const Tag tag = TagOf(batch);
    return tag == kTraining     ? options_.training()
           : tag == kEvaluation ? options_.evaluation()
                                : LinkOptions::with_given();
  }

  [[nodiscard]] std::vector<Asked> AskedOf(const std::vector<torch::Tensor>& outputs,
                                           const Step& batch) const {
    return halograph::AskedOf(*schema_, SpecOf(batch), outputs, batch);
  }
  [[nodiscard]] EndScores ScoresOf(const Asked& asked, const NegativeSpec& spec);
  [[nodiscard]] EndScores InBatch(const Asked& asked, const torch::Tensor& queries, int64_t count);
  [[nodiscard]] torch::Tensor LossOf(const EndScores& scores) const;
  [[nodiscard]] GivenScores ScoresOfGiven(const std::vector<torch::Tensor>& outputs,
                                          const Step& batch);
  [[nodiscard]] static torch::Tensor LossOf(const GivenScores& scores);
  // What the ranks of true ends are made of, a row each; and the sums of AddRanks out of them.
  [[nodiscard]] static torch::Tensor CountsOf(const EndScores& scores);
  static void AddRanksOf(const torch::Tensor& counts, std::span<double> sums);

  const Schema* const schema_;
  const std::string name_;
  const std::vector<int> relations_;
  const LinkOptions options_;
  LinkScorer scorer_;
  EdgeSets sets_;
  const std::optional<KnownEdges> known_;  // where evaluation ranks among all nodes
  const std::vector<int64_t> hits_at_;     // where it is against given negatives, else empty
  const std::unique_ptr<const LinkFigures> figures_;
};

EndScores LinkPrediction::ScoresOf(const Asked& asked, const NegativeSpec& spec) {
  const torch::Tensor queries = scorer_.Queries(asked.given, asked.relations);
  if (!spec.drawn()) return InBatch(asked, queries, spec.count);
  const torch::Tensor truth_at = asked.truth_at.unsqueeze(1);
  torch::Tensor negatives, same;
  if (spec.shared) {
    negatives = scorer_.All(queries, asked.negatives);
    same = asked.negatives_at.unsqueeze(0) == truth_at;
  } else {
    negatives = scorer_.Own(queries, asked.negatives.view({-1, spec.count, options_.dim}));
    same = asked.negatives_at.view({-1, spec.count}) == truth_at;
  }
  return {.truth = scorer_.Each(queries, asked.truth),
          .negatives = negatives.masked_fill(same, -std::numeric_limits<double>::infinity())};
}

// The true ends of the `count` rows behind each, around the end of the run. A few rows at a time
// are scored with the window that they need.
EndScores LinkPrediction::InBatch(const Asked& asked, const torch::Tensor& queries, int64_t count) {
  constexpr int64_t kRowsAtOnce = 1024;
  const int64_t n = queries.size(0);
  const int64_t k = std::min(count, n - 1);
  std::vector<torch::Tensor> negatives;
  for (int64_t begin = 0; begin < n; begin += kRowsAtOnce) {
    const int64_t m = std::min(kRowsAtOnce, n - begin);
    const auto counted = queries.options().dtype(torch::kInt64);
    const torch::Tensor window = torch::arange(begin + 1, begin + m + k, counted).remainder(n);
    const torch::Tensor place =
        torch::arange(m, counted).unsqueeze(1) + torch::arange(k, counted).unsqueeze(0);
    const torch::Tensor scores =
        scorer_.All(queries.narrow(0, begin, m), torch::embedding(asked.truth, window));
    const torch::Tensor same = asked.truth_at.index_select(0, window).unsqueeze(0) ==
                               asked.truth_at.narrow(0, begin, m).unsqueeze(1);
    negatives.push_back(
        scores.masked_fill(same, -std::numeric_limits<double>::infinity()).gather(1, place));
  }
  return {.truth = scorer_.Each(queries, asked.truth), .negatives = torch::cat(negatives)};
}

torch::Tensor LinkPrediction::LossOf(const EndScores& scores) const {
  namespace F = torch::nn::functional;
  if (options_.loss == LinkLoss::kSoftmax) {
    const torch::Tensor all = torch::cat({scores.truth.unsqueeze(1), scores.negatives}, 1);
    return (all.logsumexp(1) - scores.truth).sum();
  }
  const torch::Tensor counts =
      (scores.negatives > -std::numeric_limits<double>::infinity()).sum(1).clamp_min(1);
  return F::softplus(-scores.truth).sum() + (F::softplus(scores.negatives).sum(1) / counts).sum();
}

GivenScores LinkPrediction::ScoresOfGiven(const std::vector<torch::Tensor>& outputs,
                                          const Step& batch) {
  std::vector<torch::Tensor> runs;  // of the rows, in order
  for (const Asked& asked : AskedOf(outputs, batch)) {
    runs.push_back(scorer_.Each(scorer_.Queries(asked.given, asked.relations), asked.truth));
  }
  const torch::Tensor scores = torch::cat(runs);
  const torch::Tensor edges = LabelsOf(batch).select(1, 2) == 1;
  return {.edges = scores.masked_select(edges),
          .negatives = scores.masked_select(edges.logical_not())};
}

// Binary cross entropy of the rows: whether each is an edge.
torch::Tensor LinkPrediction::LossOf(const GivenScores& scores) {
  namespace F = torch::nn::functional;
  return F::softplus(-scores.edges).sum() + F::softplus(scores.negatives).sum();
}

torch::Tensor LinkPrediction::CountsOf(const EndScores& scores) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor among =
      (scores.negatives > -std::numeric_limits<double>::infinity()).any(1).to(torch::kInt64);
  const RankCounts counts = CompareScores(scores.truth, scores.negatives);
  return torch::stack({counts.greater, counts.equal, among}, 1);
}

void LinkPrediction::AddRanksOf(const torch::Tensor& counts, std::span<double> sums) {
  // An edge without a negative is among none.
  const torch::Tensor ranked = counts.index_select(0, counts.select(1, 2).nonzero().squeeze(1));
  AddRanks(ranked.select(1, 0), ranked.select(1, 1), sums);
}

// A knowledge graph, and any graph whose edges have a direction, may well have the way back of an
// edge that is held out: that is for the user to know.
Status LinkPrediction::CheckGraph(GraphStore& graph, Communicator& ranks,
                                  const CancelToken* cancel) const {
  if (options_.held_out == HeldOutEdges::kKeep) return OkStatus();
  int64_t held_out = 0, ways_back = 0;
  for (const auto& [set, rows] : {std::pair{"valid", &sets_.valid}, {"test", &sets_.test}}) {
    if (!rows->has_value()) continue;
    HG_ASSIGN_OR_RETURN(const HeldOutFound found,
                        FindHeldOut(graph, (*rows)->edges(), ranks, cancel));
    if (found.present > 0) {
      return FailedPrecondition(
          "task '{}': the graph has {} of the {} edges of the {} set, {} of them of '{}': training "
          "would see them in neighbourhoods. Partition the graph without them, or give --held-out "
          "keep",
          name_, found.present, found.rows, set, found.of_relation,
          schema_->relations[found.relation].triple());
    }
    held_out += found.rows;
    ways_back += found.ways_back;
  }
  if (ways_back == 0 || ranks.rank() != 0) return OkStatus();
  spdlog::warn(
      "task '{}': the graph has the reverse of {} of the {} edges that are held out. In an "
      "undirected graph training then sees edges that it is asked for later: partition the graph "
      "without both directions. In a directed graph, such as a knowledge graph, ignore this",
      name_, ways_back, held_out);
  return OkStatus();
}

Status LinkPrediction::CheckRows(const Stores& stores, Communicator& ranks,
                                 std::span<const int> learnt, const CancelToken* cancel) {
  if (ranks.rank() == 0 && !sets_.valid.has_value()) {
    WarnOfNoValidation("it has no validation set, or an empty one");
  }
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(*schema_, name_));
  const Task& task = schema_->tasks[index];
  RowsOfSets rows = {};
  for (size_t i = 0; const auto* const set : {&sets_.train, &sets_.valid, &sets_.test}) {
    rows[i++] = set->has_value() ? &(*set)->edges() : nullptr;
  }
  HG_RETURN_IF_ERROR(WarnOfPairs(stores, task, ranks, cancel));
  HG_RETURN_IF_ERROR(WarnOfUntaughtNodes(*schema_, task, rows, learnt, ranks));
  if (!hits_at_.empty() && options_.held_out != HeldOutEdges::kKeep) {
    HG_RETURN_IF_ERROR(WarnOfTrueNegatives(stores, task, rows, ranks, cancel));
  }
  if (!known_.has_value()) return OkStatus();
  return WarnOfNoRivals(*schema_, task, rows, *known_, options_.ends, ranks);
}

Status CheckOtherNodes(const Schema& schema, const Task& task, const LinkOptions& options) {
  for (const int relation : RelationsOf(schema, task)) {
    for (const bool tails : {true, false}) {
      if (options.ends == (tails ? CorruptedEnds::kHeads : CorruptedEnds::kTails)) continue;
      const NodeType& type =
          schema.node_types[tails ? schema.DestinationType(relation) : schema.SourceType(relation)];
      if (type.count > 1) continue;
      return InvalidArgument(
          "task '{}': '{}': node type '{}' has {} node, so there is no other one for a negative; "
          "--corrupt says which end is replaced",
          task.name, schema.relations[relation].triple(), type.name, type.count);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<TrainingTask>> OpenLinkPrediction(const Stores& stores,
                                                           const TaskOptions& options,
                                                           const std::string& name,
                                                           RankOfWorld who) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  const Task& task = schema.tasks[index];
  const LinkOptions& link = options.link;
  HG_RETURN_IF_ERROR(CheckEdgeTask(schema, task));
  HG_RETURN_IF_ERROR(CheckOtherNodes(schema, task, link));
  HG_ASSIGN_OR_RETURN(const bool given, HasGivenNegatives(stores, task, link, who));
  NodeDrawers drawers;
  if (link.sampling == NegativeSampling::kDegree) {
    HG_ASSIGN_OR_RETURN(drawers, DrawersByDegree(stores, task));
  }
  const NegativeSpec evaluation = given ? LinkOptions::with_given() : link.evaluation();
  EdgeSets sets;
  for (auto [set, name_of_set] :
       {std::pair{&sets.train, "train"}, {&sets.valid, "valid"}, {&sets.test, "test"}}) {
    HG_ASSIGN_OR_RETURN(EdgeRows rows, ReadEdgeRows(stores, task, name_of_set, who));
    if (rows.part_rows.empty() || rows.part_rows.back() == 0) continue;
    const bool train = set == &sets.train;
    set->emplace(&schema, std::move(rows), train ? link.training() : evaluation, drawers,
                 train   ? kTraining
                 : given ? kEvaluationWithGiven
                         : kEvaluation);
  }
  std::optional<KnownEdges> known;
  if (!given && link.eval_negatives == 0 && (sets.valid.has_value() || sets.test.has_value())) {
    HG_ASSIGN_OR_RETURN(known, KnownEdges::Read(stores, task, link.ends));
  }
  return std::unique_ptr<TrainingTask>(
      std::make_unique<LinkPrediction>(&schema, task, link, std::move(sets), std::move(known),
                                       given ? link.HitsAt() : std::vector<int64_t>()));
}

}  // namespace halograph
