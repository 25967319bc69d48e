// Does the folder's schema describe the input? What must hold before contents can be compared.
#pragma once

#include "common/graph/schema.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/verify/findings.h"

namespace halograph {

// Names and counts of node types, names of relations, specs of features and task arrays, task
// metadata and rows. Counts of edges are found out with the edges.
void VerifySchema(const Dataset& dataset, const Schema& schema, Findings* findings);

}  // namespace halograph
