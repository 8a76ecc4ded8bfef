// SPDX-License-Identifier: MIT
#include "support/golden_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quarkq::test {

bool rebase_goldens = false;

void expect_golden(const std::string& path, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(QUARKQ_SOURCE_DIR) / "tests" / "golden" / path;
  if (rebase_goldens) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return;
  }
  std::ifstream stream(file);
  ASSERT_TRUE(stream) << path << " is not there; write it with --rebase and read what is in it";
  std::ostringstream recorded;
  recorded << stream.rdbuf();
  EXPECT_EQ(text, recorded.str()) << "tests/golden/" << path << "; when the change is meant: --rebase";
}

}  // namespace quarkq::test
