// What --device names: the device that computes. Knows no libtorch.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

struct DeviceName {
  enum Kind { kCpu, kCuda, kAuto };  // kAuto: CUDA's where there is one, else the CPU
  Kind kind = kCpu;
  std::optional<int> number;  // of kCuda; none: this rank's among the ranks of its machine
};

// "cpu", "cuda", "cuda:N", "auto". InvalidArgument: another text.
[[nodiscard]] inline StatusOr<DeviceName> ParseDeviceName(std::string_view text) {
  if (text == "cpu") return DeviceName{};
  if (text == "auto") return DeviceName{.kind = DeviceName::kAuto, .number = {}};
  if (text == "cuda") return DeviceName{.kind = DeviceName::kCuda, .number = {}};
  constexpr std::string_view kNumbered = "cuda:";
  if (text.starts_with(kNumbered)) {
    const char* const begin = text.data() + kNumbered.size();
    const char* const end = text.data() + text.size();
    int number = -1;
    const auto [last, error] = std::from_chars(begin, end, number);
    if (error == std::errc() && last == end && number >= 0 && number < 128) {
      return DeviceName{.kind = DeviceName::kCuda, .number = number};
    }
  }
  return InvalidArgument("'{}' is none of cpu, cuda, cuda:N and auto", text);
}

}  // namespace halograph
