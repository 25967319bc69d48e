#include <algorithm>
#include <numeric>

#include "common/program/options.h"

namespace halograph {
namespace {

// Letters to insert, remove, replace or swap with the next to make one of the other.
size_t LettersApart(std::string_view a, std::string_view b) {
  // Of the first i letters of a and j of b: row i, and the two before.
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(std::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kShortest = 3;  // a beginning as long as this, and a third of the letters
  constexpr size_t kSlip = 2;      // letters; who writes more of them otherwise means another word
  std::string nearest, shorter;
  size_t least = word.size() / kShortest + 1;
  for (const std::string& name : names) {
    const bool begins = word.size() >= kShortest && name.starts_with(word);
    const bool goes_on = word.starts_with(name + "-") && name.size() > shorter.size();
    if (goes_on) shorter = name;
    const size_t apart = begins ? 0 : LettersApart(word, name);
    if (apart >= least) continue;
    least = apart;
    nearest = name;
  }
  return nearest.empty() || least > kSlip ? (shorter.empty() ? nearest : shorter) : nearest;
}

std::string OrList(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

OptionTable::OptionTable() = default;
OptionTable::~OptionTable() = default;
OptionTable::OptionTable(OptionTable&&) noexcept = default;
OptionTable& OptionTable::operator=(OptionTable&&) noexcept = default;

Option<int64_t>& OptionTable::AddBytes(std::string name, int64_t* field, std::string help) {
  return Keep(std::make_unique<Option<int64_t>>(std::move(name), field, std::move(help),
                                                NumberUnit::kBytes));
}

TextOption& OptionTable::AddText(std::string name, TextOption::Reader read,
                                 TextOption::Writer write, std::string allowed, std::string help) {
  return Keep(std::make_unique<TextOption>(std::move(name), std::move(read), std::move(write),
                                           std::move(allowed), std::move(help)));
}

SharedOption& OptionTable::AddShared(std::vector<OptionRow*> rows) {
  return Keep(std::make_unique<SharedOption>(std::move(rows)));
}

void OptionTable::KeepRow(std::unique_ptr<OptionRow> row) {
  row->group_ = group_;
  row->default_ = row->Text();
  rows_.push_back(std::move(row));
}

OptionRow* OptionTable::Find(std::string_view name) const {
  for (const auto& row : rows_) {
    if (row->name() == name) return row.get();
  }
  return nullptr;
}

Status OptionTable::Set(std::string_view name, std::string_view text) {
  if (OptionRow* const row = Find(name); row != nullptr) return row->Set(text);
  std::vector<std::string> names;
  for (const auto& row : rows_) names.push_back(row->name());
  const std::string nearest = NearestName(name, names);
  return InvalidArgument("there is no option {}{}", name,
                         nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

Status OptionTable::Validate() const {
  for (const auto& row : rows_) HG_RETURN_IF_ERROR(row->Validate());
  return OkStatus();
}

Status OptionTable::CheckRequired() const {
  for (const auto& row : rows_) {
    if (!row->required() || row->given()) continue;
    return InvalidArgument("{} is missing: give {} {}", row->Flag(), row->Flag(),
                           row->value_name());
  }
  return OkStatus();
}

Status OptionTable::CheckNames() const {
  for (const auto& row : rows_) {
    if (Find(row->name()) == row.get()) continue;
    return Internal("option {} is added twice: as '{}' and as '{}'", row->Flag(),
                    Find(row->name())->help(), row->help());
  }
  return OkStatus();
}

Json OptionTable::ToJson(Which which) const {
  Json json = Json::object();
  for (const auto& row : rows_) {
    if (which == Which::kAll || row->all_ranks()) json[row->Key()] = row->ToJson();
  }
  return json;
}

}  // namespace halograph
