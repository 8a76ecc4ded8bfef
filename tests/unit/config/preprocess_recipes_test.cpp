// SPDX-License-Identifier: MIT
#include "config/preprocess.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/quant_config.h"

namespace quarkq::config {
namespace {

Result<Preprocess> read_yaml(const std::string& yaml) { return read_preprocess(parse_text(yaml, "t.yaml").value()); }

Preprocess recipe(const std::string& yaml) {
  const Result<Preprocess> read = read_yaml(yaml);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? read.value() : Preprocess();
}

/// The block that `sets` leave, each over the one before.
std::string block_of(const std::vector<std::string>& sets) {
  std::vector<std::string> all = {"quant_config={}"};
  all.insert(all.end(), sets.begin(), sets.end());
  const Result<QuantConfig> config = load_config("", all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? to_flow(config.value().preprocess) : "";
}

TEST(PreprocessRecipesTest, EveryRecipeIsAGoodBlock) {
  for (const PreprocessRecipe& row : preprocess_recipes()) {
    const Result<Preprocess> by_name = read_yaml(row.name);
    ASSERT_TRUE(by_name.ok()) << row.name << ": " << by_name.status().message();
    EXPECT_TRUE(by_name.value().resize.has_value()) << row.name;  // photos have any size
    EXPECT_TRUE(read_yaml(row.block).ok()) << row.name;
  }
}

TEST(PreprocessRecipesTest, AreTheFieldsStandards) {
  EXPECT_EQ(recipe("imagenet").mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(recipe("imagenet").scale, 1.0 / 255);
  EXPECT_EQ(recipe("imagenet").crop_fraction, 0.875);
  EXPECT_EQ(recipe("imagenet-bgr").color, ColorOrder::kBgr);
  EXPECT_EQ(recipe("imagenet-bgr").mean, (std::vector<double>{0.406, 0.456, 0.485}));
  EXPECT_EQ(recipe("caffe").scale, 1.0);
  EXPECT_EQ(recipe("tf").std, std::vector<double>{127.5});
  EXPECT_EQ(recipe("clip").resize->interpolation, Interpolation::kBicubic);
  EXPECT_EQ(recipe("yolo-letterbox").resize->mode, ResizeMode::kLetterbox);
  EXPECT_FALSE(recipe("yolo-letterbox").resize->antialias);
  EXPECT_TRUE(recipe("raw").mean.empty());
}

TEST(PreprocessRecipesTest, KeysBesideTheRecipeOverrideIt) {
  const Preprocess changed = recipe("{recipe: yolo-letterbox, resize: {size: 320}, color: BGR}");
  EXPECT_EQ(changed.resize->mode, ResizeMode::kLetterbox);
  EXPECT_EQ(changed.resize->height, 320);
  EXPECT_EQ(changed.color, ColorOrder::kBgr);
  EXPECT_EQ(changed.scale, 1.0 / 255);
  EXPECT_TRUE(recipe("{recipe: imagenet, std: null}").std.empty());
}

TEST(PreprocessRecipesTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  for (const std::string yaml : {"imagnet", "{recipe: imagnet}"}) {
    const Result<Preprocess> read = read_yaml(yaml);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_NE(read.status().message().find("did you mean imagenet?"), std::string::npos) << read.status().message();
    EXPECT_NE(read.status().message().find("yolo-letterbox"), std::string::npos) << read.status().message();
  }
  EXPECT_FALSE(read_yaml("{recipe: 3}").ok());
  EXPECT_FALSE(read_yaml("3").ok());
}

TEST(PreprocessRecipesTest, ANameReplacesTheBlockBelowAndKeysGoIntoIt) {
  EXPECT_EQ(block_of({"preprocess=imagenet"}), "{recipe: imagenet}");
  EXPECT_EQ(block_of({"preprocess={mean: 3, std: 4}", "preprocess=tf"}), "{recipe: tf}");
  EXPECT_EQ(block_of({"preprocess=tf", "preprocess.crop=7"}), "{recipe: tf, crop: 7}");
}

TEST(PreprocessRecipesTest, CropFractionIsChecked) {
  EXPECT_EQ(recipe("{resize: {}, crop_fraction: 1}").crop_fraction, 1.0);
  for (const std::string yaml :
       {"{resize: {}, crop_fraction: 0}", "{resize: {}, crop_fraction: 1.5}", "crop_fraction: 0.5"})
    EXPECT_FALSE(read_yaml(yaml).ok()) << yaml;
}

}  // namespace
}  // namespace quarkq::config
