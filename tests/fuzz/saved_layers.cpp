// SPDX-License-Identifier: MIT
// Bytes that claim to be a finetuned layer of a run before.
#include "planning/tune/saved_units.h"

#include "base/hash.h"
#include "fuzz/sample_files.h"

namespace quarkq::fuzz {
namespace {
constexpr const char* kKey = "of this run";
}

void run_saved_layer(const uint8_t* data, size_t size) {
  // The hash at the beginning would refuse every change, so the right one is put there.
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  ContentHash hash;
  hash.add(std::string_view(bytes));
  const auto layer = planning::finetune::parse_saved_unit(hash.text() + bytes, kKey);
  if (layer) static_cast<void>(planning::finetune::encode_saved_unit(kKey, *layer));
}

std::vector<std::string> saved_layer_seeds() {
  planning::finetune::SavedUnit kept{true, 0.5, 0.25, 1.5, {}}, refused{false, 0.5, 0.75, 1.5, {}};
  kept.layers = {{ir::Tensor::from<int8_t>({2, 3}, std::vector<int8_t>{-128, -1, 0, 1, 2, 127}),
                  ir::Tensor::from<int32_t>({2}, std::vector<int32_t>{-70000, 9})}};
  planning::finetune::SavedUnit packed = kept;
  packed.layers.push_back({ir::Tensor::zeros(ElementType::kInt4, {3, 3}), {}});
  std::vector<std::string> seeds;
  for (const auto& layer : {kept, refused, packed})
    seeds.push_back(planning::finetune::encode_saved_unit(kKey, layer).substr(ContentHash().text().size()));
  return seeds;
}

}  // namespace quarkq::fuzz
