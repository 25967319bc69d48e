#include "partitioner/compare/plot.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/storage/file.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct Panel {
  std::string title;
  bool logarithmic = false;
  std::function<double(const CompareRow&)> value;
};

std::vector<Panel> Panels() {
  return {
      {"replication factor", false,
       [](const CompareRow& row) { return row.quality.replication_factor; }},
      {"edge cut (%)", false,
       [](const CompareRow& row) { return 100 * row.quality.edge_cut_share(); }},
      {"remote MiB a minibatch", false,
       [](const CompareRow& row) { return row.remote.remote_bytes / (1 << 20); }},
      {"seconds", true, [](const CompareRow& row) { return row.seconds; }},
  };
}

// In single quotes gnuplot knows no escape but two of them.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> MethodsOf(const std::vector<CompareRow>& rows) {
  std::vector<std::string> methods;
  for (const CompareRow& row : rows) {
    if (!row.failure.empty()) continue;
    if (std::find(methods.begin(), methods.end(), row.method) == methods.end()) {
      methods.push_back(row.method);
    }
  }
  return methods;
}

std::string PanelScript(const Panel& panel, const std::vector<CompareRow>& rows,
                        const std::vector<std::string>& methods) {
  std::string script = fmt::format("set title {}\n{}set logscale y\nplot ", Quoted(panel.title),
                                   panel.logarithmic ? "" : "un");
  std::string data;
  for (size_t m = 0; m < methods.size(); ++m) {
    script += fmt::format("{}'-' using 1:2 with linespoints title {}", m == 0 ? "" : ", ",
                          Quoted(methods[m]));
    for (const CompareRow& row : rows) {
      if (row.method != methods[m] || !row.failure.empty()) continue;
      data += fmt::format("{} {}\n", row.parts, panel.value(row));
    }
    data += "e\n";
  }
  return script + "\n" + data;
}

// FailedPrecondition, saying what to install, if there is no gnuplot in PATH.
Status CheckGnuplot() {
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable == nullptr ? "" : variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((fs::path(folder) / "gnuplot").c_str(), X_OK) == 0) return OkStatus();
  }
  return FailedPrecondition(
      "--plot needs gnuplot, which is not in PATH: install it (Debian: gnuplot-nox), or use "
      "--json");
}

// Its wait status; -1 where it could not be started or did not take the script.
int RunGnuplot(const std::string& script) {
  // Should gnuplot end early, writing fails instead of ending this program.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* gnuplot = ::popen("gnuplot > /dev/null", "w");
  bool written = false;
  int status = -1;
  if (gnuplot != nullptr) {
    written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    status = ::pclose(gnuplot);
  }
  std::signal(SIGPIPE, before);
  return written ? status : -1;
}

// A full disk cuts the picture short, and gnuplot does not say so.
bool EndsWithTag(std::string_view picture) {
  const size_t end = picture.find_last_not_of(" \n");
  return end != std::string_view::npos && picture.substr(0, end + 1).ends_with("</svg>");
}

// Around the numbers of partitions, so that a single one has room too.
std::string Range(const std::vector<CompareRow>& rows) {
  int least = kMaxParts, most = 1;
  for (const CompareRow& row : rows) {
    least = std::min(least, row.parts);
    most = std::max(most, row.parts);
  }
  return fmt::format("set xrange [{}:{}]\n", least / 1.2, most * 1.2);
}

}  // namespace

std::string PlotScript(const std::vector<CompareRow>& rows, const fs::path& output) {
  const std::vector<std::string> methods = MethodsOf(rows);
  std::string script = fmt::format(
      "set terminal svg size 1200,900 noenhanced\nset output {}\nset multiplot layout 2,2\n"
      "set logscale x 2\nset xlabel 'partitions'\nset key left top\nset grid\n",
      Quoted(output.string()));
  script += Range(rows);
  for (const Panel& panel : Panels()) script += PanelScript(panel, rows, methods);
  return script + "unset multiplot\nset output\n";
}

Status CheckPlot(const fs::path& output) {
  HG_RETURN_IF_ERROR(CheckGnuplot());
  std::error_code error;
  const fs::path parent = output.has_parent_path() ? output.parent_path() : ".";
  if (fs::is_directory(parent, error)) return OkStatus();
  return FailedPrecondition("--plot {}: there is no folder {}; create it first", output.string(),
                            parent.string());
}

Status Plot(const std::vector<CompareRow>& rows, const fs::path& output) {
  HG_RETURN_IF_ERROR(CheckPlot(output));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create(output, true));
  const fs::path drawn = folder.path() / "drawn.svg";
  const int status = RunGnuplot(PlotScript(rows, drawn));
  const StatusOr<std::string> picture = ReadTextFile(drawn);
  if (status != 0 || !picture.ok() || !EndsWithTag(*picture)) {
    return Internal("--plot {}: gnuplot failed (wait status {}); its messages are above",
                    output.string(), status);
  }
  return WriteFileAtomically(output, *picture);
}

}  // namespace halograph
