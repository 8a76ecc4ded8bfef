// SPDX-License-Identifier: MIT
// Folds Pad into the padding of its reader (ref:rewrites#basic-optimizer).
#include <algorithm>
#include <limits>

#include "rewrite/optimize/local_rules.h"
#include "rewrite/pads.h"

namespace quarkq::rewrite::basic {
namespace {

/// MaxPool pads with the lowest value; zeros are as good when nothing is below them.
bool is_never_negative(const Workspace& work, ir::ValueId value) {
  const ir::Node* maker = work.graph().producer(value);
  if (maker == nullptr) return false;
  for (const char* op : {"Relu", "Sigmoid", "HardSigmoid", "Softmax", "Softplus", "Abs", "Exp", "Sqrt"}) {
    if (maker->is(op)) return true;
  }
  return false;
}

/// Whether a known dimension of the image is 0. A pool rejects such an image but accepts the result of a Pad of it.
bool has_no_elements(const Workspace& work, ir::ValueId image) {
  return std::ranges::any_of(work.graph().value(image).type.dims,
                             [](const ir::Dim& dim) { return dim.known() && dim.size == 0; });
}

bool takes_pad(const Workspace& work, const ir::Node& reader, const ir::Node& pad, const SpatialPad& found) {
  if (reader.string_or("auto_pad", "NOTSET") != "NOTSET") return false;
  if (reader.is("Conv")) return found.value == 0;
  if (has_no_elements(work, pad.input(0))) return false;
  const std::vector<int64_t> own = reader.ints_or("pads", {});
  const bool has_own = std::any_of(own.begin(), own.end(), [](int64_t amount) { return amount != 0; });
  if (reader.is("AveragePool")) {
    return found.value == 0 && reader.int_or("ceil_mode", 0) == 0 &&
           (!has_own || reader.int_or("count_include_pad", 0) != 0);
  }
  if (!reader.is("MaxPool") || reader.outputs.size() > 1) return false;
  const bool is_lowest = found.value <= static_cast<double>(std::numeric_limits<float>::lowest());
  return is_lowest || (found.value == 0 && is_never_negative(work, pad.input(0)));
}

/// A pool whose padding is as large as its window has places without elements, which ONNX Runtime refuses.
bool fits_window(const ir::Node& reader, const std::vector<int64_t>& pads) {
  const std::vector<int64_t> window = reader.ints_or("kernel_shape", {});
  if (reader.is("Conv") || window.size() * 2 != pads.size()) return reader.is("Conv");
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= window[i % window.size()]) return false;
  }
  return true;
}

}  // namespace

Proposal fold_pad(Workspace& work, const ir::Node& pad) {
  const std::optional<ir::GraphPatch> nothing;
  const ir::NodeId reader_id = pad.is("Pad") ? work.only_consumer(pad.output(0)) : ir::NodeId{};
  if (!reader_id.valid()) return nothing;
  const ir::Node& reader = work.node(reader_id);
  if (reader.input(0) != pad.output(0) || reader.input(1) == pad.output(0)) return nothing;
  const std::optional<SpatialPad> found =
      read_spatial_pad(pad, [&](ir::ValueId value) { return work.constant(value); });
  if (!found || !takes_pad(work, reader, pad, *found)) return nothing;
  const std::vector<int64_t> none(found->amounts.size() - 4, 0);
  const std::optional<std::vector<int64_t>> pads = grown_pads(reader.ints_or("pads", none), *found);
  if (!pads || !fits_window(reader, *pads)) return nothing;
  ir::GraphPatch patch;
  if (reader.is("AveragePool")) patch.set_attribute(reader_id, "count_include_pad", int64_t{1});
  patch.set_attribute(reader_id, "pads", *pads);
  patch.set_input(reader_id, 0, pad.input(0));
  patch.add_origins(reader_id, pad.id);
  patch.remove(pad.id);
  return std::optional(std::move(patch));
}

}  // namespace quarkq::rewrite::basic
