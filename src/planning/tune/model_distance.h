// SPDX-License-Identifier: MIT
// How far the outputs of the quantized model are from the float ones: SelectiveUpdate (ref:tuning#acceptance), and what
// the finetuning did to the model as a whole.
#pragma once

#include <span>

#include "config/finetune_settings.h"
#include "pass/context.h"

namespace quarkq::planning::finetune {

/// L2 norm of the difference, averaged over the first samples and outputs.
Result<double> model_distance(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                              size_t samples, const config::FinetuneSettings& options);

/// Cosine, averaged over these samples and the floating-point outputs of the same size; nothing when there is none.
Result<std::optional<double>> model_cosine(const ir::Model& original, const ir::Model& quantized,
                                           const calib::DataReader& data, std::span<const size_t> samples);

}  // namespace quarkq::planning::finetune
