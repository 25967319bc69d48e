#include "common/ui/html.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "common/base/printable.h"
#include "common/base/units.h"

namespace halograph::ui {
namespace {

std::string_view ClassOf(CellKind kind) {
  switch (kind) {
    case CellKind::kCode:
      return " class=\"code\"";
    case CellKind::kNumber:
      return " class=\"num\"";
    case CellKind::kGood:
      return " class=\"good\"";
    case CellKind::kWarn:
      return " class=\"warn\"";
    case CellKind::kText:
      break;
  }
  return "";
}

void AppendRow(const Table& table, const std::vector<Cell>& cells, std::string& out) {
  out += "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string_view tag = i == 0 ? "th scope=\"row\"" : "td";
    const bool number = table.columns[i].number && cells[i].kind == CellKind::kWarn;
    out +=
        fmt::format("<{}{}>{}</{}>", tag, number ? " class=\"num warn\"" : ClassOf(cells[i].kind),
                    Escape(cells[i].text), tag.substr(0, 2));
  }
  out += "</tr>\n";
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : Printable(text, kMessageShown)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, Escape(value));
}

std::string RenderTable(const Table& table) {
  const std::string id = Escape(table.id);
  std::string out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n"
      "<p id=\"{0}-note\" class=\"note\" data-live>{2}</p>\n"
      "<div class=\"scroll\" role=\"region\" aria-labelledby=\"{0}-title\" tabindex=\"0\">\n"
      "<table>\n<thead><tr>",
      id, Escape(table.title), Escape(table.note));
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"num\"" : "",
                       Escape(column.title));
  }
  out += fmt::format("</tr></thead>\n<tbody id=\"{}-rows\" data-live>\n", id);
  for (const std::vector<Cell>& cells : table.rows) AppendRow(table, cells, out);
  if (table.rows.empty()) {
    out += fmt::format("<tr class=\"empty\"><td colspan=\"{}\">{}</td></tr>\n",
                       table.columns.size(), Escape(table.empty));
  }
  if (table.left_out > 0) {
    out += fmt::format("<tr class=\"empty\"><td colspan=\"{}\">{} more are not shown</td></tr>\n",
                       table.columns.size(), table.left_out);
  }
  return out + "</tbody>\n</table>\n</div>\n</section>\n";
}

std::string ShowCount(double count) {
  if (!std::isfinite(count)) return "-";
  constexpr std::array<std::string_view, 4> kUnits = {"M", "G", "T", "P"};
  if (std::abs(count) < 10 && count != std::floor(count)) return fmt::format("{:.1f}", count);
  if (std::abs(count) < 999'999.5) return FormatCount(std::llround(count));
  double value = count / 1e6;
  size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string ShowBytes(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  if (std::abs(bytes) > 9e18) return fmt::format("{:.1e} B", bytes);
  return FormatBytes(std::llround(bytes));
}

std::string ShowSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-6) return fmt::format("{:.0f} \u00b5s", seconds * 1e6);
  if (seconds < 99.95e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 999.5e-3) return fmt::format("{:.0f} ms", seconds * 1e3);
  return FormatSeconds(seconds);
}

Cell Number(std::string text) { return {std::move(text), CellKind::kNumber}; }
Cell Count(int64_t count) { return Number(ShowCount(static_cast<double>(count))); }
Cell Bytes(int64_t bytes) {
  return Number(bytes < 0 ? "-" : ShowBytes(static_cast<double>(bytes)));
}
Cell Seconds(double seconds) { return Number(ShowSeconds(seconds)); }

}  // namespace halograph::ui
