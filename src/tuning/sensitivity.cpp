// SPDX-License-Identifier: MIT
#include "tuning/sensitivity.h"

#include <algorithm>

namespace quarkq::tuning {

Result<Sensitivity> find_sensitivity(const TuneRequest& request, const std::vector<std::string>& settings,
                                     double block_macs, const Judge::KeepGoing& keep_going) {
  constexpr size_t kSamples = 2, kBlocks = 3;
  AnalyzeRequest asked;
  asked.model_path = request.model_path;
  asked.config = request.config;
  asked.settings = request.settings;
  asked.settings.insert(asked.settings.end(), settings.begin(), settings.end());
  asked.calib_folder = request.calib_folder;
  asked.samples = kSamples, asked.min_cosine = -1;
  asked.most_blocks = kBlocks, asked.most_block_macs = block_macs;
  asked.threads = request.threads;
  asked.progress = keep_going;
  QQ_TRY(AnalyzeReport found, analyze(asked));
  std::ranges::sort(found.layers, {}, &LayerEffect::place);
  Sensitivity sensitivity;
  sensitivity.layers.reserve(found.layers.size());
  for (LayerEffect& layer : found.layers) {
    sensitivity.layers.push_back({std::move(layer.node), layer.outputs.cosine, layer.outputs.sqnr_db, layer.mac_share});
  }
  sensitivity.blocks = std::move(found.blocks);
  return sensitivity;
}

}  // namespace quarkq::tuning
