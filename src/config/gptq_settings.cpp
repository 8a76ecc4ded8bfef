// SPDX-License-Identifier: MIT
#include "config/gptq_settings.h"

#include "config/option_map.h"

namespace quarkq::config {

Result<GptqSettings> read_gptq_settings(const Settings& settings) {
  const OptionMap map(settings.algorithms.gptq_params.node, "GPTQParams");
  QQ_RETURN_IF_ERROR(map.check_keys(
      {"Bits", "BlockSize", "GroupSize", "PercDamp", "ActOrder", "PerChannel", "MSE", "WeightSymmetric"}));
  GptqSettings options;
  QQ_RETURN_IF_ERROR(map.take_given("BlockSize", options.block_size));
  QQ_RETURN_IF_ERROR(map.take_given("GroupSize", options.group_size));
  QQ_RETURN_IF_ERROR(map.take_given("PercDamp", options.damping));
  QQ_RETURN_IF_ERROR(map.take_given("ActOrder", options.by_importance));
  QQ_RETURN_IF_ERROR(map.take_given("PerChannel", options.per_channel));
  QQ_RETURN_IF_ERROR(map.take_given("MSE", options.search));
  QQ_RETURN_IF_ERROR(map.take_given("WeightSymmetric", options.symmetric));
  if (options.block_size < 1) return invalid_argument("GPTQParams.BlockSize: ", options.block_size, " is below 1");
  if (options.group_size == 0 || options.group_size < -1)
    return invalid_argument("GPTQParams.GroupSize: ", options.group_size, ", allowed are -1 and numbers above 0");
  if (options.damping < 0) return invalid_argument("GPTQParams.PercDamp: ", options.damping, " is negative");
  return options;
}

}  // namespace quarkq::config
