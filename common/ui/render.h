// The page that an operator opens at /ui: one HTML document with the tables of the moment, and
// beside them, as attributes, the figures of which the script draws charts.
//
// The page is the one form in which figures go to the browser: its script asks for the page again
// each second and takes from it what has the attribute `data-live`. So the tables are described
// once, work without JavaScript, and a poll costs some ten kilobytes however many series the
// servers have.
#pragma once

#include <string>
#include <vector>

#include "common/ui/html.h"
#include "common/ui/ui_data.h"

namespace halograph::ui {

// Rows of a table that are shown at most; a last row says how many are not.
inline constexpr size_t kMostRows = 256;
inline constexpr size_t kMostSlowRequests = 64;
inline constexpr size_t kMostClients = 64;

// The whole document. Needs no network and has no script or style within it (assets.h has them).
[[nodiscard]] std::string RenderPage(const UiData& data);

// Its parts: the tables, and the figures for charts (elements `li` with `data-` attributes).
[[nodiscard]] std::vector<Table> ServerTables(const UiData& data);
[[nodiscard]] std::vector<Table> TrainerTables(const TrainerFigures& trainer);
[[nodiscard]] std::string ServerSamples(const UiData& data);
[[nodiscard]] std::string TrainerSample(const TrainerFigures& trainer);
// ` data-bounds="..." data-counts="..."`
[[nodiscard]] std::string HistogramAttributes(const Histogram& histogram);

}  // namespace halograph::ui
