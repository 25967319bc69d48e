// The catalogue of builds before format 2: other keys for the same things.
#include <limits>

#include "common/state/engine/catalogue/number_ranges.h"
#include "common/state/engine/catalogue/state_catalogue.h"

namespace halograph {
namespace {

// What a process of such a build took at its start; one older still used fewer.
constexpr int64_t kEpochsOfAProcess = int64_t{1} << 32;

StatusOr<Json> ParseOld(const std::string& key, const std::string& text) {
  StatusOr<Json> json = ParseJson(text, "key " + key + " of the catalogue");
  if (!json.ok()) return DataLoss("{}", Message(json.status()));
  return json;
}

// A snapshot had its tensors whole; it names them now.
StatusOr<Json> ConvertSnapshot(const std::string& key, Json snapshot,
                               CatalogueFile::Values* values) {
  HG_ASSIGN_OR_RETURN(const Json tensors, GetArray(snapshot, "tensors", key));
  std::set<uint32_t> numbers;
  for (const Json& tensor : tensors) {
    HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(tensor, "number", key));
    numbers.insert(static_cast<uint32_t>(number));
    (*values)[fmt::format("tensor/{:010}", number)] = CanonicalJson(tensor);
  }
  snapshot["tensors"] = RangesOf(numbers);
  return snapshot;
}

}  // namespace

StatusOr<CatalogueFile::Values> StateCatalogue::Converted(
    const std::map<std::string, std::string>& old) {
  CatalogueFile::Values values;
  std::set<uint32_t> live;
  int64_t next_epoch = kEpochsOfAProcess;
  for (const auto& [key, text] : old) {
    HG_ASSIGN_OR_RETURN(Json json, ParseOld(key, text));
    if (key == "format") {
      json["format"] = 2;
    } else if (key == "epochs") {
      HG_ASSIGN_OR_RETURN(next_epoch, GetInt(json, "next", "the catalogue's epochs"));
      continue;
    } else if (key.starts_with("tensor/")) {
      HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(json, "number", key));
      live.insert(static_cast<uint32_t>(number));
    } else if (key.starts_with("snapshot/")) {
      HG_ASSIGN_OR_RETURN(json, ConvertSnapshot(key, std::move(json), &values));
    }
    values[key == "closed" ? "synced" : key] = CanonicalJson(json);
  }
  if (!values.contains("format")) {
    return DataLoss(
        "the catalogue does not say whose state it is: restore a copy of the whole state folder");
  }
  values["tensors"] = CanonicalJson(Json(RangesOf(live)));
  values["segments"] = CanonicalJson(Json{{"next_epoch", next_epoch}});
  return values;
}

}  // namespace halograph
