#include "trainer/options/averaging_options.h"

#include <charconv>
#include <string_view>

#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr std::string_view kStepsUnit = "steps";
constexpr int64_t kMostEpochsAlone = 1 << 24;
constexpr int64_t kMostStepsAlone = int64_t{1} << 36;
constexpr std::string_view kRounds = "epochs (1), or steps with their unit (20steps)";

Status ReadRounds(std::string_view text, int64_t* epochs, int64_t* steps) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const bool digits = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (!digits || !(unit.empty() || unit == kStepsUnit)) {
    return InvalidArgument("'{}' is neither, expected {}", text, kRounds);
  }
  const bool in_steps = unit == kStepsUnit;
  const int64_t least = in_steps ? 1 : 0;
  const int64_t most = in_steps ? kMostStepsAlone : kMostEpochsAlone;
  if (error != std::errc() || number < least || number > most) {
    return InvalidArgument("'{}' is out of range, expected {} to {} {}", text, least, most,
                           in_steps ? "steps" : "epochs");
  }
  *epochs = in_steps ? 1 : number;
  *steps = in_steps ? number : 0;
  return OkStatus();
}

}  // namespace

void AddAveragingRow(OptionTable& rows, int64_t* epochs, int64_t* steps) {
  const auto text = [epochs, steps] {
    return *steps > 0 ? fmt::format("{}{}", *steps, kStepsUnit) : fmt::format("{}", *epochs);
  };
  rows.AddText(
          "average-every",
          [epochs, steps](std::string_view read) { return ReadRounds(read, epochs, steps); }, text,
          std::string(kRounds),
          "how long a rank trains a model of its own for each of its parts, before all models are "
          "averaged by training seeds: epochs, or steps of each part, and at the end of each "
          "epoch; "
          "0: one model, gradients are summed in every step")
      .AsJson([epochs, steps, text] { return *steps > 0 ? Json(text()) : Json(*epochs); })
      .ValueName("N|Nsteps")
      .AllRanks()
      .Mark(kNotInherited | kOfTraining);
}

}  // namespace halograph
