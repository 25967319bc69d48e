// OGB's raw CSV folder: raw/ and split/<name>/, homogeneous or heterogeneous (told by
// raw/triplet-type-list.csv.gz). One graph only; binary sets and .pt splits are not read.
//   node-feat, edge-feat -> feature `feat`; node_<x>, edge_<x> -> feature `<x>`
//   node-label with split/<name>/{train,valid,test} -> one task: `node_classification`, with
//   num_classes, if labels are one column of integers, else `node_prediction`
#pragma once

#include <filesystem>
#include <string>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// `split`: folder below split/; needed if there are several. Errors as OpenDataset; also
// InvalidArgument for a seed without label (file and row).
[[nodiscard]] StatusOr<Dataset> ReadOgb(const std::filesystem::path& folder,
                                        const std::string& split, Scratch* scratch);

}  // namespace halograph
