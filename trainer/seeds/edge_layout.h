// Where the ends of a minibatch's edges, and of the negatives drawn for them, stand among its seeds
// (DistDGLv2 section 6: a row of link prediction is an edge). Who draws negatives (EdgeSeeds) and
// who scores them (trainer/tasks/link_prediction.h) read the same layout. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "trainer/options/task_choices.h"

namespace halograph {

// Rows, one after the other, whose relations join the same two node types. Places are positions in
// the seeds of a type: those of row `rows.begin` first, the others behind it.
struct EdgeRun {
  IdRange rows;
  int source_list = 0;  // in EdgeLayout::lists
  int destination_list = 0;
  int64_t sources = 0;
  int64_t destinations = 0;
  // Of negatives at each end: `count` of a row, row after row; or `count` in all, if shared. The
  // tails' are in the destinations' list, the heads' in the sources'. -1: none are drawn.
  int64_t tails = -1;
  int64_t heads = -1;
};

struct EdgeLayout {
  struct List {
    int type = 0;      // index in the schema
    int64_t size = 0;  // seeds
  };
  std::vector<List> lists;  // types ascending: StepSeeds::seeds
  std::vector<EdgeRun> runs;
};

// Which rows stand together: a smaller number stands first.
[[nodiscard]] int64_t RunOf(const Schema& schema, int relation);
// `relations`: of each row, ascending by RunOf.
[[nodiscard]] EdgeLayout LayOutEdges(const Schema& schema, std::span<const int64_t> relations,
                                     const NegativeSpec& negatives);

}  // namespace halograph
