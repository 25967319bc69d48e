#include "common/program/options.h"

#include <algorithm>
#include <type_traits>

#include <fmt/ranges.h>

#include "common/program/option_values.h"

namespace halograph {
namespace {

template <typename T>
inline constexpr bool kIsList = !std::is_same_v<typename OptionElement<T>::type, T>;

template <typename T>
Json ValueToJson(const T& value) {
  if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
    return std::chrono::duration<double>(value).count();
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return ValueToJson(value.string());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? Json() : Json(value);
  } else {
    return Json(value);
  }
}

}  // namespace

OptionRow::OptionRow(std::string name, std::string help)
    : name_(std::move(name)), help_(std::move(help)) {}

OptionRow& OptionRow::Required() {
  required_ = true;
  return *this;
}

OptionRow& OptionRow::AllRanks() {
  all_ranks_ = true;
  return *this;
}

OptionRow& OptionRow::Mark(OptionMarks marks) {
  marks_ |= marks;
  return *this;
}

OptionRow& OptionRow::DefaultText(std::string text) {
  default_text_ = std::move(text);
  return *this;
}

OptionRow& OptionRow::ValueName(std::string name) {
  value_name_ = std::move(name);
  return *this;
}

std::string OptionRow::Flag() const { return (name_.size() == 1 ? "-" : "--") + name_; }

std::string OptionRow::Key() const {
  std::string key = name_;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::string OptionRow::default_text() const {
  if (required_ || (is_flag() && default_ == "false")) return {};
  return default_text_.value_or(default_);
}

std::string OptionRow::value_name() const {
  const std::string name = value_name_.empty() ? KindName() : value_name_;
  return is_list() ? name + ",..." : name;
}

Status OptionRow::Set(std::string_view text) {
  // A variable of a script that was not set must not read as an option that was not given.
  if (text.empty()) {
    return InvalidArgument("{} is empty: give a value, or leave the option out", Flag());
  }
  HG_RETURN_IF_ERROR(Read(text));
  given_ = true;
  return OkStatus();
}

Status OptionRow::SetDefault(std::string_view text) {
  const bool given = given_;
  Status set = Set(text);
  given_ = given;
  return set;
}

SharedOption::SharedOption(std::vector<OptionRow*> rows)
    : OptionRow(rows.front()->name(), rows.front()->help()), rows_(std::move(rows)) {
  value_name_ = first().value_name_;
  default_text_ = first().default_text_;
  all_ranks_ = first().all_ranks_;
  marks_ = first().marks_;
}

Status SharedOption::Validate() const {
  for (const OptionRow* const row : rows_) HG_RETURN_IF_ERROR(row->Validate());
  return OkStatus();
}

Status SharedOption::Read(std::string_view text) {
  for (OptionRow* const row : rows_) HG_RETURN_IF_ERROR(row->Set(text));
  return OkStatus();
}

std::string SharedOption::KindName() const { return first().KindName(); }

template <typename T>
Option<T>::Option(std::string name, T* field, std::string help, NumberUnit unit)
    : OptionRow(std::move(name), std::move(help)), field_(field), unit_(unit) {}

template <typename T>
Option<T>& Option<T>::Range(Element low, Element high) {
  return AtLeast(std::move(low)).AtMost(std::move(high));
}

template <typename T>
Option<T>& Option<T>::AtLeast(Element low) {
  low_ = std::move(low);
  low_open_ = false;
  return *this;
}

template <typename T>
Option<T>& Option<T>::AtMost(Element high) {
  high_ = std::move(high);
  high_open_ = false;
  return *this;
}

template <typename T>
Option<T>& Option<T>::Above(Element low) {
  low_ = std::move(low);
  low_open_ = true;
  return *this;
}

template <typename T>
Option<T>& Option<T>::Below(Element high) {
  high_ = std::move(high);
  high_open_ = true;
  return *this;
}

template <typename T>
Option<T>& Option<T>::OneOf(std::vector<Element> words) {
  words_ = std::move(words);
  return *this;
}

template <typename T>
Option<T>& Option<T>::Check(std::function<Status(const T&)> check) {
  check_ = std::move(check);
  return *this;
}

template <typename T>
bool Option<T>::is_flag() const {
  return std::is_same_v<T, bool>;
}

template <typename T>
bool Option<T>::is_list() const {
  return kIsList<T>;
}

template <typename T>
std::string Option<T>::KindName() const {
  return std::string(option_values::KindOf<Element>(unit_).placeholder);
}

template <typename T>
std::string Option<T>::Allowed() const {
  if (!words_.empty()) {
    std::vector<std::string> words;
    for (const Element& word : words_) words.push_back(option_values::Write(word, unit_));
    return OrList(words);
  }
  const std::string low = low_.has_value() ? option_values::Write(*low_, unit_) : "";
  const std::string high = high_.has_value() ? option_values::Write(*high_, unit_) : "";
  if (low.empty() && high.empty()) return {};
  if (!low.empty() && !high.empty() && !low_open_ && !high_open_) return low + " to " + high;
  const std::string from = low.empty() ? "" : (low_open_ ? "above " : "at least ") + low;
  const std::string to = high.empty() ? "" : (high_open_ ? "below " : "at most ") + high;
  return from.empty() || to.empty() ? from + to : from + " and " + to;
}

template <typename T>
std::string Option<T>::Text() const {
  if constexpr (kIsList<T>) {
    std::vector<std::string> words;
    for (const Element& element : *field_) {
      words.push_back(option_values::QuotedIfNeedBe(option_values::Write(element, unit_)));
    }
    return fmt::format("{}", fmt::join(words, ","));
  } else {
    return option_values::Write(*field_, unit_);
  }
}

template <typename T>
Json Option<T>::ToJson() const {
  if constexpr (kIsList<T>) {
    return Json(*field_);
  } else {
    return ValueToJson(*field_);
  }
}

template <typename T>
Status Option<T>::Read(std::string_view text) {
  const auto read = [&](std::string_view word, Element* element) -> Status {
    if (!word.empty() && option_values::Read(word, unit_, element)) return OkStatus();
    const std::string allowed = Allowed();
    return InvalidArgument("{} {} '{}', expected {}{}{}", Flag(), is_list() ? "has" : "is", word,
                           option_values::KindOf<Element>(unit_).text, allowed.empty() ? "" : ", ",
                           allowed);
  };
  T value{};
  if constexpr (kIsList<T>) {
    const auto words = option_values::SplitAtCommas(text);
    if (!words.ok()) return InvalidArgument("{} has {}", Flag(), Message(words.status()));
    for (const std::string& word : *words) HG_RETURN_IF_ERROR(read(word, &value.emplace_back()));
  } else {
    HG_RETURN_IF_ERROR(read(text, &value));
  }
  HG_RETURN_IF_ERROR(CheckValue(value));
  *field_ = std::move(value);
  return OkStatus();
}

template <typename T>
Status Option<T>::CheckElement(const Element& value) const {
  const bool low = !low_.has_value() || *low_ < value || (!low_open_ && *low_ == value);
  const bool high = !high_.has_value() || value < *high_ || (!high_open_ && *high_ == value);
  const bool word =
      words_.empty() || std::find(words_.begin(), words_.end(), value) != words_.end();
  if (low && high && word) return OkStatus();
  const std::string_view quote = words_.empty() ? "" : "'";
  return InvalidArgument("{} {} {}{}{}, expected {}", Flag(), is_list() ? "has" : "is", quote,
                         option_values::Write(value, unit_), quote, Allowed());
}

template <typename T>
Status Option<T>::CheckValue(const T& value) const {
  if constexpr (kIsList<T>) {
    for (const Element& element : value) HG_RETURN_IF_ERROR(CheckElement(element));
  } else {
    HG_RETURN_IF_ERROR(CheckElement(value));
  }
  if (!check_) return OkStatus();
  const Status checked = check_(value);
  return checked.ok() ? checked : InvalidArgument("{}: {}", Flag(), Message(checked));
}

template class Option<bool>;
template class Option<int>;
template class Option<int64_t>;
template class Option<uint64_t>;
template class Option<double>;
template class Option<std::string>;
template class Option<std::filesystem::path>;
template class Option<std::chrono::nanoseconds>;
template class Option<std::vector<int>>;
template class Option<std::vector<int64_t>>;
template class Option<std::vector<double>>;
template class Option<std::vector<std::string>>;

TextOption::TextOption(std::string name, Reader read, Writer write, std::string allowed,
                       std::string help)
    : OptionRow(std::move(name), std::move(help)),
      read_(std::move(read)),
      write_(std::move(write)),
      allowed_(std::move(allowed)) {}

TextOption& TextOption::AsList(std::function<Json()> json) {
  list_ = true;
  return AsJson(std::move(json));
}

TextOption& TextOption::AsJson(std::function<Json()> json) {
  json_ = std::move(json);
  return *this;
}

Json TextOption::ToJson() const { return json_ ? json_() : ValueToJson(write_()); }

Status TextOption::Read(std::string_view text) {
  const Status read = read_(text);
  return read.ok() ? read : InvalidArgument("{}: {}", Flag(), Message(read));
}

ChoiceOption::ChoiceOption(std::string name, std::vector<std::string> words,
                           std::function<size_t()> get, std::function<void(size_t)> set,
                           std::string help)
    : OptionRow(std::move(name), std::move(help)),
      words_(std::move(words)),
      get_(std::move(get)),
      set_(std::move(set)) {}

Status ChoiceOption::Read(std::string_view text) {
  const auto found = std::find(words_.begin(), words_.end(), text);
  if (found == words_.end()) {
    return InvalidArgument("{} is '{}', expected {}", Flag(), text, Allowed());
  }
  set_(static_cast<size_t>(found - words_.begin()));
  return OkStatus();
}

}  // namespace halograph
