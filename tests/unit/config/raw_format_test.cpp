// SPDX-License-Identifier: MIT
// The keys of the block "calibration" that say how samples are read.
#include "config/sample_settings.h"

#include "config/print.h"
#include "config_support.h"

namespace quarkq::config {
namespace {

std::string with_calibration(const std::string& block) { return "preset: XINT8\ncalibration: " + block + "\n"; }

TEST(RawFormatTest, OneFormatOrOneByInput) {
  const Result<QuantConfig> one = config_from(with_calibration("{raw: {dtype: float16, shape: [1, 3, 8]}}"));
  ASSERT_TRUE(one.ok()) << one.status().message();
  const auto formats = read_raw_formats(one.value().calibration.raw).value();
  ASSERT_EQ(formats.size(), 1u);
  EXPECT_EQ(formats.at("").type, ElementType::kFloat16);
  EXPECT_EQ(formats.at("").dims, (std::vector<int64_t>{1, 3, 8}));
  const Result<QuantConfig> two =
      config_from(with_calibration("{raw: {a: {dtype: uint8, shape: []}, dtype: {dtype: bool, shape: [2]}}}"));
  ASSERT_TRUE(two.ok()) << two.status().message();
  const auto by_input = read_raw_formats(two.value().calibration.raw).value();
  EXPECT_EQ(by_input.at("a").type, ElementType::kUInt8);
  EXPECT_EQ(by_input.at("dtype").dims, std::vector<int64_t>{2});
  EXPECT_TRUE(read_raw_formats(Node()).value().empty());
}

TEST(RawFormatTest, RefusalsNameKeyFoundAndAllowed) {
  const struct {
    const char *block, *message;
  } rows[] = {
      {"{raw: 5}", "calibration.raw"},
      {"{raw: {dtype: float31, shape: [1]}}",
       "calibration.raw.dtype: found float31, did you mean float32?, allowed is"},
      {"{raw: {dtype: float32}}", "calibration.raw: found no shape"},
      {"{raw: {shape: [1]}}", "calibration.raw: found no dtype"},
      {"{raw: {dtype: float32, shape: 5}}", "calibration.raw.shape"},
      {"{raw: {dtype: float32, shape: [1, 0]}}", "calibration.raw.shape: found 0, allowed is 1 to 2^40"},
      {"{raw: {dtype: float32, shape: [-1]}}", "found -1"},
      {"{raw: {dtype: float32, shape: [1.5]}}", "calibration.raw.shape"},
      {"{raw: {dtype: float32, shape: [1], order: C}}", "order"},
      {"{raw: {x: {dtype: float32}}}", "calibration.raw.x: found no shape"},
      {"{reader: numpy}", "calibration.reader: found numpy, allowed is npy or npz or pb or raw or image"},
      {"{allow_non_finite: perhaps}", "calibration.allow_non_finite"},
      {"{lists: a.txt}", "did you mean list?"},
  };
  for (const auto& row : rows) {
    const Result<QuantConfig> config = config_from(with_calibration(row.block));
    ASSERT_FALSE(config.ok()) << row.block;
    EXPECT_EQ(config.status().code(), Code::kInvalidArgument);
    EXPECT_NE(config.status().message().find(row.message), std::string::npos) << config.status().message();
  }
}

TEST(RawFormatTest, EveryKeyComesBackFromItsText) {
  const std::string block = "{list: l.txt, reader: raw, allow_non_finite: true, raw: {x: {dtype: int8, shape: [4]}}}";
  const QuantConfig config = config_from(with_calibration(block)).value();
  EXPECT_EQ(config.calibration.list, "l.txt");
  EXPECT_EQ(config.calibration.reader, "raw");
  EXPECT_EQ(config.calibration.allow_non_finite, true);
  const QuantConfig again = config_from(to_yaml(config)).value();
  EXPECT_EQ(to_node(again), to_node(config));
  EXPECT_NE(to_yaml(config).find("allow_non_finite: true"), std::string::npos);
  EXPECT_EQ(again.calibration.raw, config.calibration.raw);
}

}  // namespace
}  // namespace quarkq::config
