// A node's own input row, and nothing of its neighbours: learnt inputs (--embed) with a decoder, as
// knowledge graphs are completed with; or features alone, to see what neighbours are worth. For any
// graph. No edge is sampled for it: the command line refuses --layers and fanouts.
//   h_v <- x_v           where x_v is as wide as the task wants rows
//   h_v <- W x_v + b     elsewhere, W and b of the node type
// It has no layer that reads another: its embeddings are what it puts out. Knows no libtorch.
#pragma once

#include <memory>

#include "trainer/models/registry.h"

namespace halograph {

struct EmbeddingModelOptions final : ModelOptions {
  double dropout = 0;  // on the inputs

  void AddRows(OptionTable& table) override {
    table.Add("dropout", &dropout, "share of an input row's values that a step leaves out")
        .AtLeast(0)
        .Below(1)
        .AllRanks();
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeEmbeddingModel(const EmbeddingModelOptions& options,
                                                        const ModelShape& shape);

}  // namespace halograph
