// SPDX-License-Identifier: MIT
// What to say of a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::tool {

/// "usage: quarkq quantize [OPTION]... --config CONFIG MODEL": required options and positionals.
std::string usage_line(const CLI::App& part);

/// How --help is written. Verbs that are added later have it, too.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// The verb, or its action, that `arguments` (without the program's name) name; `app` when they name none.
const CLI::App& part_of(const CLI::App& app, const std::vector<std::string>& arguments);

/// kInvalidArgument for the first option that `part` and what it belongs to do not have, with the nearest one; ok when
/// all are known. A misspelt option must not show as another one that is missing.
Status check_options_known(const CLI::App& part, const std::vector<std::string>& arguments);

/// Fails with kInvalidArgument if an option that takes a number, a time, a size or a goal was given an empty text or
/// NaN: the parser would take them for "not given", and a gate would be off without a word.
Status check_values(const CLI::App& part);

}  // namespace quarkq::tool
