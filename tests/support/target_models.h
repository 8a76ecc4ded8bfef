// SPDX-License-Identifier: MIT
// Small models for the tests of targets: float and quantized ones from text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "config/targets/target.h"
#include "support/pass_support.h"
#include "targets/assess.h"

namespace quarkq::test {

/// As model_of(), with these domains beside ai.onnx.
inline ir::Model target_model(const std::string& body, const std::vector<std::string>& domains = {}, int opset = 17) {
  std::string imports = cat("\"\" : ", opset);
  for (const std::string& domain : domains) imports += cat(", \"", domain, "\" : 1");
  Result<ir::Model> model = onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [", imports, "]>\n", body));
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return {};
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(model.value(), ignored).ok());
  return std::move(model).value();
}

inline TargetReport assessed(const ir::Model& model, const std::string& target) {
  const Result<config::Target> loaded = config::load_target(target);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  const Result<TargetReport> report = targets::assess(model, loaded.value());
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? report.value() : TargetReport{};
}

inline const TargetFinding* find_rule(const TargetReport& report, const std::string& rule,
                                      const std::string& effect = "") {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(), [&](const TargetFinding& one) {
    return one.reason.rule == rule && (effect.empty() || effect == name(one.reason.effect));
  });
  return found == report.findings.end() ? nullptr : &*found;
}

/// Writes the nodes of quantized models: each call appends lines to `nodes`, each constant to `constants`.
struct QuantizedText {
  std::string nodes, constants = "float s = {0.25}, int8 z = {0}";
  std::string inputs = "float[1, 4, 8, 8] x", outputs;
  int count = 0;

  std::string next(const char* stem) { return cat(stem, count++); }
  /// Q and DQ; the name of what the DQ makes.
  std::string pair(const std::string& value) {
    std::string name = next("p");
    nodes += cat("  ", name, "q = QuantizeLinear (", value, ", s, z)\n  ", name, " = DequantizeLinear (", name,
                 "q, s, z)\n");
    return name;
  }
  /// A stored int8 tensor of zeros, by its DQ.
  std::string weight(const std::string& dims, size_t elements) {
    std::string name = next("w");
    std::vector<std::string> zeros(elements, "0");
    constants += cat(", int8", dims, " ", name, "q = {", join(zeros, ", "), "}");
    nodes += cat("  ", name, " = DequantizeLinear (", name, "q, s, z)\n");
    return name;
  }
  /// `result = op`, without Q/DQ; "Relu (a)".
  std::string op(const std::string& call) {
    std::string name = next("v");
    nodes += cat("  ", name, " = ", call, "\n");
    return name;
  }
  static std::string conv_attributes(int kernel = 1, int group = 1) {
    const int pad = kernel / 2;
    return cat("<kernel_shape = [", kernel, ", ", kernel, "], strides = [1, 1], dilations = [1, 1], pads = [", pad,
               ", ", pad, ", ", pad, ", ", pad, "], group = ", group, ">");
  }
  /// A 1x1 Conv of 4 channels with int8 weights.
  std::string conv(const std::string& value) {
    const std::string w = weight("[4, 4, 1, 1]", 16);
    return op(cat("Conv ", conv_attributes(), " (", value, ", ", w, ")"));
  }
  std::string depthwise(const std::string& value, int kernel = 3) {
    const auto edge = static_cast<size_t>(kernel);
    const std::string w = weight(cat("[4, 1, ", kernel, ", ", kernel, "]"), 4 * edge * edge);
    return op(cat("Conv ", conv_attributes(kernel, 4), " (", value, ", ", w, ")"));
  }
  /// The model whose output is `value`.
  std::string body(const std::string& value) const {
    return cat("g (", inputs, ") => (float", outputs.empty() ? "[1, 4, 8, 8]" : outputs, " ", value, ")\n<", constants,
               ">\n{\n", nodes, "}");
  }
};

}  // namespace quarkq::test
