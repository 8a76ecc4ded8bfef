// SPDX-License-Identifier: MIT
// Conversions between the float types, a row each.
#include "rewrite/convert/change_float_type.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::rewrite {

using enum ElementType;

Result<size_t> fp32_to_fp16(pass::ConvertContext& context) { return change_float_type(context, {kFloat, kFloat16}); }
Result<size_t> fp16_to_fp32(pass::ConvertContext& context) { return change_float_type(context, {kFloat16, kFloat}); }
Result<size_t> fp32_to_bf16(pass::ConvertContext& context) { return change_float_type(context, {kFloat, kBFloat16}); }
Result<size_t> bf16_to_fp32(pass::ConvertContext& context) { return change_float_type(context, {kBFloat16, kFloat}); }
Result<size_t> fp16_to_bf16(pass::ConvertContext& context) { return change_float_type(context, {kFloat16, kBFloat16}); }
Result<size_t> bf16_to_fp16(pass::ConvertContext& context) { return change_float_type(context, {kBFloat16, kFloat16}); }

}  // namespace quarkq::rewrite
