#include "trainer/tasks/given_negatives.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/log.h"
#include "trainer/seeds/edge_rows.h"

namespace halograph {
namespace {

Status CheckOptions(const Task& task, const LinkOptions& options, bool given) {
  if (!given && !options.hits_at.empty()) {
    return InvalidArgument(
        "--hits-at is for sets that come with negatives, rows of label 0: the validation and test "
        "sets of task '{}' have none; leave the option out",
        task.name);
  }
  if (given && options.eval_negatives != LinkOptions().eval_negatives) {
    return InvalidArgument(
        "--eval-negatives {}: the validation and test sets of task '{}' come with negatives, rows "
        "of label 0, and are measured against these; leave the option out, or such rows out of "
        "the input",
        options.eval_negatives, task.name);
  }
  return OkStatus();
}

}  // namespace

StatusOr<bool> HasGivenNegatives(const Stores& stores, const Task& task, const LinkOptions& options,
                                 RankOfWorld who) {
  const std::vector<int64_t> at = options.HitsAt();
  const int64_t most = *std::max_element(at.begin(), at.end());
  std::string_view with, without;
  for (const std::string_view set : {"valid", "test"}) {
    HG_ASSIGN_OR_RETURN(const RowKinds rows, CountRowKinds(stores, task, set, most));
    if (rows.edges + rows.given_negatives == 0) continue;
    if (rows.edges == 0) {
      return FailedPrecondition(
          "task '{}': the {} set has {} negatives, rows of label 0, and no edge to hold against "
          "them: add edges, rows of label 1, or leave the set out of the input",
          task.name, set, rows.given_negatives);
    }
    (rows.given_negatives > 0 ? with : without) = set;
    if (rows.given_negatives > 0 && rows.given_negatives < most && who.rank == 0) {
      spdlog::warn(
          "task '{}': the {} set has {} negatives, so hits at more than {} are 1 whatever the "
          "model is; --hits-at says which to measure",
          task.name, set, rows.given_negatives, rows.given_negatives);
    }
  }
  if (!with.empty() && !without.empty()) {
    return FailedPrecondition(
        "task '{}': the {} set comes with negatives, rows of label 0, and the {} set has none: "
        "both are measured alike. Give the {} set negatives too, or leave them out of the {} set",
        task.name, with, without, without, with);
  }
  HG_RETURN_IF_ERROR(CheckOptions(task, options, !with.empty()));
  return !with.empty();
}

}  // namespace halograph
