#include "common/state/engine/catalogue/state_catalogue.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/state/engine/catalogue/number_ranges.h"

namespace halograph {
namespace {

constexpr int kFormat = 2;
constexpr char kFormatKey[] = "format";
constexpr char kNextNumberKey[] = "next_tensor";
constexpr char kLiveKey[] = "tensors";
constexpr char kCheckpointKey[] = "checkpoint";
constexpr char kLeftKey[] = "files";
constexpr char kSyncedKey[] = "synced";
constexpr char kSegmentsKey[] = "segments";
constexpr char kTensorPrefix[] = "tensor/";
constexpr char kSnapshotPrefix[] = "snapshot/";

std::string TensorKey(uint32_t number) { return fmt::format("{}{:010}", kTensorPrefix, number); }

std::string WhereOf(const std::string& key) { return "key " + key + " of the catalogue"; }

CatalogueFile::Change Put(std::string key, const Json& value) {
  return {std::move(key), CanonicalJson(value)};
}

StatusOr<Json> Parse(const std::string& key, const std::string& text) {
  StatusOr<Json> json = ParseJson(text, WhereOf(key));
  if (!json.ok()) return DataLoss("{}", Message(json.status()));
  return json;
}

Json ToJson(const CatalogueTensor& tensor) {
  return Json{{"number", tensor.number}, {"spec", tensor.spec.ToJson()}};
}

StatusOr<CatalogueTensor> TensorFromJson(const Json& json, const std::string& where) {
  CatalogueTensor tensor;
  HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(json, "number", where));
  HG_ASSIGN_OR_RETURN(const Json spec, GetObject(json, "spec", where));
  HG_ASSIGN_OR_RETURN(tensor.spec, MutableTensorSpec::FromJson(spec));
  tensor.number = static_cast<uint32_t>(number);
  return tensor;
}

StatusOr<std::set<uint32_t>> NumbersFromJson(const Json& json, const std::string& where) {
  const auto numbers = json.is_string() ? NumbersIn(json.get<std::string>()) : std::nullopt;
  if (!numbers.has_value()) return DataLoss("{}: no list of numbers", where);
  return *numbers;
}

std::set<uint32_t> NumbersOf(const std::vector<CatalogueTensor>& tensors) {
  std::set<uint32_t> numbers;
  for (const CatalogueTensor& tensor : tensors) numbers.insert(tensor.number);
  return numbers;
}

Json ToJson(const CatalogueSnapshot& snapshot) {
  return Json{{"name", snapshot.info.name}, {"lsn", snapshot.info.lsn},
              {"step", snapshot.info.step}, {"bytes", snapshot.info.bytes},
              {"files", snapshot.files},    {"tensors", RangesOf(NumbersOf(snapshot.tensors))}};
}

Json ToJson(const LeftFiles& left) { return Json{{"next", left.next}, {"unused", left.unused}}; }

Json ToJson(const NamedSegments& segments) {
  Json used = Json::array();
  for (const NamedSegment& segment : segments.used) {
    used.push_back(Json{segment.file, segment.epoch, segment.bytes});
  }
  return Json{{"next_epoch", segments.next_epoch}, {"used", used}};
}

}  // namespace

CatalogueFile::Values StateCatalogue::Empty(const StateGraph& graph) {
  return {
      {kFormatKey, CanonicalJson(Json{
                       {"format", kFormat}, {"identity", graph.identity}, {"part", graph.part}})},
      {kLiveKey, CanonicalJson(Json(""))},
      {kLeftKey, CanonicalJson(ToJson(LeftFiles()))},
      {kSegmentsKey, CanonicalJson(ToJson(NamedSegments()))}};
}

Status StateCatalogue::Check(const StateGraph& graph) const {
  const std::optional<std::string> format = file_->Get(kFormatKey);
  return CheckWhose({{kFormatKey, format.value_or("{}")}}, graph);
}

Status StateCatalogue::CheckWhose(const CatalogueFile::Values& values, const StateGraph& graph) {
  HG_ASSIGN_OR_RETURN(const Json found, Parse(kFormatKey, values.at(kFormatKey)));
  const std::string where = WhereOf(kFormatKey);
  HG_ASSIGN_OR_RETURN(const int64_t format, GetInt(found, "format", where));
  HG_ASSIGN_OR_RETURN(const std::string identity, GetString(found, "identity", where));
  HG_ASSIGN_OR_RETURN(const int64_t part, GetInt(found, "part", where));
  if (format > kFormat) {
    return FailedPrecondition("the state has format {}, this build reads {}: use a newer build",
                              format, kFormat);
  }
  if (identity != graph.identity || part != graph.part) {
    return FailedPrecondition(
        "the state is of part {} of graph {}, this is part {} of graph {}: name the folder of this "
        "part's state, or an empty one",
        part, identity, graph.part, graph.identity);
  }
  return OkStatus();
}

StatusOr<std::set<int64_t>> StateCatalogue::FilesNamed(const CatalogueFile::Values& values) {
  std::set<int64_t> named;
  for (const auto& [key, text] : values) {
    if (key != kCheckpointKey && !key.starts_with(kSnapshotPrefix)) continue;
    HG_ASSIGN_OR_RETURN(const Json json, Parse(key, text));
    HG_ASSIGN_OR_RETURN(const std::vector<int64_t> files, GetInts(json, "files", WhereOf(key)));
    named.insert(files.begin(), files.end());
  }
  return named;
}

StatusOr<Json> StateCatalogue::Get(const std::string& key) const {
  const std::optional<std::string> text = file_->Get(key);
  if (!text.has_value()) return Json();
  return Parse(key, *text);
}

StatusOr<std::set<uint32_t>> StateCatalogue::Live() const {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kLiveKey));
  return NumbersFromJson(json, WhereOf(kLiveKey));
}

StatusOr<std::vector<CatalogueTensor>> StateCatalogue::Tensors() const {
  HG_ASSIGN_OR_RETURN(const std::set<uint32_t> live, Live());
  std::vector<CatalogueTensor> tensors;
  for (const uint32_t number : live) {
    HG_ASSIGN_OR_RETURN(const Json json, Get(TensorKey(number)));
    HG_ASSIGN_OR_RETURN(CatalogueTensor tensor, TensorFromJson(json, WhereOf(TensorKey(number))));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

StatusOr<uint32_t> StateCatalogue::NextNumber() const {
  HG_ASSIGN_OR_RETURN(const Json next, Get(kNextNumberKey));
  if (next.is_null()) return uint32_t{1};
  HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(next, "number", kNextNumberKey));
  return static_cast<uint32_t>(number);
}

Status StateCatalogue::AddTensor(const CatalogueTensor& tensor) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(std::set<uint32_t> live, Live());
  live.insert(tensor.number);
  const std::vector<Change> changes = {Put(TensorKey(tensor.number), ToJson(tensor)),
                                       Put(kLiveKey, RangesOf(live)),
                                       Put(kNextNumberKey, Json{{"number", tensor.number + 1}})};
  return file_->Write(changes);
}

void StateCatalogue::Reserve() {
  const MonitorLock lock(*change_monitor_);
  file_->Reserve();
}

Status StateCatalogue::RemoveTensor(uint32_t number) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(std::set<uint32_t> live, Live());
  live.erase(number);
  std::vector<Change> changes = {Put(kLiveKey, RangesOf(live))};
  HG_RETURN_IF_ERROR(Forget({number}, live, "", &changes));
  return file_->Write(changes, CatalogueFile::Room::kReserved);
}

Status StateCatalogue::Forget(const std::set<uint32_t>& numbers, const std::set<uint32_t>& live,
                              const std::string& without, std::vector<Change>* changes) const {
  std::vector<NumberRanges> of_snapshots;
  for (const CatalogueFile::Entry& entry : file_->Scan(kSnapshotPrefix)) {
    if (entry.key == kSnapshotPrefix + without) continue;
    HG_ASSIGN_OR_RETURN(const Json json, Parse(entry.key, entry.value));
    const Json text = json.value("tensors", Json());
    const auto ranges = text.is_string() ? RangesIn(text.get<std::string>()) : std::nullopt;
    if (!ranges.has_value()) return DataLoss("{}: no list of numbers", WhereOf(entry.key));
    of_snapshots.push_back(*ranges);
  }
  for (const uint32_t number : numbers) {
    const bool used = live.contains(number) ||
                      std::any_of(of_snapshots.begin(), of_snapshots.end(),
                                  [&](const auto& ranges) { return Contains(ranges, number); });
    if (!used) changes->push_back({TensorKey(number), std::nullopt});
  }
  return OkStatus();
}

StatusOr<CheckpointInfo> StateCatalogue::Checkpoint() const {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kCheckpointKey));
  CheckpointInfo info;
  if (json.is_null()) return info;
  const std::string where = WhereOf(kCheckpointKey);
  HG_ASSIGN_OR_RETURN(info.files, GetInts(json, "files", where));
  HG_ASSIGN_OR_RETURN(info.lsn, GetInt(json, "lsn", where));
  HG_ASSIGN_OR_RETURN(info.first_lsn, GetInt(json, "first_lsn", where));
  HG_ASSIGN_OR_RETURN(const int64_t epoch, GetInt(json, "first_epoch", where));
  info.first_epoch = static_cast<uint64_t>(epoch);
  return info;
}

Status StateCatalogue::VisitSnapshots(
    const std::function<void(const CatalogueSnapshot&)>& visit) const {
  std::map<uint32_t, CatalogueTensor> known;
  for (const CatalogueFile::Entry& entry : file_->Scan(kSnapshotPrefix)) {
    const std::string where = WhereOf(entry.key);
    HG_ASSIGN_OR_RETURN(const Json json, Parse(entry.key, entry.value));
    CatalogueSnapshot snapshot;
    HG_ASSIGN_OR_RETURN(snapshot.info.name, GetString(json, "name", where));
    HG_ASSIGN_OR_RETURN(snapshot.info.lsn, GetInt(json, "lsn", where));
    HG_ASSIGN_OR_RETURN(snapshot.info.step, GetInt(json, "step", where));
    HG_ASSIGN_OR_RETURN(snapshot.info.bytes, GetInt(json, "bytes", where));
    HG_ASSIGN_OR_RETURN(snapshot.files, GetInts(json, "files", where));
    HG_ASSIGN_OR_RETURN(const std::set<uint32_t> numbers,
                        NumbersFromJson(json.value("tensors", Json()), where));
    for (const uint32_t number : numbers) {
      const auto [found, fresh] = known.try_emplace(number);
      if (fresh) {
        HG_ASSIGN_OR_RETURN(const Json tensor, Get(TensorKey(number)));
        HG_ASSIGN_OR_RETURN(found->second, TensorFromJson(tensor, WhereOf(TensorKey(number))));
      }
      snapshot.tensors.push_back(found->second);
    }
    visit(snapshot);
  }
  return OkStatus();
}

Status StateCatalogue::SetCheckpoint(const CheckpointInfo& checkpoint, const LeftFiles& left,
                                     const CatalogueSnapshot* snapshot,
                                     const std::vector<CatalogueTensor>* tensors) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(NamedSegments segments, Segments());
  HG_ASSIGN_OR_RETURN(const int64_t synced, SyncedLsn());
  std::erase_if(segments.used, [&](const NamedSegment& segment) {
    return segment.epoch < checkpoint.first_epoch;
  });
  segments.next_epoch = std::max(segments.next_epoch, checkpoint.first_epoch);
  std::vector<Change> changes = {Put(kCheckpointKey, Json{{"files", checkpoint.files},
                                                          {"lsn", checkpoint.lsn},
                                                          {"first_lsn", checkpoint.first_lsn},
                                                          {"first_epoch", checkpoint.first_epoch}}),
                                 Put(kSyncedKey, Json{{"lsn", std::max(synced, checkpoint.lsn)}})};
  if (left.known) changes.push_back(Put(kLeftKey, ToJson(left)));
  if (segments.known) changes.push_back(Put(kSegmentsKey, ToJson(segments)));
  if (tensors != nullptr) {
    const std::set<uint32_t> live = NumbersOf(*tensors);
    HG_ASSIGN_OR_RETURN(const std::set<uint32_t> before, Live());
    HG_RETURN_IF_ERROR(Forget(before, live, "", &changes));
    changes.push_back(Put(kLiveKey, RangesOf(live)));
    for (const CatalogueTensor& tensor : *tensors) {
      changes.push_back(Put(TensorKey(tensor.number), ToJson(tensor)));
    }
  }
  if (snapshot != nullptr) {
    changes.push_back(Put(kSnapshotPrefix + snapshot->info.name, ToJson(*snapshot)));
  }
  return file_->Write(changes);
}

Status StateCatalogue::RemoveSnapshot(const std::string& name, const LeftFiles& left) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(const std::set<uint32_t> live, Live());
  std::vector<Change> changes = {{kSnapshotPrefix + name, std::nullopt},
                                 Put(kLeftKey, ToJson(left))};
  HG_ASSIGN_OR_RETURN(const Json snapshot, Get(kSnapshotPrefix + name));
  HG_ASSIGN_OR_RETURN(const std::set<uint32_t> of_snapshot,
                      NumbersFromJson(snapshot.value("tensors", Json()), WhereOf(name)));
  HG_RETURN_IF_ERROR(Forget(of_snapshot, live, name, &changes));
  return file_->Write(changes, CatalogueFile::Room::kReserved);
}

StatusOr<LeftFiles> StateCatalogue::Left() const {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kLeftKey));
  LeftFiles left;
  left.known = !json.is_null();
  if (!left.known) return left;
  HG_ASSIGN_OR_RETURN(left.next, GetInt(json, "next", WhereOf(kLeftKey)));
  HG_ASSIGN_OR_RETURN(left.unused, GetInts(json, "unused", WhereOf(kLeftKey)));
  return left;
}

StatusOr<int64_t> StateCatalogue::SyncedLsn() const {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kSyncedKey));
  if (json.is_null()) return int64_t{0};
  return GetInt(json, "lsn", WhereOf(kSyncedKey));
}

Status StateCatalogue::SetSyncedLsn(int64_t lsn) {
  const MonitorLock lock(*change_monitor_);
  const Change change = Put(kSyncedKey, Json{{"lsn", lsn}});
  return file_->Write(std::span(&change, 1));
}

StatusOr<NamedSegments> StateCatalogue::Segments() const {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kSegmentsKey));
  NamedSegments segments;
  segments.known = json.is_object() && json.contains("used");
  const std::string where = WhereOf(kSegmentsKey);
  HG_ASSIGN_OR_RETURN(const int64_t next, GetInt(json, "next_epoch", where));
  segments.next_epoch = static_cast<uint64_t>(next);
  if (!segments.known) return segments;
  HG_ASSIGN_OR_RETURN(const Json used, GetArray(json, "used", where));
  for (const Json& entry : used) {
    const bool fits = entry.is_array() && entry.size() == 3 &&
                      std::all_of(entry.begin(), entry.end(),
                                  [](const Json& number) { return number.is_number_integer(); });
    if (!fits) return DataLoss("{}: a segment is no file, epoch and bytes", where);
    segments.used.push_back(
        {entry[0].get<int64_t>(), entry[1].get<uint64_t>(), entry[2].get<int64_t>()});
  }
  return segments;
}

Status StateCatalogue::NameSegment(const NamedSegment& segment, int64_t synced_lsn) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(NamedSegments segments, Segments());
  if (!segments.known) return Internal("a segment is named before those that are there");
  HG_ASSIGN_OR_RETURN(const int64_t synced, SyncedLsn());
  std::erase_if(segments.used, [&](const NamedSegment& of) { return of.file == segment.file; });
  segments.used.push_back(segment);
  segments.next_epoch = std::max(segments.next_epoch, segment.epoch + 1);
  const Change changes[] = {Put(kSegmentsKey, ToJson(segments)),
                            Put(kSyncedKey, Json{{"lsn", std::max(synced, synced_lsn)}})};
  return file_->Write(changes);
}

Status StateCatalogue::ForgetSegment(int64_t file) {
  const MonitorLock lock(*change_monitor_);
  HG_ASSIGN_OR_RETURN(NamedSegments segments, Segments());
  std::erase_if(segments.used, [&](const NamedSegment& of) { return of.file == file; });
  const Change change = Put(kSegmentsKey, ToJson(segments));
  return file_->Write(std::span(&change, 1));
}

Status StateCatalogue::SetSegments(const NamedSegments& segments, int64_t synced_lsn) {
  const MonitorLock lock(*change_monitor_);
  const Change changes[] = {Put(kSegmentsKey, ToJson(segments)),
                            Put(kSyncedKey, Json{{"lsn", synced_lsn}})};
  const bool same = std::all_of(std::begin(changes), std::end(changes), [&](const Change& change) {
    return file_->Get(change.key) == change.value;
  });
  return same ? OkStatus() : file_->Write(changes);
}

}  // namespace halograph
