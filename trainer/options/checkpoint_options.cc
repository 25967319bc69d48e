#include "trainer/options/checkpoint_options.h"

#include <charconv>
#include <string_view>

#include "common/base/units.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr std::string_view kIntervals = "steps (500), or a time with its unit (30s, 10m, 1h)";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Status ReadInterval(std::string_view text, CheckpointInterval* every) {
  CheckpointInterval read{.steps = 0, .time = {}};
  if (IsNumber(text)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read.steps);
    if (error != std::errc()) {
      return InvalidArgument("'{}' is too large, expected {}", text, kIntervals);
    }
  } else {
    const bool unit = !text.empty() && text.back() >= 'a' && text.back() <= 'z';
    const auto time = ParseDuration(text);
    if (!unit || !time.ok()) {
      return InvalidArgument("'{}' is neither, expected {}", text, kIntervals);
    }
    read.time = *time;
  }
  if (read.steps == 0 && read.time.count() <= 0) {
    return InvalidArgument("'{}' is not above 0, expected {}", text, kIntervals);
  }
  *every = read;
  return OkStatus();
}

std::string IntervalText(const CheckpointInterval& every) {
  if (every.steps > 0) return fmt::format("{}", every.steps);
  return fmt::format("{}ms", std::chrono::ceil<std::chrono::milliseconds>(every.time).count());
}

}  // namespace

void AddCheckpointRows(OptionTable& rows, CheckpointOptions* o) {
  rows.Group("Checkpoints");
  rows.Add("checkpoint", &o->folder,
           "folder for checkpoints, by rank 0: now and then, at the end, and when a signal stops "
           "the run")
      .ValueName("FOLDER")
      .Mark(kMayDifferOnResume | kNotRepeated);
  rows.AddText(
          "checkpoint-every", [o](std::string_view text) { return ReadInterval(text, &o->every); },
          [o] { return IntervalText(o->every); }, std::string(kIntervals),
          "how often one is taken: after so many steps, or so much time")
      .ValueName("N|TIME")
      .DefaultText("10m")
      .Mark(kOfTraining);
  rows.Add("checkpoint-keep", &o->keep, "how many of the last ones are kept")
      .Range(1, 1000)
      .Mark(kOfTraining);
  rows.Add("resume", &o->resume,
           "go on from the newest checkpoint in --checkpoint, and begin anew where it has none; "
           "--log is added to")
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kNotRepeated | kOfTraining);
}

Status CheckCheckpoints(const CheckpointOptions& o) {
  if (!o.folder.empty() || !o.resume) return OkStatus();
  return InvalidArgument("--resume needs --checkpoint: the folder to go on from");
}

}  // namespace halograph
