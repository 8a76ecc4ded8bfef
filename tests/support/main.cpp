// SPDX-License-Identifier: MIT
// quarkq_tests [--rebase] [options of GoogleTest]: --rebase writes the text files that tests compare with.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "support/golden_text.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rebase") != 0) {
      std::fprintf(stderr, "%s is no option of these tests\n", argv[i]);
      return 2;
    }
    quarkq::test::rebase_goldens = true;
  }
  return RUN_ALL_TESTS();
}
