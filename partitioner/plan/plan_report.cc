#include <iterator>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/base/units.h"
#include "partitioner/plan/run_plan.h"

namespace halograph {
namespace {

Json PhasesJson(const MemoryPlan& plan) {
  Json phases = Json::array();
  for (const MemoryPhase& phase : plan.phases) {
    Json held = Json::object();
    for (const HeldMemory& item : phase.held) held[item.what] = item.bytes;
    phases.push_back({{"name", phase.name}, {"bytes", phase.bytes()}, {"held", std::move(held)}});
  }
  return phases;
}

}  // namespace

Json ToJson(const RunPlan& plan) {
  Json methods = Json::array();
  for (const MethodPlan& row : plan.methods) {
    Json json = {{"method", row.method},
                 {"memory_bytes", row.memory_bytes},
                 {"memory_phases", PhasesJson(row.memory)},
                 {"most_bytes", row.most_bytes},
                 {"fits", Fits(plan, row)},
                 {"temporary_bytes", row.temporary_bytes}};
    if (row.failure.empty()) {
      json["assign_seconds"] = row.assign_seconds;
      json["write_seconds"] = row.write_seconds;
    } else {
      json["failure"] = row.failure;
    }
    methods.push_back(std::move(json));
  }
  return {{"build", BuildVersion()},
          {"nodes", plan.sizes.counts.num_nodes()},
          {"edges", plan.sizes.counts.num_edges()},
          {"parts", plan.parts},
          {"memory_limit_bytes", plan.memory_limit},
          {"sampled_edges", plan.sample.edges},
          {"reciprocity", plan.sample.reciprocity},
          {"read_ns_per_edge", plan.sample.read_ns},
          {"random_access_ns", plan.random_access_ns},
          {"write_bytes_per_second", plan.write_bytes_per_second},
          {"output_bytes", plan.output_bytes},
          {"auto", {{"method", plan.chosen}, {"why", plan.why}}},
          {"methods", std::move(methods)}};
}

std::string FormatTable(const RunPlan& plan) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(
      out,
      "{} nodes, {} edges, --parts {}; the folder will take {}\nthis machine: reads an edge "
      "in {:.1f} ns, a random access takes {:.1f} ns, the disk writes {}/s; memory limit {}\n",
      FormatCount(plan.sizes.counts.num_nodes()), FormatCount(plan.sizes.counts.num_edges()),
      plan.parts, FormatBytes(plan.output_bytes), plan.sample.read_ns, plan.random_access_ns,
      FormatBytes(static_cast<int64_t>(plan.write_bytes_per_second)),
      FormatBytes(plan.memory_limit));
  fmt::format_to(out, "{:<14} {:>10} {:>5} {:>14} {:>12} {:>12}\n", "method", "memory", "fits",
                 "temporary disk", "assigning", "writing");
  for (const MethodPlan& row : plan.methods) {
    fmt::format_to(out, "{:<14} {:>10} {:>5} {:>14}", row.method, FormatBytes(row.most_bytes),
                   Fits(plan, row) ? "yes" : "no", FormatBytes(row.temporary_bytes));
    if (row.failure.empty()) {
      fmt::format_to(out, " {:>12} {:>12}\n", FormatSeconds(row.assign_seconds),
                     FormatSeconds(row.write_seconds));
    } else {
      fmt::format_to(out, " {}\n", row.failure);
    }
  }
  fmt::format_to(out, "memory: the most that a run holds, which --memory must allow\n");
  fmt::format_to(out, "--method auto chooses {}: {}\n", plan.chosen, plan.why);
  return text;
}

}  // namespace halograph
