#include "tests/bench/partition/method_ratios.h"

#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph {
namespace {

constexpr double kNodes = 1.03 + 0.02;
constexpr double kEdges = 1.10 + 0.02;

double BalanceOf(const MethodResult& result, const std::string& key) {
  const auto found = result.balance.find(key);
  return found == result.balance.end() ? 1 : found->second;
}

std::string_view Order(bool shuffled) { return shuffled ? "shuffled" : "given"; }

std::string BalanceText(const MethodResult& result) {
  return fmt::format("nodes {:.3f} edges {:.3f}", BalanceOf(result, "nodes"),
                     BalanceOf(result, "edges"));
}

std::string Remarks(const MethodResult& result) {
  std::string text = result.Balanced() ? "" : "  not balanced";
  if (result.predicted_seconds > 0) {
    text += fmt::format("  predicted {:.3f} s ({:.2f} of what it took)", result.predicted_seconds,
                        result.predicted_seconds / result.seconds);
  }
  return text;
}

using Key = std::tuple<std::string, bool, int>;
Key KeyOf(const MethodResult& result) { return {result.graph, result.shuffled, result.parts}; }

// Ratios of one pair of methods in one order.
class PairRatios {
 public:
  void Add(const MethodResult& ours, const MethodResult& theirs) {
    if (!ours.Balanced() || !theirs.Balanced()) {
      not_comparable_.push_back({{"case", ours.Case()},
                                 {ours.method, BalanceText(ours)},
                                 {theirs.method, BalanceText(theirs)},
                                 {"ratio", ours.replication / theirs.replication}});
      return;
    }
    const double ratio = ours.replication / theirs.replication;
    log_sum_ += std::log(ratio);
    ++cases_;
    if (ratio > worst_) {
      worst_ = ratio;
      worst_case_ = ours.Case();
    }
  }
  [[nodiscard]] Json ToJson(const std::string& other, bool shuffled) const {
    Json json = {{"other", other},
                 {"order", Order(shuffled)},
                 {"cases", cases_},
                 {"not_comparable", not_comparable_}};
    if (cases_ > 0) {
      json["geometric_mean"] = std::exp(log_sum_ / cases_);
      json["worst"] = worst_;
      json["worst_case"] = worst_case_;
    }
    return json;
  }
  [[nodiscard]] bool empty() const { return cases_ == 0 && not_comparable_.empty(); }

 private:
  double log_sum_ = 0;
  int cases_ = 0;
  double worst_ = 0;
  std::string worst_case_;
  Json not_comparable_ = Json::array();
};

}  // namespace

std::string MethodResult::Case() const {
  return fmt::format("{}, {}, {} parts", graph, Order(shuffled), parts);
}

bool MethodResult::Balanced() const {
  return BalanceOf(*this, "nodes") <= kNodes + 1e-9 && BalanceOf(*this, "edges") <= kEdges + 1e-9;
}

Json ToJson(const MethodResult& result) {
  Json json = {{"method", result.method},
               {"graph", result.graph},
               {"order", Order(result.shuffled)},
               {"parts", result.parts}};
  if (!result.failure.empty()) {
    json["failure"] = result.failure;
    return json;
  }
  json.update({{"replication_factor", result.replication},
               {"edge_cut_share", result.edge_cut_share},
               {"balance", result.balance},
               {"comparable", result.Balanced()},
               {"seconds", result.seconds},
               {"cpu_seconds", result.cpu_seconds},
               {"peak_anonymous_bytes", result.peak_bytes},
               {"planned_bytes", result.planned_bytes}});
  if (result.predicted_seconds > 0) json["predicted_seconds"] = result.predicted_seconds;
  return json;
}

Json Ratios(const std::vector<MethodResult>& results, const std::string& method) {
  std::map<Key, const MethodResult*> ours;
  std::set<std::string> others;
  for (const MethodResult& result : results) {
    if (!result.failure.empty()) continue;
    if (result.method == method) {
      ours[KeyOf(result)] = &result;
    } else {
      others.insert(result.method);
    }
  }
  Json ratios = Json::array();
  for (const std::string& other : others) {
    for (const bool shuffled : {false, true}) {
      PairRatios pair;
      for (const MethodResult& theirs : results) {
        const auto found = ours.find(KeyOf(theirs));
        if (theirs.method != other || theirs.shuffled != shuffled || !theirs.failure.empty() ||
            found == ours.end()) {
          continue;
        }
        pair.Add(*found->second, theirs);
      }
      if (!pair.empty()) ratios.push_back(pair.ToJson(other, shuffled));
    }
  }
  return ratios;
}

std::string ResultHeader() {
  return fmt::format("{:<14} {:<16} {:<8} {:>5} {:>11} {:>7} {:>7} {:>7} {:>9} {:>10} {:>10}\n",
                     "graph", "method", "order", "parts", "replication", "cut %", "nodes", "edges",
                     "seconds", "memory", "planned");
}

std::string ResultLine(const MethodResult& result) {
  const std::string start = fmt::format("{:<14} {:<16} {:<8} {:>5} ", result.graph, result.method,
                                        Order(result.shuffled), result.parts);
  if (!result.failure.empty()) return start + result.failure + "\n";
  return start + fmt::format("{:>11.4f} {:>7.2f} {:>7.3f} {:>7.3f} {:>9.3f} {:>10} {:>10}{}\n",
                             result.replication, 100 * result.edge_cut_share,
                             BalanceOf(result, "nodes"), BalanceOf(result, "edges"), result.seconds,
                             FormatBytes(result.peak_bytes), FormatBytes(result.planned_bytes),
                             Remarks(result));
}

std::string RatioTable(const Json& ratios, const std::string& method) {
  std::string text = fmt::format(
      "replication of {} against others, at equal balance\n"
      "{:<16} {:<8} {:>5} {:>9} {:>7}  {}\n",
      method, "method", "order", "cases", "geo. mean", "worst", "worst case");
  for (const Json& ratio : ratios) {
    text += fmt::format("{:<16} {:<8} {:>5}", ratio["other"].get<std::string>(),
                        ratio["order"].get<std::string>(), ratio["cases"].get<int>());
    if (ratio.contains("worst")) {
      text += fmt::format(" {:>9.3f} {:>7.3f}  {}", ratio["geometric_mean"].get<double>(),
                          ratio["worst"].get<double>(), ratio["worst_case"].get<std::string>());
    }
    text += '\n';
    for (const Json& left_out : ratio["not_comparable"]) {
      text += fmt::format("    not comparable: {}\n", left_out.dump());
    }
  }
  return text;
}

}  // namespace halograph
