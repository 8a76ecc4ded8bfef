// SPDX-License-Identifier: MIT
#include "planning/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/metrics.h"
#include "plan/stage.h"

namespace quarkq::planning {
namespace {

/// Meaning of the names of block formats here (ref:mixed-precision#promotion).
struct BlockRow {
  const char* data_type;
  std::vector<config::BlockAttribute> attributes;
};

const std::vector<BlockRow>& block_rows() {
  const auto bfp = [](const char* method, int64_t bits, int64_t block) {
    return std::vector<config::BlockAttribute>{
        {"bfp_method", method}, {"bit_width", bits}, {"block_size", block}, {"rounding_mode", int64_t{2}}};
  };
  const auto mx = [](const char* element) {
    return std::vector<config::BlockAttribute>{{"element_dtype", element}, {"rounding_mode", int64_t{2}}};
  };
  static const std::vector<BlockRow> rows = {
      {"BFP16", bfp("to_bfp", 16, 8)},      {"MX4", bfp("to_bfp_prime", 11, 16)},
      {"MX6", bfp("to_bfp_prime", 13, 16)}, {"MX9", bfp("to_bfp_prime", 16, 16)},
      {"MXFP4E2M1", mx("fp4_e2m1")},        {"MXFP6E3M2", mx("fp6_e3m2")},
      {"MXFP6E2M3", mx("fp6_e2m3")},        {"MXFP8E5M2", mx("fp8_e5m2")},
      {"MXFP8E4M3", mx("fp8_e4m3")},        {"MXInt8", mx("int8")},
  };
  return rows;
}

MixedFormat format_of(const config::TensorSpec& spec, const config::Settings& settings) {
  MixedFormat format;
  format.symmetric = spec.symmetric;
  plan::Stage& stage = format.stage;
  stage.is_mixed = true;
  stage.spec.type = plan::element_type(spec.type);
  if (spec.scale_type == config::ScaleType::kPowerOf2) stage.spec.scale = numeric::ScaleKind::kPowerOfTwo;
  if (!config::is_block(spec.type)) return format;
  stage.kind = plan::StageKind::kBlock;
  std::vector<config::BlockAttribute> attributes;
  for (const BlockRow& row : block_rows()) {
    if (spec.data_type == row.data_type) attributes = row.attributes;
  }
  stage.block = plan::block_format(spec.type, attributes, settings);
  return format;
}

/// A limit on wide formats does not apply if promoted nodes get narrower formats.
Status check_is_wider(const config::Settings& settings, const std::vector<config::LayerSpec>& layers) {
  const int own = bits(plan::element_type(settings.formats.activation_type));
  const bool is_wider = std::any_of(layers.begin(), layers.end(), [&](const config::LayerSpec& layer) {
    return layer.input_tensors && bits(plan::element_type(layer.input_tensors->type)) > own;
  });
  if (!settings.tool.max_wide || is_wider) return {};
  return invalid_argument(
      "quarkq.max_wide: found together with AutoMixprecision whose formats are not wider than the preset's ", own,
      " bits; leave it out, or name a wider format in TargetLayerConfig");
}

std::optional<MixedFormat> format_of(const std::optional<config::TensorSpec>& spec, const config::Settings& settings) {
  return spec ? std::optional(format_of(*spec, settings)) : std::nullopt;
}

}  // namespace

Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings) {
  QQ_TRY(const std::optional<config::MixedSettings> given, config::read_mixed_settings(settings));
  if (!given) return std::optional<MixedOptions>();
  MixedOptions options{*given, {}};
  QQ_RETURN_IF_ERROR(check_is_wider(settings, options.target_layers));
  for (const config::LayerSpec& layer : options.target_layers) {
    options.configs.push_back({format_of(layer.input_tensors, settings), format_of(layer.weight, settings),
                               format_of(layer.bias, settings), format_of(layer.output_tensors, settings)});
  }
  return std::optional<MixedOptions>(std::move(options));
}

namespace {

using Values = std::span<const double>;
constexpr double kTiny = 1e-10;

double l2(Values reference, Values quantized) { return numeric::l2_distance(numeric::pair_sums(reference, quantized)); }

/// Returns the values as shares of their sum; equal shares if the sum is 0.
std::vector<double> distribution(Values values) {
  const double low = std::min(*std::min_element(values.begin(), values.end()), 0.0);
  std::vector<double> shares(values.begin(), values.end());
  double sum = 0;
  for (double& share : shares) sum += share -= low;
  for (double& share : shares) share = sum > 0 ? share / sum : 1.0 / static_cast<double>(shares.size());
  return shares;
}

double kl(Values reference, Values quantized) {
  const std::vector<double> p = distribution(reference), r = distribution(quantized);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log((p[i] + kTiny) / (r[i] + kTiny));
  return sum;
}

double cosine(Values reference, Values quantized) {
  const numeric::PairSums sums = numeric::pair_sums(reference, quantized);
  const double least = std::ldexp(kTiny, -sums.exponent);
  const bool is_tiny = std::sqrt(sums.norm_a) < least || std::sqrt(sums.norm_b) < least;
  return is_tiny ? 0.0 : 1.0 - numeric::cosine(sums);
}

double sqnr(Values reference, Values quantized) {
  const numeric::PairSums sums = numeric::pair_sums(reference, quantized);
  const auto count = static_cast<double>(reference.size());
  const double least = std::max(std::ldexp(kTiny, -2 * sums.exponent), std::numeric_limits<double>::min());
  return -10.0 * std::log10(std::max(sums.norm_a / count, least) / std::max(sums.squared_distance / count, least));
}

double psnr(Values reference, Values quantized) {
  return -numeric::psnr_db(numeric::pair_sums(reference, quantized), numeric::Peak::kMagnitude);
}

constexpr struct {
  MixedMetric metric;
  double (*measure)(Values, Values);
} kMetricFunctions[] = {{MixedMetric::kL2, l2},
                        {MixedMetric::kKl, kl},
                        {MixedMetric::kCosine, cosine},
                        {MixedMetric::kSqnr, sqnr},
                        {MixedMetric::kPsnr, psnr}};

}  // namespace

double mixed_metric(MixedMetric metric, Values reference, Values quantized) {
  if (reference.empty()) return 0;
  const std::optional<numeric::FinitePart> part = numeric::finite_part(reference, quantized);
  if (part && part->differing > 0) return std::numeric_limits<double>::infinity();
  if (part) return mixed_metric(metric, part->a, part->b);
  for (const auto& row : kMetricFunctions) {
    if (row.metric == metric) return row.measure(reference, quantized);
  }
  return 0;
}

}  // namespace quarkq::planning
