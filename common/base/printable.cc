#include "common/base/printable.h"

#include <cstdint>

#include <fmt/format.h>

namespace halograph {
namespace {

constexpr uint32_t kNone = 0;

// The code point that the well-formed UTF-8 sequence at the beginning stands for, and its length;
// kNone if there is none.
uint32_t Decode(std::string_view text, size_t* length) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  *length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (*length == 1) return byte(0);
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < *length) return kNone;
  uint32_t code = byte(0) & (0x7fU >> *length);
  for (size_t i = 1; i < *length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kNone;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kSmallest[*length] || code > 0x10ffff || surrogate ? kNone : code;
}

bool IsHarmless(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;  // control characters
  // Marks that turn the direction of writing or end a line; the mark of byte order.
  if (code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e)) return false;
  return (code < 0x2066 || code > 0x2069) && code != 0x061c && code != 0xfeff;
}

// The next character as it is shown; takes it off `text`.
std::string TakeShown(std::string_view* text, std::string_view kept) {
  size_t length = 1;
  const uint32_t code = Decode(*text, &length);
  const bool as_it_is = (code != kNone && IsHarmless(code)) ||
                        (length == 1 && kept.find(text->front()) != std::string_view::npos);
  std::string shown;
  if (as_it_is) {
    shown = text->substr(0, length);
  } else {
    if (code == kNone) length = 1;
    for (const char c : text->substr(0, length)) {
      shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  text->remove_prefix(length);
  return shown;
}

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  while (!text.empty()) {
    const std::string shown = TakeShown(&text, "");
    if (out.size() + shown.size() > limit) return out + "...";
    out += shown;
  }
  return out;
}

std::string PrintableLines(std::string_view text) {
  std::string out;
  while (!text.empty()) out += TakeShown(&text, "\n\t");
  return out;
}

}  // namespace halograph
