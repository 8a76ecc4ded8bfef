// SPDX-License-Identifier: MIT
#pragma once

namespace quarkq::ir {

/// Domains of operators beside ai.onnx. com.amd.quark has ExtendedQuantizeLinear and the block formats; files of before
/// 0.8 say com.vai.quantize for it. com.microsoft has ONNX Runtime's forms of QuantizeLinear.
inline constexpr const char kQuarkDomain[] = "com.amd.quark", kVitisDomain[] = "com.vai.quantize",
                            kMicrosoftDomain[] = "com.microsoft";

}  // namespace quarkq::ir
