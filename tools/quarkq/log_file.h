// SPDX-License-Identifier: MIT
// --log-file: messages of a run with time, level, phase and thread, for pipelines that keep logs. The output on stderr
// does not change.
#pragma once

#include <string>

#include "base/error.h"

namespace quarkq::tool {

enum class LogLevel;  // output.h

/// Opens the file for lines that follow; existing ones stay. A file of 10 MB becomes FILE.1 and so on (FILE "run.log":
/// "run.1.log"), and three old ones are kept. kIo if the file cannot be written.
Status open_log(const std::string& path);

/// Sets the phase of the lines that follow.
void log_phase(const std::string& phase);

/// Adds a line, regardless of --log-level. Does nothing without --log-file. A line that cannot be written
/// is lost: a log never ends a run.
void log_line(LogLevel level, const std::string& text);

}  // namespace quarkq::tool
