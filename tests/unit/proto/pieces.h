// Messages as the network gives them: in pieces, cut where a test says, each in memory of its own,
// so that sanitizers see a read beyond it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "proto/wire/reader.h"

namespace halograph::wire {

class CutMessage {
 public:
  // Cut before each of `cuts`, ascending, which may repeat: pieces may be empty.
  explicit CutMessage(const std::string& message, const std::vector<size_t>& cuts = {}) {
    const auto bytes = std::as_bytes(std::span(message));
    size_t begin = 0;
    for (size_t i = 0; i <= cuts.size(); ++i) {
      const size_t end = i < cuts.size() ? cuts[i] : bytes.size();
      memory_.emplace_back(bytes.begin() + static_cast<ptrdiff_t>(begin),
                           bytes.begin() + static_cast<ptrdiff_t>(end));
      begin = end;
    }
    for (const std::vector<std::byte>& piece : memory_) pieces_.emplace_back(piece);
  }
  CutMessage(const CutMessage&) = delete;
  CutMessage& operator=(const CutMessage&) = delete;

  [[nodiscard]] Pieces pieces() const { return pieces_; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::span<const std::byte>> pieces_;
};

// Calls test(cuts) for the message cut before every pair of its bytes.
template <typename Test>
void ForEveryPairOfCuts(const std::string& message, Test test) {
  for (size_t first = 0; first <= message.size(); ++first) {
    for (size_t second = first; second <= message.size(); ++second) {
      test(std::vector<size_t>{first, second});
    }
  }
}

// Fields that no message has, one of each wire type: 50 to 54.
inline std::string UnknownFields() {
  using namespace std::string_literals;
  return "\x90\x03\xff\x01"s  // 50: a varint
         "\x99\x03"s
         "12345678"s  // 51: 8 bytes
         "\xa5\x03"s
         "1234"s                                       // 52: 4 bytes
         "\xaa\x03\x05hello"s                          // 53: text
         "\xb3\x03\x08\x01\xb3\x03\xb4\x03\xb4\x03"s;  // 54: a group with a group in it
}

}  // namespace halograph::wire
