#include "trainer/tasks/link_ranking.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

namespace halograph {
namespace {

// A tensor of the rows of all ranks, of which this rank has `own`.
StatusOr<torch::Tensor> OfAllRanks(const torch::Tensor& own, int64_t first, int64_t rows,
                                   Communicator& ranks) {
  std::vector<int64_t> shape = own.sizes().vec();
  shape.front() = rows;
  torch::Tensor all = torch::zeros(shape, own.options());
  all.narrow(0, first, own.size(0)).copy_(own);
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(all, "gathering the edges to rank"));
  return all;
}

}  // namespace

LinkRanking::LinkRanking(const SeedSource* source, int64_t ends, LinkScorer* scorer,
                         const KnownEdges* known, AskRows ask)
    : source_(source), ends_(ends), scorer_(scorer), known_(known), ask_(std::move(ask)) {}

void LinkRanking::AddRows(const std::vector<torch::Tensor>& outputs, const Step& batch) {
  ask_(outputs, batch, &queries_, &rows_, &truths_);
}

Status LinkRanking::Meet(Communicator& ranks) {
  const IdRange shard = SplitRows(source_->part_rows(), ranks.world_size()).of_rank[ranks.rank()];
  own_ = {shard.begin * ends_, shard.end * ends_};
  const int64_t all = source_->rows() * ends_;
  // The width of rows is known by all, also without a row of one's own.
  torch::Tensor width = torch::zeros({1}, torch::kInt64);
  if (!rows_.empty()) width.fill_(rows_.front().size(1));
  HG_ASSIGN_OR_RETURN(const torch::Tensor widths,
                      OfAllRanks(width, ranks.rank(), ranks.world_size(), ranks));
  const auto dim = widths.max().item<int64_t>();
  const torch::Tensor rows = rows_.empty() ? torch::zeros({0, dim}) : torch::cat(rows_);
  const torch::Tensor truths = truths_.empty() ? torch::zeros({0}) : torch::cat(truths_);
  torch::Tensor queries = torch::zeros({std::ssize(queries_), kLinkQueryFields}, torch::kInt64);
  static_assert(sizeof(LinkQuery) == kLinkQueryFields * sizeof(int64_t));
  if (!queries_.empty()) std::memcpy(queries.data_ptr(), queries_.data(), queries.nbytes());
  rows_.clear();
  truths_.clear();

  HG_ASSIGN_OR_RETURN(all_rows_, OfAllRanks(rows, own_.begin, all, ranks));
  HG_ASSIGN_OR_RETURN(all_truths_, OfAllRanks(truths, own_.begin, all, ranks));
  HG_ASSIGN_OR_RETURN(queries, OfAllRanks(queries, own_.begin, all, ranks));
  queries_.resize(static_cast<size_t>(all));
  if (all > 0) std::memcpy(queries_.data(), queries.data_ptr(), queries.nbytes());
  std::set<int> types;
  for (const LinkQuery& query : queries_) types.insert(static_cast<int>(query.candidate_type));
  types_.assign(types.begin(), types.end());
  counts_ = torch::zeros({2, all}, torch::kFloat64);
  return OkStatus();
}

std::span<const KnownEdges::Entry> LinkRanking::KnownOf(int64_t query) const {
  const LinkQuery& asked = queries_[static_cast<size_t>(query)];
  return asked.tails != 0 ? known_->TailsOf(asked.relation, asked.given)
                          : known_->HeadsOf(asked.relation, asked.given);
}

void LinkRanking::Count(const torch::Tensor& nodes, std::span<const int64_t> ids, IdRange queries) {
  torch::Tensor scores =
      scorer_->All(all_rows_.narrow(0, queries.begin, queries.size()), nodes).contiguous();
  auto* const values = scores.data_ptr<float>();
  // The true answer is a known edge too: it is not held against itself.
  for (int64_t query = queries.begin; query < queries.end; ++query) {
    const auto known = KnownOf(query);
    auto entry =
        std::lower_bound(known.begin(), known.end(), ids.front(),
                         [](const KnownEdges::Entry& a, int64_t id) { return a.other < id; });
    for (; entry != known.end() && entry->other <= ids.back(); ++entry) {
      const auto found = std::lower_bound(ids.begin(), ids.end(), entry->other);
      if (found == ids.end() || *found != entry->other) continue;
      values[(query - queries.begin) * std::ssize(ids) + (found - ids.begin())] =
          -std::numeric_limits<float>::infinity();
    }
  }
  const RankCounts counts =
      CompareScores(all_truths_.narrow(0, queries.begin, queries.size()), scores);
  counts_[0].narrow(0, queries.begin, queries.size()) += counts.greater;
  counts_[1].narrow(0, queries.begin, queries.size()) += counts.equal;
}

void LinkRanking::AddNodes(int type, const std::vector<torch::Tensor>& outputs, const Step& batch) {
  const torch::Tensor nodes = RowsOfSeeds(outputs[type], batch);
  std::vector<int64_t> ids;  // ascending: the sweep goes through the nodes in order
  for (const int32_t position : batch.minibatch.seed_positions.front()) {
    ids.push_back(batch.minibatch.nodes[type][position]);
  }
  const int64_t step = std::max<int64_t>(1, kScoresAtOnce / std::ssize(ids));
  const int64_t all = std::ssize(queries_);
  // Queries of one type stand together but for those of other types between them.
  for (int64_t begin = 0; begin < all;) {
    if (queries_[begin].candidate_type != type) {
      ++begin;
      continue;
    }
    int64_t end = begin;
    while (end < all && end - begin < step && queries_[end].candidate_type == type) ++end;
    Count(nodes, ids, {begin, end});
    begin = end;
  }
}

Status LinkRanking::Finish(Communicator& ranks, std::span<double> sums) {
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(counts_, "all-reduce of ranks"));
  AddRanks(counts_[0].narrow(0, own_.begin, own_.size()),
           counts_[1].narrow(0, own_.begin, own_.size()), sums);
  return OkStatus();
}

}  // namespace halograph
