// What --help prints.
#include <algorithm>

#include "common/program/command.h"

namespace halograph {
namespace {

constexpr size_t kTextColumn = 30;
constexpr size_t kWidth = 100;

// `text` after `begin`, in lines of at most kWidth; those after the first begin at `column`.
void AppendText(std::string_view begin, size_t column, std::string_view text, std::string* help) {
  std::string line(begin);
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (!first && line.size() + 1 + end > kWidth) {
      *help += line + "\n";
      line.assign(column, ' ');
      first = true;
    }
    if (!first) line += ' ';
    line += text.substr(0, end);
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  *help += line + "\n";
}

// `text` from kTextColumn on, beside `left` or below it where that is too long.
void AppendEntry(const std::string& left, std::string_view text, std::string* help) {
  std::string line = "  " + left;
  if (line.size() + 2 > kTextColumn) {
    *help += line + "\n";
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  AppendText(line, kTextColumn, text, help);
}

// "threads for computation (0 to 1024; default: one a core)"
std::string Description(const OptionRow& row) {
  std::string notes = row.required() ? "required" : row.Allowed();
  if (row.required() && !row.Allowed().empty()) notes = row.Allowed() + "; required";
  if (const std::string text = row.default_text(); !text.empty()) {
    notes += (notes.empty() ? "default: " : "; default: ") + text;
  }
  return notes.empty() ? row.help() : row.help() + " (" + notes + ")";
}

void AppendRows(const OptionTable& options, std::string_view group, std::string* help) {
  for (const auto& row : options.rows()) {
    if (row->group() != group) continue;
    const std::string value = row->value_name();
    AppendEntry(value.empty() ? row->Flag() : row->Flag() + " " + value, Description(*row), help);
  }
}

// Headings in the order of their first rows, without the general one.
std::vector<std::string> GroupsOf(const OptionTable& options) {
  std::vector<std::string> groups;
  for (const auto& row : options.rows()) {
    const bool known = std::find(groups.begin(), groups.end(), row->group()) != groups.end();
    if (!known && row->group() != kGeneralGroup) groups.push_back(row->group());
  }
  return groups;
}

}  // namespace

std::string Command::Help() const {
  std::string help = "Usage: " + FullName() +
                     (commands_.empty() || action_ != nullptr ? "" : " COMMAND") + " [options]\n";
  AppendText("", 0, about_, &help);
  if (!commands_.empty()) help += "\nCommands (each has --help):\n";
  for (const auto& command : commands_) AppendEntry(command->name_, command->about_, &help);
  for (const std::string& group : GroupsOf(options_)) {
    help += "\n" + group + ":\n";
    AppendRows(options_, group, &help);
  }
  help += std::string("\n") + kGeneralGroup + ":\n";
  for (const Command* command = this; command != nullptr; command = command->above_) {
    AppendRows(command->options_, kGeneralGroup, &help);
  }
  AppendEntry("--help, -h", "this text", &help);
  AppendEntry("--version", "the version of this program", &help);
  return help;
}

}  // namespace halograph
