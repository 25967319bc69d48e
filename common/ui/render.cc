#include "common/ui/render.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/ui/assets.h"
#include "common/ui/figures.h"

namespace halograph::ui {
namespace {

// A figure of the summary at the top.
struct Tile {
  std::string_view title;
  std::string text;
  bool warn = false;
};

std::vector<Tile> ServerTiles(const UiData& data) {
  size_t answering = 0;
  int64_t refused = 0;
  double calls = 0;
  std::set<std::pair<std::string, std::string>> clients;
  std::set<int> served;
  for (const ServerFigures& server : data.servers) {
    if (server.error.empty() || server.another_graph) ++answering;
    if (!server.error.empty()) continue;
    refused += server.refused;
    for (const PartFigures& part : server.parts) served.insert(part.part);
    for (const ClientFigures& client : server.callers) clients.emplace(client.host, client.rank);
    if (server.recent_seconds <= 0) continue;
    for (const MethodFigures& method : server.methods) {
      calls += static_cast<double>(method.calls) / server.recent_seconds;
    }
  }
  double worst = -1;
  bool slow = false;
  for (const Speed& speed : Speeds(data.servers)) {
    worst = std::max(worst, speed.p99_seconds);
    slow = slow || speed.slow;
  }
  const size_t parts = std::max(served.size(), static_cast<size_t>(NumParts(data)));
  return {{"Servers that answer", fmt::format("{} of {}", answering, data.servers.size()),
           answering < data.servers.size()},
          {"Parts served", fmt::format("{} of {}", served.size(), parts),
           served.size() < parts && data.why_alone.empty()},
          {"Calls a second", ShowCount(calls)},
          {"Worst p99", ShowSeconds(worst), slow},
          {"Clients", fmt::format("{}", clients.size())},
          {"Refused since start", ShowCount(static_cast<double>(refused)), refused > 0}};
}

std::vector<Tile> TrainerTiles(const TrainerFigures& trainer) {
  return {{"Phase", trainer.phase},
          {"Rank", fmt::format("{} of {}", trainer.rank, trainer.world_size)},
          {"Epoch", ShowCount(static_cast<double>(trainer.epoch))},
          {"Step", ShowCount(static_cast<double>(trainer.step))},
          {"Step p99", ShowSeconds(Quantile(trainer.step_seconds, 0.99))},
          {"Loss", fmt::format("{:.4g}", trainer.loss)}};
}

std::string RenderTiles(const std::vector<Tile>& tiles) {
  std::string out;
  for (const Tile& tile : tiles) {
    out += fmt::format("<div><dt>{}</dt><dd{}>{}</dd></div>\n", Escape(tile.title),
                       tile.warn ? " class=\"warn\"" : "", Escape(tile.text));
  }
  return out;
}

std::string RenderProblems(const UiData& data) {
  if (data.trainer) return "";
  std::string out;
  for (const std::string& problem : Problems(data)) {
    out += fmt::format("<li class=\"warn\">{}</li>\n", Escape(problem));
  }
  if (out.empty()) out = "<li class=\"good\">No problem found.</li>\n";
  if (!data.why_alone.empty()) out += fmt::format("<li>{}</li>\n", Escape(data.why_alone));
  return out;
}

struct Names {
  std::string title;    // of the window
  std::string heading;  // what the page is of
  std::string detail;   // a line below it
};

Names NamesOf(const UiData& data) {
  if (data.trainer) {
    const TrainerFigures& trainer = *data.trainer;
    const std::string heading =
        fmt::format("Trainer, rank {} of {}", trainer.rank, trainer.world_size);
    return {heading, heading,
            fmt::format("{} pid {}, up {}, {}", trainer.host, trainer.pid,
                        ShowSeconds(trainer.uptime_seconds), trainer.version)};
  }
  const auto self = std::find_if(data.servers.begin(), data.servers.end(),
                                 [](const ServerFigures& server) { return server.self; });
  if (self == data.servers.end() || !self->error.empty()) return {"Servers", "Servers", ""};
  return {self->graph, fmt::format("Graph {}", self->graph),
          fmt::format("{}, identity {}, serving {}", self->address, self->identity, self->serving)};
}

std::string RenderLinks(const std::vector<Table>& tables) {
  std::string out = "<li><a href=\"#charts\">Charts</a></li>\n";
  for (const Table& table : tables) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", Escape(table.id), Escape(table.title));
  }
  return out;
}

// What stands where the shell says {{name}}; null: the shell is wrong.
const std::string* Find(const std::map<std::string_view, std::string>& values,
                        std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

// Each mark is looked for in the shell alone: what others wrote may hold one, and stays text.
std::string FillShell(const std::map<std::string_view, std::string>& values) {
  std::string_view rest = PageShell();
  std::string page;
  while (true) {
    const size_t open = rest.find("{{");
    const size_t close = rest.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    page += rest.substr(0, open);
    if (const std::string* value = Find(values, rest.substr(open + 2, close - open - 2))) {
      page += *value;
    }
    rest.remove_prefix(close + 2);
  }
  return page.append(rest);
}

}  // namespace

std::string HistogramAttributes(const Histogram& histogram) {
  return fmt::format(" data-bounds=\"{}\" data-counts=\"{}\"", fmt::join(histogram.bounds, " "),
                     fmt::join(histogram.counts, " "));
}

std::string RenderPage(const UiData& data) {
  const std::vector<Table> tables =
      data.trainer ? TrainerTables(*data.trainer) : ServerTables(data);
  const Names names = NamesOf(data);
  std::string body;
  for (const Table& table : tables) body += RenderTable(table);
  return FillShell(
      {{"title", Escape(names.title)},
       {"heading", Escape(names.heading)},
       {"detail", Escape(names.detail)},
       {"links", RenderLinks(tables)},
       {"tiles", RenderTiles(data.trainer ? TrainerTiles(*data.trainer) : ServerTiles(data))},
       {"problems", RenderProblems(data)},
       {"samples", data.trainer ? TrainerSample(*data.trainer) : ServerSamples(data)},
       {"tables", body}});
}

}  // namespace halograph::ui
