#include "trainer/output/epoch_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace halograph {
namespace {

// A smaller share of the rows is not worth an advice.
constexpr double kWorthSaving = 0.05;

// As --cache-memory takes it, in the largest unit of which there are ten, rounded up.
std::string MemoryOption(int64_t bytes) {
  constexpr std::array<std::string_view, 3> kUnits = {"GiB", "MiB", "KiB"};
  for (size_t i = 0; i < kUnits.size(); ++i) {
    const int64_t unit = int64_t{1} << 10 * (kUnits.size() - i);
    const bool exact = bytes >= unit && bytes % unit == 0;
    if (exact || bytes >= 10 * unit || i + 1 == kUnits.size()) {
      return fmt::format("{}{}", (bytes + unit - 1) / unit, kUnits[i]);
    }
  }
  return "";
}

// What a larger cache would save; empty: nothing, or it is not known.
std::string LargerCacheText(const EpochFigures& figures, const CacheRoom& cache) {
  const double fetched = figures[Figure::kCacheMisses];
  const auto enough = static_cast<int64_t>(figures[Figure::kCacheEnough]);
  if (fetched <= 0 || enough <= cache.memory) return "";
  const double by_all = figures[Figure::kCacheRefetches] / fetched;
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  const int64_t twice = 2 * cache.memory;
  const bool all_fits = enough <= cache.most;
  if (by_all < kWorthSaving) return "";
  // The share of the slots that are missing which twice the memory adds.
  const double added =
      static_cast<double>(cache.memory) / static_cast<double>(enough - cache.memory);
  if (enough > twice && added * by_all >= kWorthSaving && twice <= cache.most) {
    return fmt::format(
        "; --cache-memory {} would save at least {} of the rows that it fetches{}",
        MemoryOption(twice), percent(added * by_all),
        all_fits ? fmt::format(", {} {}", MemoryOption(enough), percent(by_all)) : "");
  }
  if (!all_fits) return "";
  return fmt::format("; --cache-memory {} would save {} of the rows that it fetches",
                     MemoryOption(enough), percent(by_all));
}

}  // namespace

std::string BoundText(const EpochFigures& figures, const CacheRoom& cache) {
  const auto by = figures.BoundBy();
  if (!by.has_value()) return "";
  std::string text = fmt::format(", bound by {} (busy {:.0f} %)", by->stage, 100 * by->share);
  if (!by->server.empty()) {
    text += fmt::format(": waits for {} {:.0f} % of the epoch", by->server, 100 * by->server_share);
  }
  return by->stage == "gather" ? text + LargerCacheText(figures, cache) : text;
}

std::string CacheText(const EpochFigures& figures, bool within) {
  const double read = figures[Figure::kCacheHits] + figures[Figure::kCacheMisses];
  if (read == 0) return "";
  const double forecast = within ? 0 : figures[Figure::kRowForecast];  // of a whole epoch
  return fmt::format(", cache had {:.0f} % of {:.0f} remote rows{}",
                     100 * figures[Figure::kCacheHits] / read, read,
                     forecast > 0 ? fmt::format(" (forecast {:.0f})", forecast) : "");
}

}  // namespace halograph
