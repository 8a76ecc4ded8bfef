// SPDX-License-Identifier: MIT
// Targets where two ways to one result are compared. A difference stops the process, as a crash does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarkq::fuzz {

/// The loops of every instruction set against numeric/linear_quant.h, bit for bit. Bytes: a format, a scale, a zero
/// point, values.
void run_quantize_loops(const uint8_t* data, size_t size);
std::vector<std::string> quantize_loop_seeds();

/// Statistics of samples in parts, merged and through a file, against those of all samples at once. Bytes: how samples
/// are shared out, values.
void run_merged_statistics(const uint8_t* data, size_t size);
std::vector<std::string> merged_statistics_seeds();

/// A model that was saved loads as the model it was, and is saved as the same bytes.
void run_save_load(const uint8_t* data, size_t size);

/// A model on one thread and on three: the same bits.
void run_threads(const uint8_t* data, size_t size);

/// A model before and after the passes that rewrite float models, without their guards: the same outputs, up to
/// roundings. Models whose values amplify these without bound are left out.
void run_rewrites(const uint8_t* data, size_t size);
std::vector<std::string> rewrite_seeds();

/// quantize() returns a model that loads and that the checker takes, or an error that is not its own.
void run_quantize(const uint8_t* data, size_t size);
std::string mutate_variant(const uint8_t* data, size_t size, uint32_t seed);
std::vector<std::string> quantize_seeds();

}  // namespace quarkq::fuzz
