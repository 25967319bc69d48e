#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/ui/figures.h"
#include "common/ui/render.h"

namespace halograph::ui {
namespace {

Cell Share(double part, double whole) {
  return Number(whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "-");
}

Table Steps(const TrainerFigures& trainer) {
  Table table{.id = "steps",
              .title = "Steps",
              .note = "Since the start. What a step waits for says what bounds it.",
              .columns = {{"Of a step"}, {"Seconds", true}, {"Share of step time", true}},
              .rows = {},
              .empty = "No step yet."};
  if (trainer.total_steps == 0) return table;
  const double whole = trainer.step_seconds_sum;
  const auto steps = static_cast<double>(trainer.total_steps);
  table.rows.push_back({{"p50"}, Seconds(Quantile(trainer.step_seconds, 0.5)), Number("-")});
  table.rows.push_back({{"p99"}, Seconds(Quantile(trainer.step_seconds, 0.99)), Number("-")});
  table.rows.push_back({{"mean"}, Seconds(whole / steps), Share(whole, whole)});
  table.rows.push_back({{"waits for its minibatch"},
                        Seconds(trainer.wait_seconds / steps),
                        Share(trainer.wait_seconds, whole)});
  table.rows.push_back({{"waits for other ranks"},
                        Seconds(trainer.sync_wait_seconds / steps),
                        Share(trainer.sync_wait_seconds, whole)});
  return table;
}

Table Stages(const TrainerFigures& trainer) {
  Table table{.id = "stages",
              .title = "Stages of the pipeline",
              .note =
                  "Busy: works. Starved: waits for the stage before. Blocked: waits for the stage "
                  "behind. The stage that bounds the rest is busy; those before it are blocked, "
                  "those behind it starved.",
              .columns = {{"Stage"},
                          {"Busy", true},
                          {"Starved", true},
                          {"Blocked", true},
                          {"Busy seconds", true},
                          {"Starved seconds", true},
                          {"Blocked seconds", true}},
              .rows = {},
              .empty = "No stage has run yet."};
  for (const StageFigures& stage : trainer.stages) {
    const double whole = stage.busy_seconds + stage.starved_seconds + stage.blocked_seconds;
    table.rows.push_back({{stage.name},
                          Share(stage.busy_seconds, whole),
                          Share(stage.starved_seconds, whole),
                          Share(stage.blocked_seconds, whole),
                          Seconds(stage.busy_seconds),
                          Seconds(stage.starved_seconds),
                          Seconds(stage.blocked_seconds)});
  }
  return table;
}

Table Pulls(const TrainerFigures& trainer) {
  Table table{.id = "pulls",
              .title = "Rows fetched",
              .note = "Since the start, by where they came from.",
              .columns = {{"Tensor"},
                          {"Source"},
                          {"Rows", true},
                          {"Bytes", true},
                          {"Share of its rows", true}},
              .rows = {},
              .empty = "No row has been fetched yet."};
  for (const PulledRows& pull : trainer.pulls) {
    if (table.rows.size() == kMostRows) {
      ++table.left_out;
      continue;
    }
    double rows = 0;
    for (const PulledRows& other : trainer.pulls) {
      if (other.tensor == pull.tensor) rows += static_cast<double>(other.rows);
    }
    table.rows.push_back({{pull.tensor, CellKind::kCode},
                          {pull.source},
                          Count(pull.rows),
                          Bytes(pull.bytes),
                          Share(static_cast<double>(pull.rows), rows)});
  }
  return table;
}

Table Ranks(const TrainerFigures& trainer) {
  Table table{
      .id = "ranks",
      .title = "Ranks",
      .note =
          "How much later than the mean of the ranks each came to the meeting before the last "
          "(-: earlier).",
      .columns = {{"Rank"}, {"Later by", true}},
      .rows = {},
      .empty = "This rank trains alone, or has not met the others yet."};
  if (trainer.world_size == 1) return table;
  std::vector<RankDelay> delays = trainer.delays;
  std::stable_sort(delays.begin(), delays.end(),
                   [](const RankDelay& a, const RankDelay& b) { return a.seconds > b.seconds; });
  for (const RankDelay& delay : delays) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({{delay.rank}, Seconds(delay.seconds)});
  }
  table.left_out = delays.size() - table.rows.size();
  return table;
}

Table AskedServers(const TrainerFigures& trainer) {
  Table table{.id = "servers",
              .title = "Servers",
              .note =
                  "Those that this trainer asks. Each has a page of its own, if it was started "
                  "with --http-listen.",
              .columns = {{"Server"}},
              .rows = {},
              .empty = "None: the trainer reads the files itself."};
  for (const std::string& server : trainer.servers) {
    table.rows.push_back({{server, CellKind::kCode}});
  }
  return table;
}

}  // namespace

std::vector<Table> TrainerTables(const TrainerFigures& trainer) {
  return {Stages(trainer), Steps(trainer), Ranks(trainer), Pulls(trainer), AskedServers(trainer)};
}

std::string TrainerSample(const TrainerFigures& trainer) {
  std::string out = fmt::format("<li data-trainer=\"{}\"", trainer.rank);
  const auto add = [&](std::string_view name, auto value) {
    out += fmt::format(" data-{}=\"{}\"", name, value);
  };
  add("unix", trainer.unix_seconds);
  add("steps", trainer.total_steps);
  add("seeds", trainer.total_seeds);
  if (std::isfinite(trainer.loss)) add("loss", trainer.loss);
  add("step-seconds", trainer.step_seconds_sum);
  add("wait-seconds", trainer.wait_seconds);
  add("sync-wait-seconds", trainer.sync_wait_seconds);
  double remote = 0;
  double all = 0;
  for (const PulledRows& pull : trainer.pulls) {
    all += static_cast<double>(pull.rows);
    if (pull.source == "remote") remote += static_cast<double>(pull.rows);
  }
  add("rows", all);
  add("remote-rows", remote);
  out += HistogramAttributes(trainer.step_seconds) + "></li>\n";
  for (const StageFigures& stage : trainer.stages) {
    out += "<li" + Attribute("data-stage", stage.name) +
           fmt::format(" data-busy=\"{}\" data-starved=\"{}\" data-blocked=\"{}\"></li>\n",
                       stage.busy_seconds, stage.starved_seconds, stage.blocked_seconds);
  }
  return out;
}

}  // namespace halograph::ui
