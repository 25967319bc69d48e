// Plots a comparison with gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/compare/compare.h"

namespace halograph {

// The script: replication, edge cut, remote bytes a minibatch, seconds and memory over the number
// of partitions, in panels of one size, a line a method, with one legend beside them; writes an SVG
// to `output`. `title`: of the graph, and the settings. Pure.
[[nodiscard]] std::string PlotScript(const std::vector<CompareRow>& rows, std::string_view title,
                                     const std::filesystem::path& output);

// Before the work that is to be drawn.
//   FailedPrecondition  no gnuplot in PATH (what to install), or no folder for `output`
[[nodiscard]] Status CheckPlot(const std::filesystem::path& output);

// Runs the script; `output` is there whole or not at all.
//   FailedPrecondition  as CheckPlot
//   Internal            gnuplot failed, or drew no whole picture (its message was printed)
// and what writing `output` reports.
[[nodiscard]] Status Plot(const std::vector<CompareRow>& rows, std::string_view title,
                          const std::filesystem::path& output);

}  // namespace halograph
