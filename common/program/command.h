// A program's commands and what is written after its name: `halograph-partition run --parts 2`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/program/options.h"

namespace halograph {

// Heading in --help of the options that all commands of a program have; it comes last.
inline constexpr char kGeneralGroup[] = "General";

// A program, or one of its commands. It runs by itself, or has commands, of which one must be
// given, or both: it then runs by itself where the first word is no command. Not thread-safe.
class Command {
 public:
  Command(std::string name, std::string about);

  // A command of this one. Lives as long as this.
  Command& Add(std::string name, std::string about);
  // Its own options. Those of a program may also follow its commands.
  [[nodiscard]] OptionTable& options() { return options_; }
  [[nodiscard]] const OptionTable& options() const { return options_; }
  // Runs before the words after the program's name are read, of the program only: for rows that
  // depend on other options (ValueAmong), and for values that words replace. An error is wrong
  // usage unless --help or --version is asked for.
  void BeforeReading(std::function<Status(std::span<const char* const> words)> prepare) {
    prepares_.push_back(std::move(prepare));
  }
  // What only several options together make wrong, or derive from others. Runs after all words were
  // read, the program's first, in the order added; an error is wrong usage.
  void Check(std::function<Status()> check) { checks_.push_back(std::move(check)); }
  // What the command does.
  void Run(std::function<Status()> action) { action_ = std::move(action); }
  // What it prints on stdout is its work, not a word about it: where that is lost, it failed.
  void PrintsItsWork() { prints_its_work_ = true; }

  [[nodiscard]] const std::string& name() const { return name_; }
  // With those above it: "halograph-partition generate rmat".
  [[nodiscard]] std::string FullName() const;
  // What --help prints: usage, commands, options by group with what they allow and their defaults.
  [[nodiscard]] std::string Help() const;

 private:
  friend class CommandReader;
  friend class Program;
  const std::string name_;
  const std::string about_;
  const Command* above_ = nullptr;
  std::vector<std::unique_ptr<Command>> commands_;
  OptionTable options_;
  std::vector<std::function<Status(std::span<const char* const>)>> prepares_;
  std::vector<std::function<Status()>> checks_;
  std::function<Status()> action_;
  bool prints_its_work_ = false;
};

// The value of the last `--name VALUE` or `--name=VALUE` among the words; nullopt without one.
// Knows no rows. `name` is without dashes.
[[nodiscard]] std::optional<std::string> ValueAmong(std::span<const char* const> words,
                                                    std::string_view name);

// Whether `--name` is among the words, with a value or without. Knows no rows either.
[[nodiscard]] bool IsAmong(std::span<const char* const> words, std::string_view name);

// What the words came to.
struct ReadWords {
  const Command* command = nullptr;  // the one that was given, or the program; never null
  bool help = false;                 // --help or -h
  bool version = false;              // --version
  Status status;                     // OK with help or version
};

// Reads the words after the program's name into the fields of the rows. An option's value is the
// next word or follows a sign of equality; a list takes words separated by commas, and further
// words up to the next option; a flag takes a value only after a sign of equality (--quiet=false).
// An option given twice has its last value.
//   InvalidArgument, in one line: an unknown option or command (with the nearest name), a word too
//   many, a value missing, empty or not allowed, or a required option missing
//   Internal         a command has two rows of one name
//   else             what a check says
[[nodiscard]] ReadWords ReadCommandLine(Command& program, std::span<const char* const> words);

}  // namespace halograph
