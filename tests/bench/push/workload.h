// Pushes that the benchmarks of this folder make: random rows with repeats, from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/program/options.h"
#include "common/state/mutable_tensor.h"
#include "common/state/pushed_rows.h"

namespace halograph {

struct PushWorkload {
  int64_t rows = 1'000'000;
  int64_t entries = 100'000;  // of a push
  int64_t dim = 64;
  double duplicates = 0.05;  // share of entries whose row stands in the push before
  std::string dtype = "float32";
  std::string optimizer = "adagrad";
  uint64_t seed = 1;
};

struct RandomRows {
  std::vector<int64_t> rows;
  std::vector<float> values;

  [[nodiscard]] PushedRows view() const {
    return {.rows = rows, .values = std::as_bytes(std::span(values))};
  }
};

inline RandomRows MakeRandomRows(const PushWorkload& workload, uint64_t number) {
  CounterRng rng(SubKey(workload.seed, number));
  RandomRows push;
  for (int64_t i = 0; i < workload.entries; ++i) {
    const bool repeats = i > 0 && rng.NextDouble() < workload.duplicates;
    push.rows.push_back(
        repeats ? push.rows[rng.NextBounded(static_cast<uint64_t>(i))]
                : static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(workload.rows))));
  }
  push.values.resize(static_cast<size_t>(workload.entries * workload.dim));
  for (float& value : push.values) value = static_cast<float>(rng.NextDouble() - 0.5);
  return push;
}

inline const std::map<std::string, RowOptimizer>& BenchOptimizers() {
  static const std::map<std::string, RowOptimizer> optimizers = {
      {"sgd", {.kind = RowOptimizer::Kind::kSgd}},
      {"momentum", {.kind = RowOptimizer::Kind::kSgd, .momentum = 0.9}},
      {"adagrad", {.kind = RowOptimizer::Kind::kAdagrad}},
      {"row_adagrad", {.kind = RowOptimizer::Kind::kRowAdagrad}},
      {"adam", {.kind = RowOptimizer::Kind::kAdam}}};
  return optimizers;
}

[[nodiscard]] inline StatusOr<MutableTensorSpec> BenchTensor(const PushWorkload& workload) {
  MutableTensorSpec spec;
  spec.ref.name = "bench";
  spec.placement = Placement::kRange;
  spec.rows = workload.rows;
  spec.dim = workload.dim;
  HG_ASSIGN_OR_RETURN(spec.dtype, ParseDTypeName(workload.dtype));
  spec.initializer = {
      .kind = Initializer::Kind::kUniform, .a = -0.1, .b = 0.1, .seed = workload.seed};
  spec.optimizer = BenchOptimizers().at(workload.optimizer);
  HG_RETURN_IF_ERROR(spec.Validate());
  return spec;
}

// `workload` holds the defaults and must outlive the table.
inline void AddWorkloadRows(OptionTable& rows, PushWorkload* workload) {
  std::vector<std::string> optimizers;
  for (const auto& [name, optimizer] : BenchOptimizers()) optimizers.push_back(name);
  rows.Add("rows", &workload->rows, "of the tensor").AtLeast(1);
  rows.Add("entries", &workload->entries, "of a push").AtLeast(1);
  rows.Add("dim", &workload->dim, "of the tensor").AtLeast(1);
  rows.Add("dtype", &workload->dtype, "of rows: float32, float16, bfloat16");
  rows.Add("optimizer", &workload->optimizer, "of the tensor").OneOf(std::move(optimizers));
  rows.Add("seed", &workload->seed, "of what is pushed");
}

}  // namespace halograph
