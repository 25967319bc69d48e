// Runs halograph-train as a process of the test.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace halograph {

struct Finished {
  int exit_code = -1;  // -signal if a signal ended it
  std::string out;
  std::string err;
};

// A started trainer, with its output in files of `folder`. Killed and reaped when dropped.
class Trainer {
 public:
  Trainer(const std::string& folder, const std::vector<std::string>& arguments);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void Signal(int signal) const;
  // Waits for its end.
  Finished Wait();

 private:
  std::string out_path_;
  std::string err_path_;
  pid_t pid_ = -1;
};

}  // namespace halograph
