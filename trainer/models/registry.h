// The models that there are, by name. Knows no libtorch: the command line reads it too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "trainer/pipeline/batch_maker.h"

namespace halograph {

class Model;  // model.h

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
};

// What the run tells a model.
struct ModelShape {
  const Schema* schema = nullptr;   // outlives the model
  std::vector<int64_t> input_dims;  // per node type: columns of its inputs; 0: it has none
  int64_t layers = 2;               // of every minibatch
  int64_t output_dim = 1;           // what the task asks for
  // Of the rows of which layers make products. What is prepared of features has it too.
  Precision precision = Precision::kFloat32;
};

struct ModelKind {
  std::string_view name;  // as --model has it
  std::string_view help;  // a few words
  ModelNeeds needs;
  std::unique_ptr<ModelOptions> (*options)();  // with their defaults
  // `options` must be what `options()` made. Throws as libtorch does. Null in a program that has no
  // libtorch.
  std::shared_ptr<Model> (*make)(const ModelOptions& options, const ModelShape& shape);
};

// In the order of --help.
[[nodiscard]] std::span<const ModelKind> ModelKinds();
// NotFound naming those that exist.
[[nodiscard]] StatusOr<const ModelKind*> FindModelKind(std::string_view name);

// The features that a model of this kind takes in, of every node type in turn but those of `learnt`
// (their indices): those of these names, in this order. No names: the only one that a type has,
// else `feat`.
//   FailedPrecondition  the graph is not what the model needs: both are named
//   NotFound            a node type has no features, or not all of these names
[[nodiscard]] StatusOr<std::vector<NodeInput>> ChooseInputs(const ModelKind& kind,
                                                            const Schema& schema,
                                                            std::span<const std::string> features,
                                                            FeatureNormalization normalization,
                                                            std::span<const int> learnt = {});

}  // namespace halograph
