// SPDX-License-Identifier: MIT
// "Load, compile, run once" for bytes that claim to be a model, and a way to spoil a good model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quarkq::fuzz {

/// Loads the model at `data`, makes inputs of the types it declares, and runs it. Whatever happens short of a crash is
/// fine. Bounded: little memory, few loop iterations.
void run_once(const uint8_t* data, size_t size);

/// A model near the one at `data`: a few attributes, dims, types, links or values are changed. Bytes that are no model
/// are changed as bytes.
std::string mutate(const uint8_t* data, size_t size, uint32_t seed);

}  // namespace quarkq::fuzz
