// Plots a comparison with gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "partitioner/compare/compare.h"

namespace halograph {

// The script: replication, edge cut, remote bytes a minibatch and seconds over the number of
// partitions, a line a method; writes an SVG to `output`. Pure.
[[nodiscard]] std::string PlotScript(const std::vector<CompareRow>& rows,
                                     const std::filesystem::path& output);

// Before the work that is to be drawn.
//   FailedPrecondition  no gnuplot in PATH (what to install), or no folder for `output`
[[nodiscard]] Status CheckPlot(const std::filesystem::path& output);

// Runs the script; `output` is there whole or not at all.
//   FailedPrecondition  as CheckPlot
//   Internal            gnuplot failed, or drew no whole picture (its message was printed)
// and what writing `output` reports.
[[nodiscard]] Status Plot(const std::vector<CompareRow>& rows, const std::filesystem::path& output);

}  // namespace halograph
