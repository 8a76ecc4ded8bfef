// SPDX-License-Identifier: MIT
// The block "preprocess:": every key read, defaults, and what is refused with which words.
#include "config/preprocess.h"

#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

Result<Preprocess> read_block(const std::string& yaml) {
  QQ_TRY(const Node node, parse_text(yaml, "t.yaml"));
  return read_preprocess(node);
}

Preprocess block(const std::string& yaml) {
  const Result<Preprocess> read = read_block(yaml);
  EXPECT_TRUE(read.ok()) << yaml << "\n" << read.status().message();
  return read.ok() ? read.value() : Preprocess{};
}

TEST(PreprocessTest, NothingMeansDefaults) {
  for (const char* yaml : {"", "{}", "{color: null, resize: null, crop: null, mean: null, layout: null}"}) {
    const Preprocess none = block(yaml);
    EXPECT_EQ(none.color, ColorOrder::kRgb);
    EXPECT_FALSE(none.resize || none.crop || none.layout);
    EXPECT_EQ(none.scale, 1.0);
    EXPECT_TRUE(none.mean.empty() && none.std.empty());
    EXPECT_EQ(none.batch, 1);
  }
  const Preprocess stretch = block("resize: {}");
  ASSERT_TRUE(stretch.resize);
  EXPECT_EQ(stretch.resize->mode, ResizeMode::kStretch);
  EXPECT_EQ(stretch.resize->interpolation, Interpolation::kBilinear);
  EXPECT_TRUE(stretch.resize->antialias);
  EXPECT_FALSE(stretch.resize->height || stretch.resize->width);
  EXPECT_EQ(stretch.resize->fill, std::vector<double>{114});
}

TEST(PreprocessTest, ReadsEveryKey) {
  const Preprocess all = block(R"(
color: BGRA
resize: {mode: letterbox, size: [240, 320], interpolation: bicubic, antialias: false, fill: [1, 2, 3, 255]}
crop: [200, 300]
scale: 1/255
mean: [0.5, 1/4, 0, 3/-4]
std: 2
layout: NHWC
batch: 8
)");
  EXPECT_EQ(all.color, ColorOrder::kBgra);
  EXPECT_EQ(all.resize->mode, ResizeMode::kLetterbox);
  EXPECT_EQ(all.resize->height, 240);
  EXPECT_EQ(all.resize->width, 320);
  EXPECT_EQ(all.resize->interpolation, Interpolation::kBicubic);
  EXPECT_FALSE(all.resize->antialias);
  EXPECT_EQ(all.resize->fill, (std::vector<double>{1, 2, 3, 255}));
  EXPECT_EQ(all.crop, std::pair(int64_t{200}, int64_t{300}));
  EXPECT_EQ(all.scale, 1.0 / 255);
  EXPECT_EQ(all.mean, (std::vector<double>{0.5, 0.25, 0, -0.75}));
  EXPECT_EQ(all.std, std::vector<double>{2});
  EXPECT_EQ(all.layout, ImageLayout::kNhwc);
  EXPECT_EQ(all.batch, 8);
}

TEST(PreprocessTest, ReadsEveryName) {
  EXPECT_EQ(block("color: RGB").color, ColorOrder::kRgb);
  EXPECT_EQ(block("color: BGR").color, ColorOrder::kBgr);
  EXPECT_EQ(block("color: GRAY").color, ColorOrder::kGray);
  EXPECT_EQ(block("color: RGBA").color, ColorOrder::kRgba);
  EXPECT_EQ(block("resize: {mode: stretch}").resize->mode, ResizeMode::kStretch);
  EXPECT_EQ(block("resize: {mode: keep_ratio}").resize->mode, ResizeMode::kKeepRatio);
  EXPECT_EQ(block("resize: {mode: shorter_side, size: 7}").resize->mode, ResizeMode::kShorterSide);
  EXPECT_EQ(block("resize: {interpolation: nearest}").resize->interpolation, Interpolation::kNearest);
  EXPECT_EQ(block("resize: {interpolation: bilinear}").resize->interpolation, Interpolation::kBilinear);
  EXPECT_EQ(block("layout: NCHW").layout, ImageLayout::kNchw);
  EXPECT_EQ(block("crop: 65536").crop, std::pair(int64_t{65536}, int64_t{65536}));
}

struct Refused {
  const char* yaml;
  const char* message;  ///< the whole message after "t.yaml:1: "
};

const Refused kRefused[] = {
    {"colour: RGB", "preprocess.colour: unknown key, did you mean color?"},
    {"[1]", "preprocess: found a list of 1, allowed is a map"},
    {"color: rgb", "preprocess.color: found \"rgb\", allowed is RGB, BGR, GRAY, RGBA, BGRA, did you mean RGB?"},
    {"color: 3", "preprocess.color: found 3, allowed is RGB, BGR, GRAY, RGBA, BGRA"},
    {"layout: CHW", "preprocess.layout: found \"CHW\", allowed is NCHW, NHWC, did you mean NCHW?"},
    {"resize: 224", "preprocess.resize: found 224, allowed is a map"},
    {"resize: {siez: 3}", "preprocess.resize.siez: unknown key, did you mean size?"},
    {"resize: {size: 0}", "preprocess.resize.size: found 0, allowed is 1 to 65536"},
    {"resize: {size: 65537}", "preprocess.resize.size: found 65537, allowed is 1 to 65536"},
    {"resize: {size: 1.5}", "preprocess.resize.size: found 1.5, allowed is an integer"},
    {"resize: {size: [3]}",
     "preprocess.resize.size: found a list of 1, allowed is one integer or a list [height, width]"},
    {"resize: {size: [3, -4]}", "preprocess.resize.size[1]: found -4, allowed is 1 to 65536"},
    {"resize: {mode: shorter_side, size: [3, 4]}",
     "preprocess.resize.size: found [3, 4], allowed for shorter_side is one size"},
    {"resize: {antialias: 1}", "preprocess.resize.antialias: found 1, allowed is true or false"},
    {"resize: {fill: 3}", "preprocess.resize.fill: only mode letterbox fills a border"},
    {"resize: {mode: letterbox, fill: 256}", "preprocess.resize.fill: found 256, allowed is an integer 0 to 255"},
    {"resize: {mode: letterbox, fill: [1, 2]}",
     "preprocess.resize.fill: found a list of 2, allowed is 1 value or 3, one per channel"},
    {"crop: [1, 2, 3]", "preprocess.crop: found a list of 3, allowed is one integer or a list [height, width]"},
    {"scale: fast", "preprocess.scale: found \"fast\", allowed is a finite number or a fraction such as 1/255"},
    {"scale: 1/0", "preprocess.scale: found \"1/0\", allowed is a finite number or a fraction such as 1/255"},
    {"scale: 1/2/3", "preprocess.scale: found \"1/2/3\", allowed is a finite number or a fraction such as 1/255"},
    {"scale: .inf", "preprocess.scale: found .inf, allowed is a finite number or a fraction such as 1/255"},
    {"scale: 1e39", "preprocess.scale: found 1e+39, allowed is a finite number or a fraction such as 1/255"},
    {"mean: [1, 2]", "preprocess.mean: found a list of 2, allowed is 1 value or 3, one per channel"},
    {"mean: []", "preprocess.mean: found a list of 0, allowed is 1 value or 3, one per channel"},
    {"{color: GRAY, mean: [1, 2, 3]}", "preprocess.mean: found a list of 3, allowed is 1 value"},
    {"{color: RGBA, std: [1, 2, 3]}", "preprocess.std: found a list of 3, allowed is 1 value or 4, one per channel"},
    {"mean: [1, x, 3]", "preprocess.mean[1]: found \"x\", allowed is a finite number or a fraction such as 1/255"},
    {"std: [1, 0, 1]", "preprocess.std: found 0, allowed is a float32 that is not 0"},
    {"std: 1e-60", "preprocess.std: found 1e-60, allowed is a float32 that is not 0"},
    {"batch: 0", "preprocess.batch: found 0, allowed is 1 to 65536"},
};

TEST(PreprocessTest, RefusalsNameKeyFoundAndAllowed) {
  for (const Refused& row : kRefused) {
    const Result<Preprocess> read = read_block(row.yaml);
    ASSERT_FALSE(read.ok()) << row.yaml;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << row.yaml;
    EXPECT_EQ(read.status().message(), "t.yaml:1: " + std::string(row.message));
  }
}

TEST(PreprocessTest, IsCheckedWithTheSettingsFile) {
  const Result<QuantConfig> good = config_from("{preset: A8W8, preprocess: {scale: 1/255}}");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(block(to_flow(good.value().preprocess)).scale, 1.0 / 255);
  const Result<QuantConfig> bad = config_from("preset: A8W8\npreprocess:\n  batch: 0");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "t.yaml:3: preprocess.batch: found 0, allowed is 1 to 65536");
}

}  // namespace
}  // namespace quarkq::config
