// The checks of a partition folder against its input. Each adds the differences that it finds to
// `findings`. VerifySchema comes first: the others require that the schema describes the input.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/graph/schema.h"
#include "common/storage/json.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/reader.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"

namespace halograph {

// Names and counts of node types, names of relations, specs of features and task arrays, task
// metadata and rows. Counts of edges are found out with the edges.
void VerifySchema(const Dataset& dataset, const Schema& schema, Findings* findings);

// The order of nodes. Where the manifest's options have "trainers_per_part", the sub-parts of their
// "report" make up each part. Each part has clusters, no more than "batch_clusters" says, or none
// where the options have no such; none lies in two sub-parts. Unless "order" says otherwise, nodes
// ascend by input id within each cluster or else sub-part. DataLoss: options that are no such, or
// of another graph; `where` names the manifest.
[[nodiscard]] Status VerifyNodeOrder(const PartitionSet& graph, const Json& options,
                                     const std::string& where, const NodeMaps& maps,
                                     Findings* findings);

// One relation (index as in the schema, the same in the dataset): every edge of the input that
// `duplicates` keeps, once, between the right nodes, and no other; in-edges of a node ascend by
// original edge id. With kDrop the smallest id among equal (source, destination) is the one kept.
// Errors are those of reading the input.
[[nodiscard]] Status VerifyEdges(const Dataset& dataset, const PartitionSet& graph, int relation,
                                 EdgePolicy duplicates, const NodeMaps& maps, Findings* findings);

// Every row of every task set, with the partition that owns it (a node's owner; of a pair that of
// its second column, of a wider tuple of its first), in input order, seeds and negatives of a
// relation as global ids, the rest byte by byte. Requires schema and dataset to agree.
[[nodiscard]] Status VerifyTasks(const Dataset& dataset, const PartitionSet& graph,
                                 const NodeMaps& maps, Findings* findings);

// All features of all node types and relations, byte by byte, as their specs say (StoreRow).
// Requires schema and dataset to agree.
void VerifyFeatures(const Dataset& dataset, const PartitionSet& graph, const NodeMaps& maps,
                    Findings* findings);

// The halos of parts that have one (common/graph/halo.h): exactly the nodes within reach, their
// features and in-edges as their owners have them. `folder`: of the graph.
void VerifyHalos(const PartitionSet& graph, const std::filesystem::path& folder,
                 Findings* findings);

// Tables of weighted sampling: makes every node's tables again from the part's own feature. Notes
// at most one difference a part and feature. (VerifyFeatures checks the feature against the input.)
void VerifyWeights(const PartitionSet& graph, Findings* findings);

}  // namespace halograph
