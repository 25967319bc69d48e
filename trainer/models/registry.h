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
#include "common/storage/json.h"
#include "trainer/options/model_options.h"
#include "trainer/pipeline/batch_maker.h"

namespace halograph {

class Model;  // model.h

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

// The shared options (SharedFacts) of a run of this model that is told nothing else. A checkpoint
// that lacks one was written by a build that had it not, and did as these say. So the default of a
// new option is what was done before. Of a model that is not there, without the model's own.
[[nodiscard]] Json DefaultFacts(std::string_view model);

// "1 node type and 2 relations", for messages on what a model needs.
[[nodiscard]] std::string TypesAndRelations(const Schema& schema);

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
