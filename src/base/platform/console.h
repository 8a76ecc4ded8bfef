// SPDX-License-Identifier: MIT
// The standard streams and the terminal.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace quarkq::platform {

/// Returns the arguments of the program in UTF-8, without its name.
std::vector<std::string> utf8_arguments(int count, char** arguments);

/// Prepares the standard streams: opens those that are closed on the null device, so that a result file does not get
/// their descriptor and receive messages. Writing to a standard output that was closed still fails. Lets a console show
/// UTF-8, colours and redrawn lines.
void prepare_streams();

bool is_terminal(std::FILE* stream);
/// Returns the columns of the terminal that `stream` writes to; nullopt if they are not known.
std::optional<size_t> terminal_columns(std::FILE* stream);

/// Writes to standard error without buffering. Async-signal-safe.
void write_error(const char* text);

}  // namespace quarkq::platform
