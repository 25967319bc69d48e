#include "partitioner/compare/plot.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
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
      {"memory (MiB)", true,
       [](const CompareRow& row) {
         return static_cast<double>(row.peak_anonymous_bytes) / (1 << 20);
       }},
  };
}

// Of lines, dark enough on white, and to be told apart also by those who see few colours. Together
// with the shapes of points, of which there is another number, they name many methods.
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8b4513",
                                         "#000000", "#56b4e9", "#e69f00", "#6a3d9a", "#7f7f7f"};
constexpr int kPointShapes = 7;
// Shown in a logarithmic panel instead of less: of nothing but zeros gnuplot draws nothing.
constexpr double kLeast = 1e-4;

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

std::string LineTypes(size_t count) {
  std::string script;
  for (size_t i = 0; i < count; ++i) {
    script += fmt::format("set linetype {} linecolor rgb '{}' linewidth 2 pointtype {}\n", i + 1,
                          kColours[i % std::size(kColours)], 4 + i % kPointShapes);
  }
  return script;
}

std::string PanelScript(const Panel& panel, const std::vector<CompareRow>& rows,
                        const std::vector<std::string>& methods) {
  std::string script = fmt::format("set title {}\n{}set logscale y\nplot ", Quoted(panel.title),
                                   panel.logarithmic ? "" : "un");
  std::string data;
  for (size_t m = 0; m < methods.size(); ++m) {
    script +=
        fmt::format("{}'-' using 1:2 with linespoints linetype {}", m == 0 ? "" : ", ", m + 1);
    for (const CompareRow& row : rows) {
      if (row.method != methods[m] || !row.failure.empty()) continue;
      const double value = panel.value(row);
      data +=
          fmt::format("{} {}\n", row.parts, panel.logarithmic ? std::max(value, kLeast) : value);
    }
    data += "e\n";
  }
  return script + "\n" + data;
}

// In the place of the last panel: a plot with nothing but a key.
std::string LegendScript(const std::vector<std::string>& methods) {
  std::string script =
      "unset title\nunset xlabel\nunset logscale\nunset border\nunset tics\nunset grid\n"
      "set xrange [0:1]\nset yrange [0:1]\nset key inside center center Left reverse samplen 4\n"
      "plot ";
  for (size_t m = 0; m < methods.size(); ++m) {
    script += fmt::format("{}NaN with linespoints linetype {} title {}", m == 0 ? "" : ", ", m + 1,
                          Quoted(methods[m]));
  }
  return script + "\n";
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

// Around the numbers of partitions, so that a single one has room too, with a tic at each.
std::string Axis(const std::vector<CompareRow>& rows) {
  std::set<int> parts;
  for (const CompareRow& row : rows) parts.insert(row.parts);
  return fmt::format(
      "set logscale x 2\nset xlabel 'partitions'\nset xrange [{}:{}]\nset xtics ({})\n",
      *parts.begin() / 1.2, *parts.rbegin() * 1.2, fmt::join(parts, ", "));
}

}  // namespace

std::string PlotScript(const std::vector<CompareRow>& rows, std::string_view title,
                       const fs::path& output) {
  const std::vector<std::string> methods = MethodsOf(rows);
  // Margins in characters make the panels equally wide, whatever numbers stand beside them.
  std::string script = fmt::format(
      "set terminal svg size 1500,900 noenhanced background rgb 'white'\nset output {}\n"
      "set multiplot layout 2,3 title {}\nset lmargin 9\nset rmargin 3\nunset key\nset grid\n",
      Quoted(output.string()), Quoted(std::string(title)));
  script += LineTypes(methods.size()) + Axis(rows);
  for (const Panel& panel : Panels()) script += PanelScript(panel, rows, methods);
  return script + LegendScript(methods) + "unset multiplot\nset output\n";
}

Status CheckPlot(const fs::path& output) {
  HG_RETURN_IF_ERROR(CheckGnuplot());
  std::error_code error;
  const fs::path parent = output.has_parent_path() ? output.parent_path() : ".";
  if (fs::is_directory(parent, error)) return OkStatus();
  return FailedPrecondition("--plot {}: there is no folder {}; create it first", output.string(),
                            parent.string());
}

Status Plot(const std::vector<CompareRow>& rows, std::string_view title, const fs::path& output) {
  HG_RETURN_IF_ERROR(CheckPlot(output));
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create(output, true));
  const fs::path drawn = folder.path() / "drawn.svg";
  const int status = RunGnuplot(PlotScript(rows, title, drawn));
  const StatusOr<std::string> picture = ReadTextFile(drawn);
  if (status != 0 || !picture.ok() || !EndsWithTag(*picture)) {
    return Internal("--plot {}: gnuplot failed (wait status {}); its messages are above",
                    output.string(), status);
  }
  return WriteFileAtomically(output, *picture);
}

}  // namespace halograph
