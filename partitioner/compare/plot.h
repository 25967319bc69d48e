// A comparison as a picture: gnuplot draws it.
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

// FailedPrecondition, saying what to install, if there is no gnuplot in PATH.
[[nodiscard]] Status CheckGnuplot();

// Runs the script.
//   FailedPrecondition  no gnuplot
//   Internal            gnuplot failed, or wrote nothing: `output` could not be written
[[nodiscard]] Status Plot(const std::vector<CompareRow>& rows, const std::filesystem::path& output);

}  // namespace halograph
