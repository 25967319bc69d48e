// What the user tells a model, and what a model asks of the graph. Each model has options of its
// own, in its header (trainer/models). Knows no libtorch: the command line reads them.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "common/sampling/layer_probability.h"
#include "trainer/options/embedding_options.h"
#include "trainer/options/row_choices.h"

namespace halograph {

// What a model asks of the graph, and how it likes minibatches prepared.
struct ModelNeeds {
  bool one_relation = false;  // one node type and one relation; else any graph
  bool neighbors = true;      // it reads blocks; else no edge is drawn, and none are there
  bool edge_ids = false;      // in blocks: for features of edges
  bool weights = false;       // in blocks: --sampling-weights must be given
  // kSelfAndMean where the first layer has no parameter before its mean: the threads that prepare
  // then aggregate (ModelInput::self_and_mean).
  InputRows input_rows = InputRows::kNodes;
  // What its layers run over (ModelInput::blocks), and what its backward pass sums by source: of
  // the first layer only where inputs get a gradient, or kAll.
  BlockForm form = BlockForm::kSampled;
  BySource by_source = BySource::kNone;
  // It divides by the in-degrees of sources too (LayerInput::outer). Only beside one_relation.
  bool source_degrees = false;
  // Its layers weigh the edges of a destination among those that are drawn. So sums are never
  // unbiased, and layer-wise samplers draw by kSqrt, if nobody says; else by kDegree.
  bool attends = false;

  [[nodiscard]] LayerProbability layer_probability() const {
    return attends ? LayerProbability::kSqrt : LayerProbability::kDegree;
  }
};

// What the user tells one kind of model: each has a struct of its own, with its defaults.
struct ModelOptions {
  virtual ~ModelOptions() = default;
  // Adds a row for every field. Defined in the model's header, which the command line reads without
  // libtorch. Only the rows of the model that --model names are in the program's
  // table, so several models may use one name. This must outlive the table.
  virtual void AddRows(OptionTable& table) = 0;
  // What no row can say by itself: InvalidArgument naming the options that do not go together.
  [[nodiscard]] virtual Status Validate() const { return OkStatus(); }
  // What the model asks for with these options, if not all that its kind asks for.
  [[nodiscard]] virtual ModelNeeds NeedsOf(const ModelNeeds& kind) const { return kind; }

  // Whether its layers take blocks with coefficients of edges (Block::coefficients).
  //   InvalidArgument  they do not: the option is named, and what to give instead
  [[nodiscard]] virtual Status TakesCoefficients() const { return OkStatus(); }

  // The option by which the model has inputs of its own, with its value: a learnt row of every node
  // of every type (OwnInputs), and nothing else. Then neither features nor learnt inputs can be
  // chosen. Empty: it takes what is chosen.
  [[nodiscard]] virtual std::string_view OwnInputsBy() const { return {}; }
  // Where it takes what is chosen, but could have inputs of its own: the option for that. Else
  // empty.
  [[nodiscard]] virtual std::string_view OffersOwnInputsBy() const { return {}; }
  // Asked only where OwnInputsBy names an option. In the order of the schema.
  //   InvalidArgument  rows that would be wider than a tensor's can be: the options are named
  [[nodiscard]] virtual StatusOr<std::vector<LearntType>> OwnInputs(
      const Schema& /*schema*/) const {
    return std::vector<LearntType>();
  }
};

}  // namespace halograph
