#include "trainer/checkpoint/files/manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace halograph {
namespace {

constexpr char kFormat[] = "halograph checkpoint";
constexpr char kSnapshot[] = "snapshot";
constexpr char kBestSnapshot[] = "best_snapshot";
constexpr char kTrainedOn[] = "trained_on";
constexpr char kFeatureScales[] = "feature_scales";

bool IsOneOf(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool RateDependsOnLength(const RunIdentity& run) {
  const auto schedule = run.options.find("lr_schedule");
  return schedule != run.options.end() && *schedule == "cosine";
}

// "batch_size" as users write it.
std::string OptionName(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::string Shown(const Json& options, const std::string& key) {
  return options.contains(key) ? CanonicalJson(options[key]) : "not there";
}

void AddDifference(std::string_view what, std::string_view was, std::string_view is,
                   std::vector<std::string>* differences) {
  if (was == is) return;
  differences->push_back(fmt::format("{} was {}, is {}", what, was, is));
}

// What helps where the length is another one.
std::string AdviceOnLength(const RunIdentity& checkpoint, const RunIdentity& run,
                           const std::vector<std::string>& length) {
  const bool same = std::all_of(length.begin(), length.end(), [&](const std::string& key) {
    return Shown(checkpoint.options, key) == Shown(run.options, key);
  });
  if (same || !RateDependsOnLength(checkpoint)) return "";
  return "; with --lr-schedule cosine every step's learning rate depends on the length of the run: "
         "to train longer or shorter, begin anew in another folder";
}

// What helps where the ranks are others.
std::string AdviceOnRanks(const RunIdentity& checkpoint, const RunIdentity& run) {
  constexpr char kRanks[] = "world_size";
  const std::string was = Shown(checkpoint.options, kRanks);
  if (was == Shown(run.options, kRanks)) return "";
  return fmt::format(
      "; with --logical-ranks {} there are as many ranks in any number of processes that divides "
      "it",
      was);
}

// None if the key is not there.
StatusOr<std::optional<CheckpointSnapshot>> SnapshotFromJson(const Json& json, const char* key,
                                                             std::string_view where) {
  if (!json.contains(key)) return std::optional<CheckpointSnapshot>();
  HG_ASSIGN_OR_RETURN(const Json fields, GetObject(json, key, where));
  CheckpointSnapshot snapshot;
  HG_ASSIGN_OR_RETURN(snapshot.name, GetString(fields, "name", where));
  HG_ASSIGN_OR_RETURN(snapshot.next_step, GetInt(fields, "next_step", where));
  return std::optional(std::move(snapshot));
}

}  // namespace

Status CheckSameRun(const RunIdentity& stored, const RunIdentity& run, const MayDiffer& may,
                    std::string_view where) {
  RunIdentity checkpoint = stored;
  if (stored.model == run.model) {
    checkpoint.options = may.defaults;
    checkpoint.options.update(stored.options);
  }
  std::vector<std::string> differences;
  AddDifference("the graph's identity", checkpoint.graph, run.graph, &differences);
  AddDifference("the model", checkpoint.model, run.model, &differences);
  AddDifference("the task", checkpoint.task, run.task, &differences);
  std::set<std::string> keys;
  for (const RunIdentity* const one : {&std::as_const(checkpoint), &run}) {
    for (const auto& [key, value] : one->options.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (IsOneOf(may.always, key) || key == "model" || key == "task") continue;
    if (IsOneOf(may.length, key) && !RateDependsOnLength(checkpoint)) continue;
    AddDifference(OptionName(key), Shown(checkpoint.options, key), Shown(run.options, key),
                  &differences);
  }
  if (differences.empty()) return OkStatus();
  return FailedPrecondition(
      "{}: this checkpoint is of another run: {}. Give what was given then, or another folder{}{}",
      where, fmt::join(differences, "; "), AdviceOnRanks(checkpoint, run),
      AdviceOnLength(checkpoint, run, may.length));
}

const FileEntry* CheckpointManifest::Find(std::string_view file) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const FileEntry& entry) { return entry.path == file; });
  return found == files.end() ? nullptr : &*found;
}

Json ToJson(const CheckpointManifest& manifest) {
  Json files = Json::array();
  for (const FileEntry& entry : manifest.files) files.push_back(ToJson(entry));
  Json json{{"format", kFormat},
            {"format_version", kCheckpointVersion},
            {"build", manifest.build},
            {"time", manifest.time},
            {"graph_identity", manifest.run.graph},
            {"model", manifest.run.model},
            {"task", manifest.run.task},
            {"options", manifest.run.options},
            {"epoch", manifest.place.epoch},
            {"step", manifest.place.step},
            {"steps_done", manifest.place.steps_done},
            {"steps_per_epoch", manifest.place.steps_per_epoch},
            {"progress", manifest.progress},
            {"facts", manifest.facts},
            {"files", std::move(files)}};
  if (manifest.trained_on.has_value()) json[kTrainedOn] = ToJson(*manifest.trained_on);
  if (!manifest.feature_scales.empty()) json[kFeatureScales] = manifest.feature_scales;
  for (const auto& [key, field] :
       {std::pair{kSnapshot, &manifest.snapshot}, {kBestSnapshot, &manifest.best_snapshot}}) {
    if (!field->has_value()) continue;
    json[key] = Json{{"name", (*field)->name}, {"next_step", (*field)->next_step}};
  }
  return json;
}

StatusOr<CheckpointManifest> ManifestFromJson(const Json& json, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const std::string format, GetString(json, "format", where));
  if (format != kFormat) {
    return DataLoss("{}: 'format' is '{}', expected '{}'", where, format, kFormat);
  }
  HG_ASSIGN_OR_RETURN(const int64_t version, GetInt(json, "format_version", where));
  if (version != kCheckpointVersion) {
    return FailedPrecondition("{}: has format version {}, this build reads {}", where, version,
                              kCheckpointVersion);
  }
  CheckpointManifest manifest;
  HG_ASSIGN_OR_RETURN(manifest.build, GetString(json, "build", where));
  const auto time = json.find("time");
  if (time != json.end() && time->is_number_float()) {
    manifest.time = *time->get_ptr<const Json::number_float_t*>();
  }
  HG_ASSIGN_OR_RETURN(manifest.run.graph, GetString(json, "graph_identity", where));
  HG_ASSIGN_OR_RETURN(manifest.run.model, GetString(json, "model", where));
  HG_ASSIGN_OR_RETURN(manifest.run.task, GetString(json, "task", where));
  HG_ASSIGN_OR_RETURN(manifest.run.options, GetObject(json, "options", where));
  CheckpointPlace& place = manifest.place;
  for (const auto& [key, field] : {std::pair{"epoch", &place.epoch},
                                   {"step", &place.step},
                                   {"steps_done", &place.steps_done},
                                   {"steps_per_epoch", &place.steps_per_epoch}}) {
    HG_ASSIGN_OR_RETURN(*field, GetInt(json, key, where));
    if (*field < 0) return DataLoss("{}: field '{}' is {}, below 0", where, key, *field);
  }
  if (place.step > place.steps_per_epoch) {
    return DataLoss("{}: step {} is beyond the epoch's {}", where, place.step,
                    place.steps_per_epoch);
  }
  if (json.contains(kTrainedOn)) {
    HG_ASSIGN_OR_RETURN(const Json trained_on, GetObject(json, kTrainedOn, where));
    HG_ASSIGN_OR_RETURN(manifest.trained_on, TrainedOnFromJson(trained_on, where));
  }
  HG_ASSIGN_OR_RETURN(manifest.snapshot, SnapshotFromJson(json, kSnapshot, where));
  HG_ASSIGN_OR_RETURN(manifest.best_snapshot, SnapshotFromJson(json, kBestSnapshot, where));
  if (json.contains(kFeatureScales)) {
    HG_ASSIGN_OR_RETURN(manifest.feature_scales, GetObject(json, kFeatureScales, where));
  }
  HG_ASSIGN_OR_RETURN(manifest.progress, GetObject(json, "progress", where));
  HG_ASSIGN_OR_RETURN(manifest.facts, GetObject(json, "facts", where));
  HG_ASSIGN_OR_RETURN(const Json files, GetArray(json, "files", where));
  for (const Json& file : files) {
    HG_ASSIGN_OR_RETURN(FileEntry entry, FileEntryFromJson(file, where));
    manifest.files.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace halograph
