#include "common/base/log.h"

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "common/base/printable.h"

namespace halograph {
namespace {

constexpr std::array<std::pair<std::string_view, spdlog::level::level_enum>, 6> kLevels = {{
    {"trace", spdlog::level::trace},
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warning", spdlog::level::warn},
    {"error", spdlog::level::err},
    {"off", spdlog::level::off},
}};

// A program's name as it may stand in a pattern, where % starts a flag.
std::string EscapePattern(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

// The message, as it may go to a terminal: it may hold text of others.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = PrintableLines({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

}  // namespace

Status InitLog(std::string_view program, std::string_view level) {
  for (const auto& [name, value] : kLevels) {
    if (name != level) continue;
    try {
      auto logger = std::make_shared<spdlog::logger>(
          std::string(program), std::make_shared<spdlog::sinks::stderr_sink_mt>());
      auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
      formatter->add_flag<PrintableMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l " +
                                                             EscapePattern(program) + ": %*");
      logger->set_formatter(std::move(formatter));
      logger->set_level(value);
      spdlog::set_default_logger(std::move(logger));
    } catch (const std::exception& error) {
      return Internal("the log cannot be set up: {}", error.what());
    }
    return OkStatus();
  }
  return InvalidArgument(
      "log level '{}' is none of trace, debug, info, warning, error, off: choose one of these",
      level);
}

}  // namespace halograph
