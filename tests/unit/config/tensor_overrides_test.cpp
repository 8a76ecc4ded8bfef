// SPDX-License-Identifier: MIT
// TensorQuantOverrides: what may stand there, and what it becomes (ref:settings#tensor-overrides).
#include "config/format_settings.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace quarkq::config {
namespace {

Result<TensorOverride> read(const std::string& yaml) {
  const Result<Node> node = parse_text("{t: " + yaml + "}", "test");
  EXPECT_TRUE(node.ok()) << node.status().message();
  Settings settings;
  settings.ranges.tensor_quant_overrides.node = node.value();
  QQ_TRY(const std::vector<NamedOverride> overrides, read_tensor_overrides(settings));
  EXPECT_EQ(overrides[0].tensor, "t");
  return overrides[0].made;
}

TEST(OverridesTest, ReadsTypeSymmetryAndRange) {
  const Result<TensorOverride> read_one =
      read("[{quant_type: ExtendedQuantType.QInt16, symmetric: false, rmin: -1.0, rmax: [2.0]}]");
  ASSERT_TRUE(read_one.ok()) << read_one.status().message();
  EXPECT_EQ(read_one.value().type, DataType::kInt16);
  EXPECT_EQ(read_one.value().symmetric, false);
  EXPECT_EQ(read_one.value().values[0].min, -1.0f);
  EXPECT_EQ(read_one.value().values[0].max, 2.0f);
  EXPECT_FALSE(read_one.value().is_per_channel());
}

TEST(OverridesTest, AnAxisOrSeveralEntriesMeanChannels) {
  EXPECT_TRUE(read("[{axis: 1}]").value().is_per_channel());
  const TensorOverride channels = read("[{scale: 0.5, zero_point: 1}, {scale: 0.25, zero_point: 0}]").value();
  EXPECT_TRUE(channels.is_per_channel());
  EXPECT_EQ(channels.values[1].params->scale, 0.25f);
}

TEST(OverridesTest, RefusesWhatContradicts) {
  for (const char* yaml :
       {"[]", "{quant_type: QuantType.QInt8}", "[{scale: 0.5}]", "[{zero_point: 1}]", "[{rmin: 1.0}]",
        "[{rmin: 2.0, rmax: 1.0}]", "[{scale: 0.0, zero_point: 0}]", "[{scale: 0.5, zero_point: 0, symmetric: true}]",
        "[{quant_type: QuantType.QInt8}, {quant_type: QuantType.QUInt8}]", "[{axis: x}]"}) {
    const Result<TensorOverride> refused = read(yaml);
    ASSERT_FALSE(refused.ok()) << yaml;
    EXPECT_NE(refused.status().message().find("TensorQuantOverrides.t"), std::string::npos)
        << refused.status().message();
  }
}

TEST(OverridesTest, TypesAreThoseThatCanBeRead) {
  Settings settings;
  settings.ranges.tensor_quant_overrides.node =
      parse_text("{a: [{quant_type: QuantType.QInt8}], b: [{quant_type: none}], c: [{axis: 1}]}", "test").value();
  settings.algorithms.mixed_precision_tensor.node =
      parse_text("{QuantType.QUInt8: [d, e], QuantType.QInt8: 5}", "test").value();
  EXPECT_EQ(types_of_tensors(settings).size(), 1u);
  settings.algorithms.specific_tensor_precision = true;
  const std::vector<TensorType> types = types_of_tensors(settings);
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[1].tensor, "e");
  EXPECT_EQ(types[1].type, DataType::kUInt8);
  EXPECT_EQ(types[2].tensor, "a");
  EXPECT_TRUE(has_tensor_override(settings, "c"));
  EXPECT_FALSE(has_tensor_override(settings, "d"));
}

}  // namespace
}  // namespace quarkq::config
