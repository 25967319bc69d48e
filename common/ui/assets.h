// The files that the page needs, compiled into the program. All live as long as the program.
#pragma once

#include <span>
#include <string_view>

namespace halograph::ui {

struct Asset {
  std::string_view path;          // "/ui/app.js"
  std::string_view content_type;  // "text/javascript; charset=utf-8"
  std::string_view bytes;
};

// Scripts, styles and the icon. The page itself, "/ui", is RenderPage (render.h).
[[nodiscard]] std::span<const Asset> Assets();

// The page with marks such as {{tables}} where figures go.
[[nodiscard]] std::string_view PageShell();

inline constexpr std::string_view kPagePath = "/ui";
inline constexpr std::string_view kPageContentType = "text/html; charset=utf-8";

}  // namespace halograph::ui
