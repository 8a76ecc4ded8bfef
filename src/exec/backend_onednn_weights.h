// SPDX-License-Identifier: MIT
// Packed weights, shared by all programs of the process that are alive: several samples run at once (calibration), and
// each program has its own primitives, but the weights in cache and memory are the same.
#pragma once

#include <dnnl.hpp>
#include <memory>

namespace quarkq::exec {

/// The weights of layout `given` at `data`, reordered to `packed`. Told apart by content, not by address. Safe to call
/// from several threads; the result is read-only.
std::shared_ptr<const dnnl::memory> shared_weights(const dnnl::memory::desc& given, const dnnl::memory::desc& packed,
                                                   const float* data);

/// The one engine of the process, and the calling thread's stream on it.
dnnl::engine& engine();
dnnl::stream& stream();

}  // namespace quarkq::exec
