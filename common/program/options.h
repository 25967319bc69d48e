// One option is one row: its name, the field it sets, its default (what the field holds when the
// row is added), what it allows, its help, whether all ranks must agree on it, and marks of the
// program's own. The command line, validation, the configuration that is logged, and --help all
// read the same rows.
//
//   struct Limits { int threads = 0; int64_t memory = 1 << 30; };
//   void AddLimits(OptionTable& table, Limits* limits) {
//     table.Group("Machine");
//     table.Add("threads", &limits->threads, "threads for computation").Range(0, 1024)
//         .DefaultText("one a core");
//     table.AddBytes("memory", &limits->memory, "bytes of all buffers").AtLeast(1 << 20);
//   }
//
// Rows can be added from several places (a model's beside the program's) and set from text,
// wherever that text comes from (command line, file). Not thread-safe. Fields must outlive the
// table; rows live as long as the table and do not move.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

// The name among `names` that somebody who wrote `word` may have meant: it begins with the word, or
// differs in two letters or so, else the word goes on from it (embed-dim from embed). Or empty.
[[nodiscard]] std::string NearestName(std::string_view word, const std::vector<std::string>& names);
// "a", "a or b", "a, b or c".
[[nodiscard]] std::string OrList(const std::vector<std::string>& words);

// A set of properties that a program gives its options, one a bit.
using OptionMarks = uint32_t;

// What all rows have. Those of typed fields are Option<T>.
class OptionRow {
 public:
  OptionRow(std::string name, std::string help);
  virtual ~OptionRow() = default;
  OptionRow(const OptionRow&) = delete;
  OptionRow& operator=(const OptionRow&) = delete;

  // Refinements, for where the row is added. After those of Option<T>, as they return this type.
  OptionRow& Required();                     // the command line must give it
  OptionRow& AllRanks();                     // must be the same on all ranks of a run
  OptionRow& Mark(OptionMarks marks);        // adds them to those that it has
  OptionRow& DefaultText(std::string text);  // for --help, where the default is no plain value
  OptionRow& ValueName(std::string name);    // for --help: FOLDER, HOST:PORT

  [[nodiscard]] const std::string& name() const { return name_; }  // max-message-bytes
  [[nodiscard]] const std::string& help() const { return help_; }
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] bool required() const { return required_; }
  [[nodiscard]] bool all_ranks() const { return all_ranks_; }
  // Whether it has one of the marks.
  [[nodiscard]] bool marked(OptionMarks marks) const { return (marks_ & marks) != 0; }
  [[nodiscard]] bool given() const { return given_; }  // Set was called
  [[nodiscard]] std::string Flag() const;              // --max-message-bytes; -a of a letter
  [[nodiscard]] std::string Key() const;               // max_message_bytes, in JSON
  [[nodiscard]] std::string default_text() const;      // empty: none to show

  // Kinds of values. A flag stands without one, and means true; a list takes several.
  [[nodiscard]] virtual bool is_flag() const { return false; }
  [[nodiscard]] virtual bool is_list() const { return false; }
  // For --help: N, SIZE, HOST:PORT,...; empty of a flag.
  [[nodiscard]] std::string value_name() const;
  // What is allowed beyond the kind of value: "1 to 1024", "headers or contents"; or empty.
  [[nodiscard]] virtual std::string Allowed() const { return {}; }

  // Reads the field from text; a list from words separated by commas, in place of what it held.
  // InvalidArgument naming the option, what was found and what is allowed; the field is as before.
  [[nodiscard]] Status Set(std::string_view text);
  // The same, but the option does not count as given: the text stands in for its default.
  [[nodiscard]] Status SetDefault(std::string_view text);
  // Whether what the field holds is allowed, wherever it came from. Errors as Set.
  [[nodiscard]] virtual Status Validate() const = 0;
  // The field as text that Set reads.
  [[nodiscard]] virtual std::string Text() const = 0;
  // Numbers as numbers, sizes in bytes, durations in seconds, words as strings, lists as arrays;
  // null of an empty text.
  [[nodiscard]] virtual Json ToJson() const = 0;

 protected:
  [[nodiscard]] virtual Status Read(std::string_view text) = 0;
  [[nodiscard]] virtual std::string KindName() const = 0;  // value_name without ValueName

 private:
  friend class OptionTable;
  friend class SharedOption;
  const std::string name_;
  const std::string help_;
  std::string group_;
  std::string value_name_;
  std::optional<std::string> default_text_;
  std::string default_;  // the field's text when the row was added
  bool required_ = false;
  bool all_ranks_ = false;
  OptionMarks marks_ = 0;
  bool given_ = false;
};

template <typename T>
struct OptionElement {
  using type = T;
};
template <typename T>
struct OptionElement<std::vector<T>> {
  using type = T;
};

// How a whole number is written: as it is, or as a size (4096, 64KiB, 8GiB, 10MB).
enum class NumberUnit { kNone, kBytes };

// A row of a field of type T: bool, int, int64_t, uint64_t, double, std::string,
// std::filesystem::path, std::chrono::nanoseconds ("500ms", "30s", "2m", "1h"), or a std::vector of
// int, int64_t, double or std::string. Numbers are finite. Bounds of a list are its elements'.
template <typename T>
class Option final : public OptionRow {
 public:
  using Element = typename OptionElement<T>::type;
  Option(std::string name, T* field, std::string help, NumberUnit unit = NumberUnit::kNone);

  Option& Range(Element low, Element high);  // both allowed
  Option& AtLeast(Element low);
  Option& AtMost(Element high);
  Option& Above(Element low);
  Option& Below(Element high);
  Option& OneOf(std::vector<Element> words);
  // What bounds do not say; its error gets the option's name in front.
  Option& Check(std::function<Status(const T& value)> check);

  [[nodiscard]] bool is_flag() const override;
  [[nodiscard]] bool is_list() const override;
  [[nodiscard]] std::string Allowed() const override;
  [[nodiscard]] Status Validate() const override { return CheckValue(*field_); }
  [[nodiscard]] std::string Text() const override;
  [[nodiscard]] Json ToJson() const override;

 private:
  [[nodiscard]] Status Read(std::string_view text) override;
  [[nodiscard]] std::string KindName() const override;
  [[nodiscard]] Status CheckElement(const Element& value) const;
  [[nodiscard]] Status CheckValue(const T& value) const;

  T* const field_;
  const NumberUnit unit_;
  std::optional<Element> low_, high_;
  bool low_open_ = false, high_open_ = false;
  std::vector<Element> words_;
  std::function<Status(const T&)> check_;
};

// A row whose text only its owner understands: "all" or "0,2", "auto" or a number.
class TextOption final : public OptionRow {
 public:
  using Reader = std::function<Status(std::string_view text)>;  // sets the field if it is OK
  using Writer = std::function<std::string()>;                  // the field as text
  TextOption(std::string name, Reader read, Writer write, std::string allowed, std::string help);

  // Its text is words with commas between them: they may stand apart, as those of other lists.
  // `json`: what ToJson gives in place of the text.
  TextOption& AsList(std::function<Json()> json);
  // `json`: what ToJson gives in place of the text.
  TextOption& AsJson(std::function<Json()> json);

  [[nodiscard]] bool is_list() const override { return list_; }
  [[nodiscard]] std::string Allowed() const override { return allowed_; }
  [[nodiscard]] Status Validate() const override { return OkStatus(); }
  [[nodiscard]] std::string Text() const override { return write_(); }
  [[nodiscard]] Json ToJson() const override;

 private:
  [[nodiscard]] Status Read(std::string_view text) override;
  [[nodiscard]] std::string KindName() const override { return "WORD"; }

  const Reader read_;
  const Writer write_;
  const std::string allowed_;
  bool list_ = false;
  std::function<Json()> json_;
};

// A row of an enum, by words.
class ChoiceOption final : public OptionRow {
 public:
  // `get` and `set`: the field as a position in `words`.
  ChoiceOption(std::string name, std::vector<std::string> words, std::function<size_t()> get,
               std::function<void(size_t)> set, std::string help);

  [[nodiscard]] std::string Allowed() const override { return OrList(words_); }
  [[nodiscard]] Status Validate() const override { return OkStatus(); }
  [[nodiscard]] std::string Text() const override { return words_[get_()]; }
  [[nodiscard]] Json ToJson() const override { return Text(); }

 private:
  [[nodiscard]] Status Read(std::string_view text) override;
  [[nodiscard]] std::string KindName() const override { return "WORD"; }

  const std::vector<std::string> words_;
  const std::function<size_t()> get_;
  const std::function<void(size_t)> set_;
};

// A row that stands for rows of one name in other tables: what it reads, all of them read. After an
// error those before the one that refuses hold the new value.
class SharedOption final : public OptionRow {
 public:
  // At least one, which all outlive this. Kind, allowed values, help, marks and default are the
  // first's.
  explicit SharedOption(std::vector<OptionRow*> rows);

  [[nodiscard]] bool is_flag() const override { return first().is_flag(); }
  [[nodiscard]] bool is_list() const override { return first().is_list(); }
  [[nodiscard]] std::string Allowed() const override { return first().Allowed(); }
  [[nodiscard]] Status Validate() const override;
  [[nodiscard]] std::string Text() const override { return first().Text(); }
  [[nodiscard]] Json ToJson() const override { return first().ToJson(); }

 private:
  [[nodiscard]] const OptionRow& first() const { return *rows_.front(); }
  [[nodiscard]] Status Read(std::string_view text) override;
  [[nodiscard]] std::string KindName() const override;

  const std::vector<OptionRow*> rows_;
};

class OptionTable {
 public:
  OptionTable();
  ~OptionTable();
  OptionTable(OptionTable&&) noexcept;
  OptionTable& operator=(OptionTable&&) noexcept;

  // The heading in --help of the rows that are added from here on; "Options" before the first.
  void Group(std::string title) { group_ = std::move(title); }

  // Adds a row. Names are without dashes; one letter is a short option. Adding a name twice is an
  // error that CheckNames reports.
  template <typename T>
  Option<T>& Add(std::string name, T* field, std::string help) {
    return Keep(std::make_unique<Option<T>>(std::move(name), field, std::move(help)));
  }
  Option<int64_t>& AddBytes(std::string name, int64_t* field, std::string help);
  // An enum by words. `words` names every value that the field can have.
  template <typename E>
  ChoiceOption& AddChoice(std::string name, E* field,
                          std::vector<std::pair<std::string_view, E>> words, std::string help);
  // `allowed` as OptionRow::Allowed. An error of `read` gets the option's name in front.
  TextOption& AddText(std::string name, TextOption::Reader read, TextOption::Writer write,
                      std::string allowed, std::string help);
  SharedOption& AddShared(std::vector<OptionRow*> rows);

  [[nodiscard]] const std::vector<std::unique_ptr<OptionRow>>& rows() const { return rows_; }
  // Null if there is none of that name.
  [[nodiscard]] OptionRow* Find(std::string_view name) const;
  // Whether the option of that name was set. Requires that there is one.
  [[nodiscard]] bool given(std::string_view name) const { return Find(name)->given(); }
  // InvalidArgument: no such option (the nearest name is suggested), or as OptionRow::Set.
  [[nodiscard]] Status Set(std::string_view name, std::string_view text);
  // The first field that is not allowed. Errors as OptionRow::Set.
  [[nodiscard]] Status Validate() const;
  // InvalidArgument naming the first required option that was not given.
  [[nodiscard]] Status CheckRequired() const;
  // Internal naming an option that was added twice.
  [[nodiscard]] Status CheckNames() const;

  enum class Which { kAll, kAllRanks };
  // {Key(): ToJson()} of all rows, or of those that all ranks must agree on.
  [[nodiscard]] Json ToJson(Which which = Which::kAll) const;

 private:
  template <typename Row>
  Row& Keep(std::unique_ptr<Row> row) {
    Row& kept = *row;
    KeepRow(std::move(row));
    return kept;
  }
  void KeepRow(std::unique_ptr<OptionRow> row);

  std::string group_ = "Options";
  std::vector<std::unique_ptr<OptionRow>> rows_;
};

template <typename E>
ChoiceOption& OptionTable::AddChoice(std::string name, E* field,
                                     std::vector<std::pair<std::string_view, E>> words,
                                     std::string help) {
  std::vector<std::string> texts;
  for (const auto& [text, value] : words) texts.emplace_back(text);
  auto get = [field, words] {
    size_t found = 0;
    while (found + 1 < words.size() && words[found].second != *field) ++found;
    return found;
  };
  auto set = [field, words](size_t chosen) { *field = words[chosen].second; };
  return Keep(std::make_unique<ChoiceOption>(std::move(name), std::move(texts), std::move(get),
                                             std::move(set), std::move(help)));
}

}  // namespace halograph
