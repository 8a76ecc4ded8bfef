// SPDX-License-Identifier: MIT
// Vectorized loops of direct convolutions on channels-last images. Each result is one sum, over the taps of the kernel
// and the channels of each tap, in an order that depends on nothing but the problem and the instruction set.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// With at most so many output channels, the lanes of a vector hold input channels, otherwise output channels.
constexpr int64_t kFewOutputs = 4;
constexpr int64_t kOutputBlock = 16;  ///< output channels computed together, when lanes hold output channels
constexpr int64_t kInputBlock = 16;   ///< input channels are padded to multiples of this, when lanes hold those

/// Results of consecutive positions. The window of a position consists of runs of elements next to each other, which
/// begin at padded + starts[position] + runs[r].
struct DirectRows {
  const float* padded = nullptr;
  const int64_t* runs = nullptr;  ///< element offsets
  int64_t run_count = 0;
  int64_t run_length = 0;           ///< elements: input channels of one or more taps
  const float* weights = nullptr;   ///< [blocks of outputs, runs, run_length, kOutputBlock]; see sum_few_outputs()
  const float* bias = nullptr;      ///< one per output channel, padded to whole blocks
  const int64_t* starts = nullptr;  ///< element offsets, one per position
  int64_t count = 0;                ///< number of positions
  int64_t outputs = 0;              ///< output channels
};

QQ_DECLARE_ISA(
    /// y[position, o] = bias[o] + sum over r, i of run(r)[i] * weight(o, r, i), for output channels o of [begin, end).
    /// REQUIRES: `begin` is a multiple of kOutputBlock.
    void sum_outputs(const DirectRows& rows, int64_t begin, int64_t end, float* y);
    /// The same for all of up to kFewOutputs channels. Weights are [runs, run_length / kInputBlock, outputs,
    /// kInputBlock]. REQUIRES: run_length is a multiple of kInputBlock.
    void sum_few_outputs(const DirectRows& rows, float* y);)

}  // namespace quarkq::exec
