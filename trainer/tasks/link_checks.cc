#include "trainer/tasks/link_checks.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/log.h"
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
      "it "
      "is better than the model: remove them from one of the sets",
      task.name, shared, edges, kSets[set], other);
}

void Tell(const Task& task, const PairCounts& found) {
  for (size_t set = 0; set < kSets.size(); ++set) {
    if (found.repeats[set] > 0) {
      spdlog::warn(
          "task '{}': {} of the {} rows of the {} set are pairs that stand in it before, with the "
          "same label: they count as often as they stand there. Leave them out of the input, "
          "unless "
          "that is meant",
          task.name, found.repeats[set], found.edges[set] + found.given_negatives[set], kSets[set]);
    }
    if (found.contradicted[set] > 0) {
      spdlog::warn(
          "task '{}': {} of the {} negatives that the {} set gives, rows of label 0, stand in it "
          "as "
          "edges too, with label 1: correct the labels",
          task.name, found.contradicted[set], found.given_negatives[set], kSets[set]);
    }
  }
  WarnOfShared(task, 1, found.edges[1], found.valid_in_train, kSets[0]);
  WarnOfShared(task, 2, found.edges[2], found.test_in_train, kSets[0]);
  WarnOfShared(task, 2, found.edges[2], found.test_in_valid, kSets[1]);
}

}  // namespace

Status WarnOfPairs(const Stores& stores, const Task& task, Communicator& ranks) {
  PairSearch search(stores, task, PartsToSearch(stores.graph->info().book.num_parts(), ranks));
  for (int64_t searching = 1; searching > 0;) {
    if (!search.done()) HG_RETURN_IF_ERROR(search.Step());
    searching = search.done() ? 0 : 1;
    HG_RETURN_IF_ERROR(
        SumOver(ranks, {&searching, 1}, "meeting while pairs of the task are compared"));
  }
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
        "the "
        "graph: a model that knows them loses by it. Leave them out of the input",
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

}  // namespace halograph
