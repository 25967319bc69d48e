// What a program says, for a test that looks at it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

namespace halograph {

// What is logged while this lives. Nothing else may log when it begins and ends: stores with
// replicas, which have a thread that logs, live within.
class CapturedLog {
 public:
  CapturedLog() { spdlog::set_default_logger(logger_); }
  ~CapturedLog() { End(); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string End() {
    spdlog::set_default_logger(previous_);
    return sink_->Text();
  }
  // Whether it was logged so far.
  [[nodiscard]] bool Has(const std::string& text) const {
    return sink_->Text().find(text) != std::string::npos;
  }

 private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string Text() {
      const std::lock_guard lock(mutex_);
      return text_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      text_.append(message.payload.data(), message.payload.size()).append("\n");
    }
    void flush_() override {}

    std::string text_;
  };

  const std::shared_ptr<spdlog::logger> previous_ = spdlog::default_logger();
  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
  const std::shared_ptr<spdlog::logger> logger_ = std::make_shared<spdlog::logger>("test", sink_);
};

}  // namespace halograph
