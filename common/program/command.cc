#include "common/program/command.h"

#include <algorithm>
#include <cctype>

namespace halograph {
namespace {

bool IsLongOption(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

// -a, -a0.5; not -1 or -.5.
bool IsShortOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

// An option as it stands in a word, with its value where that has one.
struct OptionWord {
  std::string name;
  std::optional<std::string> value;
};

OptionWord Split(std::string_view word) {
  if (!IsLongOption(word)) {
    std::string_view rest = word.substr(2);
    OptionWord option{std::string(1, word[1]), std::nullopt};
    if (rest.starts_with('=')) rest.remove_prefix(1);
    if (word.size() > 2) option.value = rest;
    return option;
  }
  const size_t equals = word.find('=');
  OptionWord option{std::string(word.substr(2, equals - 2)), std::nullopt};
  if (equals == std::string_view::npos) {
    option.name = word.substr(2);
  } else {
    option.value = word.substr(equals + 1);
  }
  return option;
}

}  // namespace

class CommandReader {
 public:
  CommandReader(Command& program, std::span<const char* const> words)
      : given_(words), words_(words.begin(), words.end()), path_{&program} {}

  ReadWords Read() {
    const Status prepared = Prepare();
    ReadWords result;
    result.status = ReadAll();
    // What a wrong model lacks, say, are options that other models have: its name is what is wrong.
    if (!prepared.ok() && !help_ && !version_) result.status = prepared;
    result.command = path_.back();
    result.help = help_;
    result.version = version_;
    return result;
  }

 private:
  Status Prepare() {
    for (const auto& prepare : path_.front()->prepares_) HG_RETURN_IF_ERROR(prepare(given_));
    return OkStatus();
  }

  Status ReadAll() {
    HG_RETURN_IF_ERROR(CheckNames(*path_.front()));
    while (next_ < words_.size() && !help_ && !version_) {
      const std::string_view word = words_[next_++];
      const bool option = IsLongOption(word) || IsShortOption(word);
      HG_RETURN_IF_ERROR(option ? ReadOption(word) : ReadCommand(word));
    }
    return help_ || version_ ? OkStatus() : Finish();
  }

  static Status CheckNames(const Command& command) {
    HG_RETURN_IF_ERROR(Annotate(command.options_.CheckNames(), command.FullName()));
    for (const auto& below : command.commands_) HG_RETURN_IF_ERROR(CheckNames(*below));
    return OkStatus();
  }

  Status ReadOption(std::string_view word) {
    const OptionWord option = Split(word);
    help_ = option.name == "help" || option.name == "h";
    version_ = option.name == "version";
    if (help_ || version_) return OkStatus();
    OptionRow* const row = Find(option.name);
    if (row == nullptr) return Unknown(option.name, word);
    if (option.value.has_value()) return row->Set(*option.value);
    if (row->is_flag()) return row->Set("true");
    if (next_ == words_.size() || IsLongOption(words_[next_])) {
      return InvalidArgument("{} has no value: give {} {}", row->Flag(), row->Flag(),
                             row->value_name());
    }
    std::string value(words_[next_++]);
    while (row->is_list() && next_ < words_.size() && !IsLongOption(words_[next_]) &&
           !IsShortOption(words_[next_])) {
      value.append(",").append(words_[next_++]);
    }
    return row->Set(value);
  }

  // Of the command or those above it.
  OptionRow* Find(std::string_view name) const {
    for (auto command = path_.rbegin(); command != path_.rend(); ++command) {
      if (OptionRow* const row = (*command)->options_.Find(name); row != nullptr) return row;
    }
    return nullptr;
  }

  Status Unknown(const std::string& name, std::string_view word) const {
    std::vector<std::string> names = {"help", "version"};
    for (const Command* command : path_) {
      for (const auto& row : command->options_.rows()) {
        if (row->name().size() > 1) names.push_back(row->name());
      }
    }
    const std::string nearest = IsLongOption(word) ? NearestName(name, names) : "";
    return InvalidArgument("unknown option {}{}{}{}", word.substr(0, word.find('=')),
                           nearest.empty() ? "" : "; did you mean --", nearest,
                           nearest.empty() ? "" : "?");
  }

  Status ReadCommand(std::string_view word) {
    std::vector<std::string> names;
    const bool alone = path_.back()->action_ != nullptr;
    for (const auto& command : path_.back()->commands_) {
      if (command->name() == word && (!alone || next_ == 1)) {
        path_.push_back(command.get());
        return OkStatus();
      }
      names.push_back(command->name());
    }
    if (names.empty()) {
      return InvalidArgument("unexpected word '{}': options start with --", word);
    }
    if (alone) {
      return InvalidArgument("unexpected word '{}': options start with --, and {} may come first",
                             word, OrList(names));
    }
    const std::string nearest = NearestName(word, names);
    return InvalidArgument("unknown command '{}', expected {}{}{}{}", word, OrList(names),
                           nearest.empty() ? "" : "; did you mean ", nearest,
                           nearest.empty() ? "" : "?");
  }

  Status Finish() const {
    if (!path_.back()->commands_.empty() && path_.back()->action_ == nullptr) {
      std::vector<std::string> names;
      for (const auto& command : path_.back()->commands_) names.push_back(command->name());
      return InvalidArgument("no command is given, expected {}", OrList(names));
    }
    for (const Command* command : path_) HG_RETURN_IF_ERROR(command->options_.CheckRequired());
    for (const Command* command : path_) {
      for (const auto& check : command->checks_) HG_RETURN_IF_ERROR(check());
    }
    return OkStatus();
  }

  const std::span<const char* const> given_;
  const std::vector<std::string_view> words_;
  size_t next_ = 0;
  std::vector<Command*> path_;  // from the program to the command that was given
  bool help_ = false;
  bool version_ = false;
};

Command::Command(std::string name, std::string about)
    : name_(std::move(name)), about_(std::move(about)) {}

Command& Command::Add(std::string name, std::string about) {
  commands_.push_back(std::make_unique<Command>(std::move(name), std::move(about)));
  commands_.back()->above_ = this;
  return *commands_.back();
}

std::string Command::FullName() const {
  return above_ == nullptr ? name_ : above_->FullName() + " " + name_;
}

std::optional<std::string> ValueAmong(std::span<const char* const> words, std::string_view name) {
  std::optional<std::string> value;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsLongOption(words[i])) continue;
    const OptionWord option = Split(words[i]);
    if (option.name != name) continue;
    if (option.value.has_value()) value = option.value;
    if (!option.value.has_value() && i + 1 < words.size()) value = words[i + 1];
  }
  return value;
}

bool IsAmong(std::span<const char* const> words, std::string_view name) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return IsLongOption(word) && Split(word).name == name;
  });
}

ReadWords ReadCommandLine(Command& program, std::span<const char* const> words) {
  return CommandReader(program, words).Read();
}

}  // namespace halograph
