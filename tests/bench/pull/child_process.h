// A child process that prints "listening on HOST:PORT" when it serves; ended with the object, and
// by the kernel should this process die first. Start children before any thread.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace halograph {

class ChildProcess {
 public:
  // Starts `command` (program and arguments) and waits for its line; an empty address if the
  // child ended without one.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // What the child has computed so far, in all its threads.
  [[nodiscard]] double CpuSeconds() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string address_;
};

}  // namespace halograph
