// --model auto, the default: the graph decides which model it is. A graph of one node type and one
// relation gets sage, any other rgcn.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/models/registry.h"
#include "trainer/options/train_options.h"

namespace halograph {

inline constexpr char kAutoModel[] = "auto";

// The options of both models, before it is known which one it is: a row for each name. What is set
// is set for every model that has the option; what is not has the default of the model that it
// becomes. --help shows sage's.
class AutoOptions final : public ModelOptions {
 public:
  AutoOptions();
  void AddRows(OptionTable& table) override;
  [[nodiscard]] Status Validate() const override;
  [[nodiscard]] std::string_view OwnInputsBy() const override;
  [[nodiscard]] Status TakesCoefficients() const override;

  // Those of the model that the graph asks for, which live as long as this; and its name.
  // InvalidArgument: an option was given that only the other model has.
  struct Resolved {
    std::string_view model;
    ModelOptions* options = nullptr;
  };
  [[nodiscard]] StatusOr<Resolved> For(const Schema& schema) const;

 private:
  struct Candidate {
    const ModelKind* kind;
    std::unique_ptr<ModelOptions> options;
    OptionTable rows;
  };
  std::vector<Candidate> candidates_;
};

// Of the model of this name, auto too, with their defaults. NotFound naming those that exist.
[[nodiscard]] StatusOr<std::shared_ptr<ModelOptions>> OptionsOfModel(std::string_view name);

// Puts the model that the graph asks for in the place of auto; else changes nothing. Before
// anything else reads the model. Errors as AutoOptions::For and the model's Validate.
[[nodiscard]] Status ResolveModel(const Schema& schema, TrainOptions* options);

}  // namespace halograph
