// SPDX-License-Identifier: MIT
#include "config/settings.h"

#include <cctype>
#include <iterator>

#include "base/error.h"

namespace quarkq::config {

namespace {

constexpr QuantizerTraits kTraits[] = {
    {.quantizer = Quantizer::kCpu, .name = "cpu"},
    {.quantizer = Quantizer::kExtended,
     .name = "extended",
     .registry = Registry::kNpuCnn,
     .domains = DomainPolicy::kContrib,
     .folds_need_option = true,
     .simulates_dpu = true,
     .aligns_scales = true,
     .has_dual_pairs = true,
     .aligns_elementwise = true,
     .clips_bfloat16_weights = true,
     .finds_shapes_through_pairs = false},
    {.quantizer = Quantizer::kNpuCnn,
     .name = "npu-cnn",
     .registry = Registry::kNpuCnn,
     .domains = DomainPolicy::kAlwaysStandard,
     .int32_bias = Int32BiasDefault::kOff,
     .per_channel_bias = false,
     .is_cnn_overlay = true,
     .simulates_dpu = true,
     .runs_16_bits = false},
    {.quantizer = Quantizer::kNpuTransformer,
     .name = "npu-transformer",
     .registry = Registry::kNpuTransformer,
     .int32_bias = Int32BiasDefault::kOn,
     .clips_weights_narrow = false,
     .excludes_outputs_by_name = false,
     .widens_weight_scales = false},
    {.quantizer = Quantizer::kDynamic, .name = "dynamic", .form = ResultForm::kDynamicOperators},
    {.quantizer = Quantizer::kMatMulNBits, .name = "matmul-nbits", .form = ResultForm::kPackedMatrices},
    {.quantizer = Quantizer::kQOperator, .name = "qoperator", .writes_integer_operators = true, .runs_16_bits = false},
    {.quantizer = Quantizer::kNone, .name = "none", .form = ResultForm::kFloat},
};

}  // namespace

const QuantizerTraits& traits_of(Quantizer quantizer) {
  for (const QuantizerTraits& row : kTraits) {
    if (row.quantizer == quantizer) return row;
  }
  QQ_CHECK(false && "a quantizer without a row");
  return kTraits[0];
}

std::string quantizer_name(Quantizer quantizer) { return traits_of(quantizer).name; }

std::string quirk_name(const QuirkInfo& quirk) {
  std::string name;
  for (const char* c = quirk.id; *c != '\0'; ++c) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(*c)) != 0;
    if (is_upper && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  return name;
}

}  // namespace quarkq::config
