// Reads the tasks of a GraphBolt description.
#pragma once

#include <filesystem>

#include "common/base/status.h"
#include "common/yaml/yaml_value.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// Adds the tasks of `description` to `dataset`, whose node types and relations are there already.
// `homogeneous`: sets have no type. Names of releases up to 2.1 (seed_nodes, node_pairs) become
// seeds; names that are not known pass through.
[[nodiscard]] Status ReadGraphBoltTasks(const YamlValue& description,
                                        const std::filesystem::path& folder, bool homogeneous,
                                        Scratch* scratch, Dataset* dataset);

// OK if `format` is numpy. Unimplemented for torch, saying what to do; InvalidArgument else.
[[nodiscard]] Status CheckArrayFormat(const YamlValue& entry);

}  // namespace halograph
