// SPDX-License-Identifier: MIT
// Zip archives that are as they should be, and archives with false headers.
#include "calib/reader/archives.h"

#include <gtest/gtest.h>

#include "unit/calib/file_bytes.h"

namespace quarkq::calib {
namespace {

using test::deflated;
using test::number;
using test::stored;
using test::zip_bytes;
using test::ZipPart;

Result<ZipFile> parse_zip(const std::string& bytes) {
  return ZipFile::parse(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "t.npz");
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Why the archive, or else its first entry, cannot be read.
std::string refusal(const std::string& bytes) {
  const Result<ZipFile> zip = parse_zip(bytes);
  if (!zip.ok()) {
    EXPECT_EQ(zip.status().code(), Code::kBadData);
    return zip.status().message();
  }
  EXPECT_FALSE(zip.value().entries().empty());
  if (zip.value().entries().empty()) return {};
  const auto data = zip.value().read(zip.value().entries()[0]);
  EXPECT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), Code::kBadData);
  return data.status().message();
}

TEST(ZipFileTest, ReadsStoredDeflatedAndZip64Entries) {
  ZipPart large = stored("c", "zip64");
  large.is_64 = true;
  const std::string long_text(200000, 'x');
  const std::string bytes =
      zip_bytes({stored("a.npy", "first"), deflated("b", long_text), large, stored("empty", ""), deflated("none", "")});
  const Result<ZipFile> zip = parse_zip(bytes);
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  ASSERT_EQ(zip.value().entries().size(), 5u);
  const std::vector<std::string> wanted = {"first", long_text, "zip64", "", ""};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto data = zip.value().read(zip.value().entries()[i]);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ(text_of(data.value()), wanted[i]);
  }
  EXPECT_EQ(zip.value().entries()[2].name, "c");
  EXPECT_EQ(text_of(zip.value().read_start(zip.value().entries()[1], 3).value()), "xxx");
}

TEST(ZipFileTest, InflatesWhatZlibPacked) {
  // zlib's raw deflate of 300 times 'q'.
  const std::string packed("\x2B\x2C\x1C\x05\xC4\x02\x00", 7);
  ZipPart part{"a", packed, 8, 0, test::crc_of(std::string(300, 'q')), 300, false};
  const std::string bytes = zip_bytes({part});
  const Result<ZipFile> zip = parse_zip(bytes);
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  const auto data = zip.value().read(zip.value().entries()[0]);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(text_of(data.value()), std::string(300, 'q'));
}

TEST(ZipFileTest, SkipsFoldersAndFindsTheEndBeforeAComment) {
  const std::string bytes = zip_bytes({stored("folder/", ""), stored("folder/a", "x")}, -1, "a comment PK\5\6");
  const Result<ZipFile> zip = parse_zip(bytes);
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  ASSERT_EQ(zip.value().entries().size(), 1u);
  EXPECT_EQ(zip.value().entries()[0].name, "folder/a");
}

struct BadArchive {
  const char* what;
  std::string bytes, message;
};

/// The archive of one stored entry, spoiled.
std::string spoiled(void (*spoil)(ZipPart&)) {
  ZipPart part = stored("a.npy", "some data");
  spoil(part);
  return zip_bytes({part});
}

/// `count` bytes at `at` counted from the end of the archive of one entry replaced.
std::string with_end(size_t from_end, const std::string& by) {
  std::string bytes = zip_bytes({stored("a.npy", "some data")});
  return bytes.replace(bytes.size() - from_end, by.size(), by);
}

std::vector<BadArchive> bad_archives() {
  const std::string good = zip_bytes({stored("a.npy", "some data")});
  return {
      {"empty", "", "not a zip archive"},
      {"text", "this is text and no zip archive at all", "not a zip archive"},
      {"truncated", good.substr(0, good.size() - 1), "not a zip archive, or a truncated one"},
      {"without its first half", good.substr(good.size() / 2), "outside the file"},
      {"directory beyond the end", with_end(6, number(0xFFFFFF, 4)), "outside the file"},
      {"directory longer than the file", with_end(10, number(0xFFFFFFF0, 4)), "outside the file"},
      {"directory at a wrong place", with_end(6, number(1, 4)), "is none"},
      {"more entries than bytes", zip_bytes({stored("a", "x")}, 60000), "60000 entries"},
      {"one entry too many", zip_bytes({stored("a", std::string(50, 'x'))}, 2), "entries in a directory"},
      {"several disks", with_end(18, number(1, 2)), "several parts"},
      {"wrong checksum", spoiled([](ZipPart& part) { part.crc ^= 1; }), "checksum"},
      {"encrypted", spoiled([](ZipPart& part) { part.flags = 1; }), "encrypted"},
      {"bzip2", spoiled([](ZipPart& part) { part.method = 12; }), "compression method 12, supported are 0"},
      {"stored with another size", spoiled([](ZipPart& part) { part.bytes = 8; }), "it claims 8"},
      {"no deflate stream", spoiled([](ZipPart& part) { part.method = 8; }), "does not inflate"},
      {"no name", spoiled([](ZipPart& part) { part.name = ""; }), "name of entry 0"},
      {"control character in the name", spoiled([](ZipPart& part) { part.name = "a\nb"; }), "name of entry 0"},
      {"the same name twice", zip_bytes({stored("a", "x"), stored("a", "y")}), "name of entry 1"},
      {"zip64 field cut off",
       [&] {
         std::string bytes = good;
         const size_t directory = bytes.find("PK\1\2");
         return bytes.replace(directory + 20, 4,
                              number(0xFFFFFFFF, 4));  // packed size claimed to be in a missing field
       }(),
       "the file ends before"},
  };
}

TEST(ZipFileTest, BadArchivesAreNamedWithTheirCause) {
  for (const BadArchive& row : bad_archives()) {
    const std::string message = refusal(row.bytes);
    EXPECT_TRUE(message.starts_with("t.npz: ")) << row.what << ": " << message;
    EXPECT_NE(message.find(row.message), std::string::npos) << row.what << ": " << message;
  }
}

TEST(ZipFileTest, InflatedSizeMustBeTheClaimedOne) {
  for (const uint64_t claimed : {uint64_t{0}, uint64_t{8}, uint64_t{10}, uint64_t{1000000}}) {
    ZipPart part = deflated("a", "some data");
    part.bytes = claimed;
    const std::string message = refusal(zip_bytes({part}));
    EXPECT_TRUE(message.starts_with("t.npz: entry a: ")) << message;
  }
}

TEST(ZipFileTest, BombsAreRefusedBeforeAnythingIsAllocated) {
  for (const uint64_t claimed : {uint64_t{1} << 27, uint64_t{1} << 40, ~uint64_t{0}}) {
    ZipPart part = deflated("a", "some data");
    part.bytes = claimed;
    part.is_64 = true;
    EXPECT_NE(refusal(zip_bytes({part})).find("allowed is 1000 times as much"), std::string::npos);
  }
}

/// The archive with its directory named by a zip64 end alone: `shift` moves where the locator looks for that.
std::string with_end_64(const std::vector<ZipPart>& parts, int64_t shift = 0, uint64_t entries = 0) {
  std::string bytes = zip_bytes(parts);
  const std::string end = bytes.substr(bytes.size() - 22);
  bytes.resize(bytes.size() - 22);
  const auto place = [&](size_t at) {
    uint64_t value = 0;
    for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(end[at + i]);
    return value;
  };
  const uint64_t at = bytes.size(), count = entries == 0 ? parts.size() : entries;
  bytes += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(count, 8) +
           number(count, 8) + number(place(12), 8) + number(place(16), 8);
  bytes += "PK\6\7" + number(0, 4) + number(at + static_cast<uint64_t>(shift), 8) + number(1, 4);
  return bytes + "PK\5\6" + number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4) +
         number(0xFFFFFFFF, 4) + number(0, 2);
}

TEST(ZipFileTest, TheZip64EndTellsWhatTheOldOneCannot) {
  const std::vector<ZipPart> parts = {stored("a.npy", "some data"), deflated("b", "more data")};
  const std::string bytes = with_end_64(parts);  // the archive reads from it
  const Result<ZipFile> zip = parse_zip(bytes);
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  ASSERT_EQ(zip.value().entries().size(), 2u);
  EXPECT_EQ(text_of(zip.value().read(zip.value().entries()[1]).value()), "more data");
  EXPECT_NE(refusal(with_end_64(parts, 1)).find("the zip64 end is missing at the position it specifies"),
            std::string::npos);
  EXPECT_NE(refusal(with_end_64(parts, 100)).find("its zip64 end is outside the file"), std::string::npos);
  EXPECT_NE(refusal(with_end_64(parts, INT64_MIN)).find("its zip64 end is outside the file"), std::string::npos);
  EXPECT_NE(refusal(with_end_64(parts, 0, uint64_t{1} << 60)).find("entries in a directory of"), std::string::npos);
}

TEST(ZipFileTest, EveryTruncationAndEveryFlippedByteEndsWithoutACrash) {
  ZipPart large = deflated("b", "more data");
  large.is_64 = true;
  const std::string good = zip_bytes({stored("a.npy", "some data"), large});
  auto read_all = [](const std::string& bytes) {
    const Result<ZipFile> zip = parse_zip(bytes);
    if (!zip.ok()) return;
    for (const ZipEntry& entry : zip.value().entries()) {
      if (entry.bytes < 1000000) (void)zip.value().read(entry).ok();
    }
  };
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parse_zip(good.substr(0, i)).ok()) << i;
    for (const char by : {'\0', '\xFF', '\x80', '\1'}) {
      std::string bytes = good;
      bytes[i] = by;
      read_all(bytes);
    }
  }
}

}  // namespace
}  // namespace quarkq::calib
