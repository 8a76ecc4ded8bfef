// SPDX-License-Identifier: MIT
// Text files below tests/golden that a test compares with; `quarkq_tests --rebase` rewrites them.
#pragma once

#include <string>

namespace quarkq::test {

/// Set by main() from the command line.
extern bool rebase_goldens;

/// Fails when tests/golden/<path> is not `text`, and says how to write it.
void expect_golden(const std::string& path, const std::string& text);

}  // namespace quarkq::test
