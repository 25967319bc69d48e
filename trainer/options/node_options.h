// What a run is told of a task whose rows are nodes. Knows no libtorch.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/program/options.h"
#include "trainer/options/option_marks.h"
#include "trainer/options/task_choices.h"

namespace halograph {

// By what the loss of a row is multiplied in classification.
struct ClassWeights {
  enum class Rule : uint8_t {
    kNone,
    kBalanced,  // each class by rows / (classes * rows of the class), of the training set
    kGiven,
  };
  Rule rule = Rule::kNone;
  std::vector<double> given = {};  // kGiven: one a class, finite and above 0
};

// "none", "balanced", or numbers: "1,0.5,2". InvalidArgument: anything else.
[[nodiscard]] inline StatusOr<ClassWeights> ParseClassWeights(std::string_view text) {
  if (text == "none") return ClassWeights{};
  if (text == "balanced") return ClassWeights{.rule = ClassWeights::Rule::kBalanced};
  ClassWeights weights{.rule = ClassWeights::Rule::kGiven};
  for (std::string_view rest = text;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    double weight = 0;
    const char* const end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, weight);
    if (error != std::errc() || read != end || !std::isfinite(weight) || weight <= 0) {
      return InvalidArgument(
          "'{}' is no weight: expected none, balanced, or a number above 0 for each class, "
          "separated by commas",
          word);
    }
    weights.given.push_back(weight);
    if (word.size() == rest.size()) return weights;
    rest.remove_prefix(word.size() + 1);
  }
}

[[nodiscard]] inline std::string ToString(const ClassWeights& weights) {
  switch (weights.rule) {
    case ClassWeights::Rule::kNone:
      return "none";
    case ClassWeights::Rule::kBalanced:
      return "balanced";
    case ClassWeights::Rule::kGiven:
      break;
  }
  return fmt::format("{}", fmt::join(weights.given, ","));
}

struct NodeTaskOptions {
  std::optional<NodeTaskKind> kind = {};  // none: as the data says (KindOf)
  std::vector<std::string> metrics = {};  // the first decides which epoch is best; none: the kind's
  ClassWeights class_weights = {};
  // A step is about all rows, and its layers are over all nodes of the parts (whole_parts.h).
  bool full_batch = false;

  // This must outlive the table.
  void AddRows(OptionTable& table) {
    table
        .AddChoice("task-kind", &kind,
                   {{"auto", std::nullopt},
                    {"classification", NodeTaskKind::kClassification},
                    {"multi-label", NodeTaskKind::kMultiLabel},
                    {"regression", NodeTaskKind::kRegression}},
                   "what labels of nodes mean: one class, several labels of 0 or 1, or values; "
                   "auto: as the task or its labels say")
        .AllRanks()
        .Mark(kPartOfModel);
    table
        .Add("metric", &metrics,
             "how good the model is at nodes; the first of several decides which epoch is best")
        .OneOf({"accuracy", "micro-f1", "macro-f1", "roc-auc", "rmse", "mae"})
        .Check([](const std::vector<std::string>& names) {
          for (size_t i = 0; i < names.size(); ++i) {
            for (size_t j = 0; j < i; ++j) {
              if (names[i] == names[j]) return InvalidArgument("'{}' is named twice", names[i]);
            }
          }
          return OkStatus();
        })
        .ValueName("NAME")
        .DefaultText("accuracy of classification, micro-f1 of multi-label, rmse of regression")
        .AllRanks();
    table
        .AddText(
            "class-weights",
            [this](std::string_view text) -> Status {
              HG_ASSIGN_OR_RETURN(class_weights, ParseClassWeights(text));
              return OkStatus();
            },
            [this] { return ToString(class_weights); }, "none, balanced, or one number a class",
            "what the loss of a node of each class is multiplied by; balanced: so that all classes "
            "count alike")
        .AsList([this] { return Json(ToString(class_weights)); })
        .ValueName("W0,W1")
        .AllRanks();
    table
        .Add("full-batch", &full_batch,
             "a step is about all rows of a rank, and each layer is over all nodes of its parts "
             "and all their neighbours")
        .AllRanks()
        .Mark(kOfNeighbors);
  }
};

}  // namespace halograph
