// SPDX-License-Identifier: MIT
// The listings about targets of `check --target`. `name`: a built-in target or a target file.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/print.h"

namespace quarkq::tool {

Result<std::vector<config::TextRow>> list_targets(const std::string& unused);
Result<std::vector<config::TextRow>> list_target_ops(const std::string& name);
Result<std::vector<config::TextRow>> list_target_rules(const std::string& name);
Result<std::vector<config::TextRow>> list_target_options(const std::string& name);
Result<std::vector<config::TextRow>> list_target_settings(const std::string& name);
Result<std::vector<config::TextRow>> list_remedies(const std::string& unused);

}  // namespace quarkq::tool
