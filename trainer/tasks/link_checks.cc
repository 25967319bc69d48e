#include "trainer/tasks/link_checks.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/seeds/pair_search.h"
#include "trainer/tasks/held_out.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

constexpr std::array<std::string_view, 3> kSets = {"train", "valid", "test"};

// The parts that a rank looks through: each is one rank's, of a rank that belongs to it where there
// is one.
std::vector<int> PartsToSearch(int parts, const Communicator& ranks) {
  std::vector<int> own;
  const int world_size = ranks.world_size();
  for (int part = 0; part < parts; ++part) {
    const int64_t first = (int64_t{part} * world_size + parts - 1) / parts;
    if (std::min<int64_t>(first, world_size - 1) == ranks.rank()) own.push_back(part);
  }
  return own;
}

// Sums over ranks, in place.
Status SumOver(Communicator& ranks, std::span<int64_t> values, std::string_view what) {
  return ranks.AllReduceSum(torch::from_blob(values.data(), {std::ssize(values)}, torch::kInt64),
                            what);
}

Status SumOver(Communicator& ranks, PairCounts* counts) {
  static_assert(sizeof(PairCounts) % sizeof(int64_t) == 0);
  return SumOver(ranks, {reinterpret_cast<int64_t*>(counts), sizeof(PairCounts) / sizeof(int64_t)},
                 "all-reduce of pairs that contradict each other");
}

void WarnOfShared(const Task& task, size_t set, int64_t edges, int64_t shared,
                  std::string_view other) {
  if (shared == 0) return;
  spdlog::warn(
      "task '{}': {} of the {} edges of the {} set are in the {} set too, so what is measured on "
      "it is better than the model: remove them from one of the sets",
      task.name, shared, edges, kSets[set], other);
}

void Tell(const Task& task, const PairCounts& found) {
  for (size_t set = 0; set < kSets.size(); ++set) {
    if (found.repeats[set] > 0) {
      spdlog::warn(
          "task '{}': {} of the {} rows of the {} set are pairs that stand in it before, with the "
          "same label: they count as often as they stand there. Leave them out of the input, "
          "unless that is meant",
          task.name, found.repeats[set], found.edges[set] + found.given_negatives[set], kSets[set]);
    }
    if (found.contradicted[set] > 0) {
      spdlog::warn(
          "task '{}': {} of the {} negatives that the {} set gives, rows of label 0, stand in it "
          "as edges too, with label 1: correct the labels",
          task.name, found.contradicted[set], found.given_negatives[set], kSets[set]);
    }
  }
  WarnOfShared(task, 1, found.edges[1], found.valid_in_train, kSets[0]);
  WarnOfShared(task, 2, found.edges[2], found.test_in_train, kSets[0]);
  WarnOfShared(task, 2, found.edges[2], found.test_in_valid, kSets[1]);
}

// Nodes [first, first + 64 * words) of a type that the train set's edges have, and those that the
// other sets' have: int64 [2, words], a bit a node.
torch::Tensor EndsOfEdges(const Schema& schema, const RowsOfSets& rows, int type, int64_t first,
                          int64_t words) {
  torch::Tensor bits = torch::zeros({2, words}, torch::kInt64);
  auto* const all = reinterpret_cast<uint64_t*>(bits.data_ptr<int64_t>());
  const auto mark = [&](size_t set, int64_t node) {
    const int64_t at = node - first;
    if (at < 0 || at >= 64 * words) return;
    all[(set == 0 ? 0 : words) + at / 64] |= uint64_t{1} << (at % 64);
  };
  for (size_t set = 0; set < rows.size(); ++set) {
    if (rows[set] == nullptr) continue;
    const EdgeRows& own = *rows[set];
    for (size_t row = 0; row < own.sources.size(); ++row) {
      if (!own.is_edge(row)) continue;
      if (schema.SourceType(own.relations[row]) == type) mark(set, own.sources[row]);
      if (schema.DestinationType(own.relations[row]) == type) mark(set, own.destinations[row]);
    }
  }
  return bits;
}

}  // namespace

Status WarnOfPairs(const Stores& stores, const Task& task, Communicator& ranks,
                   const CancelToken* cancel) {
  PairSearch search(stores, task, PartsToSearch(stores.graph->info().book.num_parts(), ranks));
  const RankWork compare = [&search](const CancelToken& ended) -> Status {
    while (!search.done()) {
      HG_RETURN_IF_ERROR(ended.Check());
      HG_RETURN_IF_ERROR(search.Step());
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(
      WorkTogether(ranks, cancel, compare, "meeting while pairs of the task are compared"));
  PairCounts found = search.counts();
  HG_RETURN_IF_ERROR(SumOver(ranks, &found));
  if (ranks.rank() == 0) Tell(task, found);
  return OkStatus();
}

Status WarnOfTrueNegatives(const Stores& stores, const Task& task, const RowsOfSets& rows,
                           Communicator& ranks, const CancelToken* cancel) {
  for (size_t set = 1; set < rows.size(); ++set) {
    if (rows[set] == nullptr) continue;
    HG_ASSIGN_OR_RETURN(
        const HeldOutFound found,
        FindHeldOut(*stores.graph, *rows[set], ranks, cancel, HeldOutRows::kGivenNegatives));
    if (found.present == 0 || ranks.rank() != 0) continue;
    spdlog::warn(
        "task '{}': {} of the {} negatives that the {} set gives, rows of label 0, are edges of "
        "the graph: a model that knows them loses by it. Leave them out of the input",
        task.name, found.present, found.rows, kSets[set]);
  }
  return OkStatus();
}

Status WarnOfNoRivals(const Schema& schema, const Task& task, const RowsOfSets& rows,
                      const KnownEdges& known, CorruptedEnds ends, Communicator& ranks) {
  for (size_t set = 1; set < rows.size(); ++set) {
    if (rows[set] == nullptr) continue;
    const EdgeRows& own = *rows[set];
    std::array<int64_t, 2> counts = {};  // answers, and those without a rival
    const auto add = [&](std::span<const KnownEdges::Entry> edges, int type) {
      ++counts[0];
      if (std::ssize(edges) == schema.node_types[type].count) ++counts[1];
    };
    for (size_t row = 0; row < own.sources.size(); ++row) {
      const int relation = own.relations[row];
      if (ends != CorruptedEnds::kHeads) {
        add(known.TailsOf(relation, own.sources[row]), schema.DestinationType(relation));
      }
      if (ends != CorruptedEnds::kTails) {
        add(known.HeadsOf(relation, own.destinations[row]), schema.SourceType(relation));
      }
    }
    HG_RETURN_IF_ERROR(SumOver(ranks, counts, "all-reduce of answers without a rival"));
    if (counts[1] == 0 || ranks.rank() != 0) continue;
    spdlog::warn(
        "task '{}': {} of the {} answers that the {} set asks for have no rival: every node of the "
        "type makes a known edge there, so they rank first whatever the model is. --corrupt says "
        "which end is asked for, and --eval-negatives K ranks among K nodes, known or not",
        task.name, counts[1], counts[0], kSets[set]);
  }
  return OkStatus();
}

Status WarnOfUntaughtNodes(const Schema& schema, const Task& task, const RowsOfSets& rows,
                           std::span<const int> learnt, Communicator& ranks, int64_t at_once) {
  for (const int type : learnt) {
    const int64_t nodes = schema.node_types[type].count;
    int64_t asked = 0, untaught = 0;
    for (int64_t first = 0; first < nodes; first += at_once) {
      const int64_t words = (std::min(at_once, nodes - first) + 63) / 64;
      HG_ASSIGN_OR_RETURN(const std::vector<torch::Tensor> of_ranks,
                          ranks.Gather(EndsOfEdges(schema, rows, type, first, words),
                                       "gathering the nodes of the task's edges"));
      if (of_ranks.empty()) continue;  // rank 0 counts
      torch::Tensor all = of_ranks.front();
      for (const torch::Tensor& of_rank : of_ranks) all = all.bitwise_or(of_rank);
      const auto* const bits = reinterpret_cast<const uint64_t*>(all.data_ptr<int64_t>());
      for (int64_t word = 0; word < words; ++word) {
        asked += std::popcount(bits[words + word]);
        untaught += std::popcount(bits[words + word] & ~bits[word]);
      }
    }
    if (untaught == 0) continue;
    spdlog::warn(
        "task '{}': of the {} nodes of type '{}' that edges of the validation and test sets "
        "have, {} are in no edge of the train set: nothing says what their learnt rows should "
        "be. Leave their edges out, or give them some to train on",
        task.name, asked, schema.node_types[type].name, untaught);
  }
  return OkStatus();
}

}  // namespace halograph
