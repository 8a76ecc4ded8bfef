// SPDX-License-Identifier: MIT
// SelectiveUpdate (spec 04 D.9): how far the outputs of the quantized model are from the float ones.
#pragma once

#include "passes/context.h"
#include "passes/finetune/options.h"

namespace quarkq::passes::finetune {

/// L2 norm of the difference, averaged over samples and outputs.
Result<double> model_distance(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                              size_t samples, const Options& options);

}  // namespace quarkq::passes::finetune
