// SPDX-License-Identifier: MIT
// What the tests of simplify_model share.
#pragma once

#include <string>

#include "rewrite/simplify/simplify.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {

/// Runs the pass, which must change something and keep the function, and tells the operators left.
inline std::string simplified(const std::string& body, int opset = 17) {
  test::PassBench bench(body, opset);
  test::expect_fires(bench, simplify_model);
  return bench.ops();
}

}  // namespace quarkq::pass_tests
