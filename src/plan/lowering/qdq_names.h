// SPDX-License-Identifier: MIT
// Every name that insertion writes (ref:writing#names); users' scripts depend on them.
#pragma once

#include <string>

namespace quarkq::plan {

/// Names around tensor `t`; `suffix` is "" or "_1", "_2", ... of a dedicated pair.
struct QdqNames {
  QdqNames(const std::string& t, const std::string& suffix = "")
      : quantize_node(t + "_QuantizeLinear" + suffix),
        dequantize_node(t + "_DequantizeLinear" + suffix),
        quantize_output(t + "_QuantizeLinear_Output" + suffix),
        dequantize_output(t + "_DequantizeLinear_Output" + suffix),
        quantize_input(t + "_QuantizeLinear_Input") {}
  std::string quantize_node, dequantize_node, quantize_output, dequantize_output;
  std::string quantize_input;  ///< output of the producer of a graph output
};

inline std::string scale_name(const std::string& t) { return t + "_scale"; }
inline std::string zero_point_name(const std::string& t) { return t + "_zero_point"; }
inline std::string stored_name(const std::string& t) { return t + "_quantized"; }

}  // namespace quarkq::plan
