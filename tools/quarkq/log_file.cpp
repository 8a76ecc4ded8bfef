// SPDX-License-Identifier: MIT
#include "log_file.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <array>
#include <memory>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/platform/native_path.h"
#include "base/strings.h"

namespace quarkq::tool {
namespace {

constexpr size_t kMostBytes = size_t{10} << 20, kOldFiles = 3;
/// Level of spdlog for each LogLevel.
constexpr std::array kLevels = {spdlog::level::err, spdlog::level::warn, spdlog::level::info, spdlog::level::info};

struct Log {
  std::unique_ptr<spdlog::logger> logger;  ///< null: no log is kept
  std::string phase = "start";
};

Log& run_log() {
  static Log log;
  return log;
}

void write(spdlog::level::level_enum level, const std::string& text) {
  const Log& log = run_log();
  if (log.logger != nullptr) log.logger->log(level, spdlog::string_view_t(cat("[", log.phase, "] ", text)));
}

}  // namespace

Status open_log(const std::string& path) {
  const std::string folder = paths::folder_of(path);
  if (!folder.empty() && !is_folder(folder))
    return io_error("--log-file ", path, ": cannot be written, there is no folder ", folder);
  try {
    auto sink =
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(platform::native(path).native(), kMostBytes, kOldFiles);
    auto logger = std::make_unique<spdlog::logger>("quarkq", std::move(sink));
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z [%l] [thread %t] %v");
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string&) {});
    run_log().logger = std::move(logger);
  } catch (const spdlog::spdlog_ex& error) {
    return io_error("--log-file ", path, ": cannot be written, ", error.what());
  }
  return Status();
}

void log_phase(const std::string& phase) {
  if (run_log().phase == phase) return;
  run_log().phase = phase;
  write(spdlog::level::info, "begins");
}

void log_line(LogLevel level, const std::string& text) { write(kLevels[static_cast<size_t>(level)], text); }

}  // namespace quarkq::tool
