// What --config names: a file of options, or the log of a run, which is then repeated. Knows no
// libtorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/program/config_file.h"

namespace halograph {

class RunConfig {
 public:
  // Without a file.
  RunConfig() = default;
  // A file that begins with {"config": is a log (trainer/output/LOG.md), of which only the first
  // line is read; any other is YAML (common/program/config_file.h). A file is read by both programs
  // in turn (trainer/launch/start.h), so a pipe will not do.
  //   FailedPrecondition  not a file, such as a pipe
  //   else                as ConfigFile::Read
  [[nodiscard]] static StatusOr<RunConfig> Read(const std::string& path);

  // The value of --model, if the file has it.
  [[nodiscard]] std::optional<std::string> model() const { return file_.Find("model"); }
  [[nodiscard]] std::vector<std::string> names() const { return file_.Names(); }
  // The error with the place of the option in front. Errors as ConfigFile::Annotated.
  [[nodiscard]] Status Annotated(std::string_view option, const Status& status) const {
    return file_.Annotated(option, status);
  }
  // Sets the rows. Of a log: all that made the run what it was, but not where its ranks stood and
  // what they wrote (docs/runs.md has the list), and no option counts as given. Errors as
  // ConfigFile::Apply. Options with one of the marks `left_aside` stay as they are.
  [[nodiscard]] Status Apply(OptionTable& rows, OptionMarks left_aside = 0) const;

  // How many ranks the run of a log had; nullopt where the file is no log.
  [[nodiscard]] std::optional<int64_t> logged_world_size() const;

 private:
  ConfigFile file_;
  bool log_ = false;
};

}  // namespace halograph
