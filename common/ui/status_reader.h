// Reads what /status and /status?cluster answer (a server's StatsReply as JSON, or a trainer's
// figures) into what the page shows. Fields that are missing, as in what an older server says,
// count as 0 or unknown, and so do those of another type; nothing here fails. Pure functions.
#pragma once

#include "common/storage/json.h"
#include "common/ui/ui_data.h"

namespace halograph::ui {

// `status`: {"servers": [...], "why_alone", ...}, or a trainer's {"program": "halograph-train",
// ...}, or one server's own StatsReply.
[[nodiscard]] UiData ReadUiData(const Json& status);

// `entry`: an element of "servers".
[[nodiscard]] ServerFigures ReadClusterServer(const Json& entry);

// `stats`: a StatsReply as JSON, 64-bit integers as text or as numbers.
[[nodiscard]] ServerFigures ReadServer(const Json& stats);

}  // namespace halograph::ui
