// The samplers that there are, by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/sampling/rule.h"
#include "common/sampling/samplers/minibatch_maker.h"

namespace halograph {

struct SamplerKind {
  std::string_view name;  // as --sampler has it
  std::string_view help;  // a few words
  DrawKind kind;          // what its rules say
  std::unique_ptr<MinibatchMaker> (*make)(const MakerPlace& place);
  std::span<const std::string_view> options;  // of its own, without "--"
};

// In the order of --help.
[[nodiscard]] std::span<const SamplerKind> SamplerKinds();
// NotFound naming those that exist.
[[nodiscard]] StatusOr<const SamplerKind*> FindSampler(std::string_view name);
// That of a valid rule.
[[nodiscard]] const SamplerKind& SamplerOf(DrawKind kind);

}  // namespace halograph
