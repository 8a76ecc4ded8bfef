// SPDX-License-Identifier: MIT
// Recorded results of the reference, which a public clone does not have: it proves agreement with those of our own
// models (tests/reference/own). Where the folder is there, a record that is missing is a failure, not a reason to skip.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

namespace quarkq::test {

inline bool has_records() { return std::filesystem::is_directory(QUARKQ_SHARED_DIR "/golden"); }

}  // namespace quarkq::test

/// Skips the test without the folder; fails it with the folder but without the record. Calls no cleanup.
#define QQ_NEED_RECORD(is_there)                                                                           \
  do {                                                                                                     \
    if (!::quarkq::test::has_records()) GTEST_SKIP() << "no records of the reference: " QUARKQ_SHARED_DIR; \
    ASSERT_TRUE(is_there) << "a record is missing below " QUARKQ_SHARED_DIR;                               \
  } while (false)
