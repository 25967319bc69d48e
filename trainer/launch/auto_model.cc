#include "trainer/launch/auto_model.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/launch/resolve.h"

namespace halograph {
namespace {

// In the order of their rows in --help.
constexpr std::string_view kOfOneRelation = "sage";
constexpr std::string_view kOfTypedGraphs = "rgcn";

bool HasOneRelation(const Schema& schema) {
  return schema.node_types.size() == 1 && schema.relations.size() == 1;
}

}  // namespace

AutoOptions::AutoOptions() {
  for (const std::string_view name : {kOfOneRelation, kOfTypedGraphs}) {
    const ModelKind* const kind = *FindModelKind(name);
    Candidate& candidate = candidates_.emplace_back(Candidate{kind, kind->options(), {}});
    candidate.options->AddRows(candidate.rows);
  }
}

void AutoOptions::AddRows(OptionTable& table) {
  for (const Candidate& candidate : candidates_) {
    for (const auto& row : candidate.rows.rows()) {
      if (table.Find(row->name()) != nullptr) continue;
      std::vector<OptionRow*> same;
      for (const Candidate& other : candidates_) {
        if (OptionRow* const found = other.rows.Find(row->name())) same.push_back(found);
      }
      table.AddShared(std::move(same));
    }
  }
}

Status AutoOptions::Validate() const {
  for (const Candidate& candidate : candidates_) HG_RETURN_IF_ERROR(candidate.options->Validate());
  return OkStatus();
}

// One of them has the option, and only a graph of that model's takes it.
std::string_view AutoOptions::OwnInputsBy() const {
  for (const Candidate& candidate : candidates_) {
    if (const std::string_view by = candidate.options->OwnInputsBy(); !by.empty()) return by;
  }
  return {};
}
Status AutoOptions::TakesCoefficients() const {
  for (const Candidate& candidate : candidates_) {
    HG_RETURN_IF_ERROR(candidate.options->TakesCoefficients());
  }
  return OkStatus();
}

StatusOr<AutoOptions::Resolved> AutoOptions::For(const Schema& schema) const {
  const size_t chosen = HasOneRelation(schema) ? 0 : 1;
  const Candidate& candidate = candidates_[chosen];
  const Candidate& other = candidates_[1 - chosen];
  for (const auto& row : other.rows.rows()) {
    if (!row->given() || candidate.rows.Find(row->name()) != nullptr) continue;
    return InvalidArgument(
        "{}: graph '{}' has {}, so --model auto is {}, which has no such option; leave it out, or "
        "give --model {}",
        row->Flag(), schema.graph_name, TypesAndRelations(schema), candidate.kind->name,
        other.kind->name);
  }
  return Resolved{candidate.kind->name, candidate.options.get()};
}

StatusOr<std::shared_ptr<ModelOptions>> OptionsOfModel(std::string_view name) {
  if (name == kAutoModel) return std::make_shared<AutoOptions>();
  const auto kind = FindModelKind(name);
  if (kind.ok()) return std::shared_ptr<ModelOptions>((*kind)->options());
  return NotFound("no model '{}', expected {}", name, fmt::join(RegisteredModels().names, ", "));
}

Status ResolveModel(const Schema& schema, TrainOptions* options) {
  if (options->model != kAutoModel) return OkStatus();
  const auto choice = std::dynamic_pointer_cast<AutoOptions>(options->model_options);
  if (choice == nullptr) return Internal("--model auto has the options of another model");
  HG_ASSIGN_OR_RETURN(const AutoOptions::Resolved resolved, choice->For(schema));
  options->model = resolved.model;
  options->model_options = std::shared_ptr<ModelOptions>(choice, resolved.options);
  return OkStatus();
}

}  // namespace halograph
