// SPDX-License-Identifier: MIT
// Inputs as a model declares them, a line each ("name type dim dim ..."), and the samples that follow from them alone:
// random ones, and those of a language model from its tokens.
#include <algorithm>
#include <optional>
#include <sstream>

#include "calib/reader/fit_samples.h"
#include "calib/sample_readers.h"
#include "fuzz/sample_files.h"
#include "ir/shape.h"

namespace quarkq::fuzz {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of a sample that is made; sizes that nothing has are refused
constexpr int64_t kUnknown = 32;            // the most that stands for an unknown dimension, or one of 0

constexpr ElementType kTypes[] = {ElementType::kInt64, ElementType::kInt32,   ElementType::kUInt8,
                                  ElementType::kBool,  ElementType::kFloat,   ElementType::kFloat16,
                                  ElementType::kInt4,  ElementType::kBFloat16};

std::vector<calib::InputSpec> read_inputs(const uint8_t* data, size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<calib::InputSpec> inputs;
  std::string line;
  while (inputs.size() < 8 && std::getline(text, line)) {
    std::istringstream words(line);
    calib::InputSpec& input = inputs.emplace_back();
    size_t type = 0;
    words >> input.name >> type;
    input.type = kTypes[type % std::size(kTypes)];
    input.has_shape = !words.fail();
    for (int64_t dim = 0; input.dims.size() < 6 && words >> dim;) input.dims.push_back(dim < 0 ? -1 : dim);
  }
  return inputs;
}

/// How many elements a sample has where each unknown dimension has that size; none where so many are refused.
std::optional<int64_t> count_with(const calib::InputSpec& input, int64_t unknown) {
  ir::Shape dims = input.dims;
  for (int64_t& dim : dims) dim = dim <= 0 ? unknown : dim;
  const Result<int64_t> count = ir::element_count(dims);
  return count.ok() ? std::optional(count.value()) : std::nullopt;
}

/// Whether samples are small, or of sizes that are refused whatever stands for an unknown dimension.
bool is_cheap(const std::vector<calib::InputSpec>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const calib::InputSpec& input) {
    return !count_with(input, 1) || count_with(input, kUnknown).value_or(kMostElements + 1) <= kMostElements;
  });
}

std::unique_ptr<calib::DataReader> tokens() {
  return std::make_unique<calib::OneSample>(
      calib::Sample{"tokens", {ir::Tensor::from<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})}, {}});
}

void fit_sample(const Result<std::unique_ptr<calib::DataReader>>& reader, const std::vector<calib::InputSpec>& inputs) {
  if (!reader.ok()) return;
  const Result<calib::Sample> sample = reader.value()->read(0);
  for (size_t i = 0; sample.ok() && i < inputs.size(); ++i)
    (void)calib::fit_to_input(sample.value().inputs.at(i), inputs[i], "fuzz").ok();
}

}  // namespace

void run_input_shapes(const uint8_t* data, size_t size) {
  const std::vector<calib::InputSpec> inputs = read_inputs(data, size);
  if (!is_cheap(inputs)) return;
  fit_sample(calib::make_random_reader(inputs, {}), inputs);
  if (const auto fills = calib::token_fills(inputs))
    fit_sample(calib::fill_from_tokens(tokens(), inputs, *fills), inputs);
}

std::vector<std::string> input_shapes_seeds() {
  return {"input_ids 0 -1 -1\nattention_mask 0 -1 -1\nposition_ids 1 -1 -1\npast_key 4 -1 2 -1 4\n",
          "input_ids 1 2 3\nattention_mask 3 2 8\ntoken_type_ids 2 2 3\ncache_position 0 3\nuse_cache_branch 3 1\npast "
          "5 2 2 5 4\n",
          "x 4 1 3 8 8\ny 6 4\nz 7\n"};
}

}  // namespace quarkq::fuzz
