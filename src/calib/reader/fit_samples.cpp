// SPDX-License-Identifier: MIT
#include "calib/reader/fit_samples.h"

#include <algorithm>

#include "base/paths.h"
#include "calib/reader/file_formats.h"
#include "exec/layout.h"

namespace quarkq::calib {

namespace {

enum class Match : uint8_t { kWhole, kPrefix };

/// Inputs as exporters name them.
struct Rule {
  std::string_view name;
  Match match;
  TokenFill fill;
  int64_t least_rank, most_rank;
};
constexpr Rule kRules[] = {
    {"attention_mask", Match::kWhole, TokenFill::kMask, 2, 2},
    {"position_ids", Match::kWhole, TokenFill::kPositions, 2, 2},
    {"cache_position", Match::kWhole, TokenFill::kPositions, 1, 1},
    {"token_type_ids", Match::kWhole, TokenFill::kZeros, 2, 2},
    {"use_cache_branch", Match::kWhole, TokenFill::kNo, 0, 1},
    {"past", Match::kPrefix, TokenFill::kPast, 3, 5},
};

bool has_type(const InputSpec& input, TokenFill fill) {
  if (fill == TokenFill::kPast) return is_floating(input.type);
  if (fill == TokenFill::kNo) return input.type == ElementType::kBool;
  return is_integer(input.type) || (fill == TokenFill::kMask && input.type == ElementType::kBool);
}

std::optional<TokenFill> fill_of(const InputSpec& input) {
  const auto rank = static_cast<int64_t>(input.dims.size());
  for (const Rule& rule : kRules) {
    const bool fits = rule.match == Match::kWhole ? input.name == rule.name : input.name.starts_with(rule.name);
    if (!fits || !input.has_shape || rank < rule.least_rank || rank > rule.most_rank) continue;
    if (has_type(input, rule.fill)) return rule.fill;
  }
  return std::nullopt;
}

/// The axis of [batch, heads, length, size] that counts tokens: the only unknown one after the batch, else axis 2.
size_t past_axis(const ir::Shape& dims) {
  const auto unknown = std::find(dims.begin() + 1, dims.end(), -1);
  return unknown != dims.end() ? static_cast<size_t>(unknown - dims.begin()) : std::min<size_t>(2, dims.size() - 1);
}

class TokenReader : public DataReader {
 public:
  TokenReader(std::unique_ptr<DataReader> tokens, std::vector<InputSpec> inputs, std::vector<TokenFill> fills,
              int64_t past)
      : tokens_(std::move(tokens)), inputs_(std::move(inputs)), fills_(std::move(fills)), past_(past) {}

  size_t size() const override { return tokens_->size(); }

  Result<Sample> read(size_t index) const override {
    QQ_TRY(Sample sample, tokens_->read(index));
    const ir::Tensor tokens = std::move(sample.inputs[0]);
    const std::string file = sample.files.empty() ? cat("sample ", sample.name) : sample.files[0];
    sample.inputs.clear();
    sample.files.assign(inputs_.size(), file);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      QQ_TRY(sample.inputs.emplace_back(), filled(i, tokens, file));
    }
    return sample;
  }

 private:
  Result<ir::Tensor> filled(size_t i, const ir::Tensor& tokens, const std::string& file) const {
    const InputSpec& input = inputs_[i];
    const TokenFill fill = fills_[i];
    if (fill == TokenFill::kTokens) return tokens;
    QQ_TRY(const ir::Shape dims, dims_of(input, fill, tokens.dims()).context(file));
    if (fill == TokenFill::kPast || fill == TokenFill::kNo || fill == TokenFill::kZeros)
      return zeros_for_input(input, input.type, dims);
    QQ_TRY(ir::Tensor numbers, zeros_for_input(input, ElementType::kInt64, dims));
    const int64_t last = dims.back(), length = tokens.dims()[1];
    const auto values = numbers.mutable_data<int64_t>();
    for (size_t k = 0; k < values.size(); ++k) {
      const int64_t place = static_cast<int64_t>(k) % last;
      values[k] = fill == TokenFill::kPositions ? place : place >= last - length;
    }
    if (input.type == ElementType::kBool) return as_bools(numbers);
    return fit_to_input(std::move(numbers), input, cat(file, ", input ", input.name));
  }

  static ir::Tensor as_bools(const ir::Tensor& numbers) {
    ir::Tensor out = ir::Tensor::zeros(ElementType::kBool, numbers.dims());
    std::ranges::transform(numbers.data<int64_t>(), out.mutable_data<uint8_t>().begin(),
                           [](int64_t value) { return static_cast<uint8_t>(value != 0); });
    return out;
  }

  /// The input's shape beside these tokens. kBadData where it takes another number of them.
  Result<ir::Shape> dims_of(const InputSpec& input, TokenFill fill, const ir::Shape& tokens) const {
    if (fill == TokenFill::kNo) return ir::Shape(input.dims.size(), 1);
    ir::Shape dims = input.dims;
    if (fill == TokenFill::kPast) {
      if (dims[0] < 0) dims[0] = tokens[0];
      if (int64_t& length = dims[past_axis(input.dims)]; length < 0) length = 0;
      if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; }))
        return bad_data("input ", input.name, " is ", shape_text(input.dims),
                        ", tokens alone do not determine its size; give a folder for each input");
      return dims;
    }
    const int64_t length = fill == TokenFill::kMask ? past_ + tokens[1] : tokens[1];
    const ir::Shape wanted = dims.size() == 1 ? ir::Shape{length} : ir::Shape{tokens[0], length};
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] < 0) dims[d] = wanted[d];
      const bool is_longer_mask = fill == TokenFill::kMask && d + 1 == dims.size() && dims[d] >= tokens[1];
      if (dims[d] != wanted[d] && !is_longer_mask)
        return bad_data("tokens ", shape_text(tokens), " do not fit input ", input.name, ", which is ",
                        shape_text(input.dims));
    }
    return dims;
  }

  std::unique_ptr<DataReader> tokens_;
  std::vector<InputSpec> inputs_;
  std::vector<TokenFill> fills_;
  int64_t past_;  ///< tokens that the inputs of the past hold
};

}  // namespace

std::optional<std::vector<TokenFill>> token_fills(const std::vector<InputSpec>& inputs) {
  std::vector<TokenFill> fills;
  size_t open = 0;
  for (const InputSpec& input : inputs) {
    const std::optional<TokenFill> fill = fill_of(input);
    fills.push_back(fill.value_or(TokenFill::kTokens));
    if (fill) continue;
    if (++open > 1 || !is_integer(input.type) || !input.has_shape || input.dims.size() != 2) return std::nullopt;
  }
  if (open != 1 || inputs.size() < 2) return std::nullopt;
  return fills;
}

bool holds_tokens_alone(const FileTree& tree, const DataOptions& options, const std::vector<InputSpec>& inputs,
                        const std::vector<TokenFill>& fills) {
  const auto is_array = [&](const std::string& name) {
    const FileFormat* format = format_of(paths::name_of(name), options.kind);
    return format != nullptr && std::string_view(format->kind) == "npy";
  };
  if (tree.has_file(options.folder)) return is_array(options.folder);
  bool has_tokens = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool has_folder = tree.has_folder(cat(options.folder, "/", inputs[i].name)) ||
                            tree.has_folder(cat(options.folder, "/", file_spelling(inputs[i].name)));
    if (has_folder && fills[i] != TokenFill::kTokens) return false;
    has_tokens = has_tokens || has_folder;
  }
  const Result<std::vector<std::string>> files = tree.files(options.folder);
  return has_tokens || (files.ok() && std::ranges::any_of(files.value(), is_array));
}

Result<std::unique_ptr<DataReader>> fill_from_tokens(std::unique_ptr<DataReader> tokens, std::vector<InputSpec> inputs,
                                                     std::vector<TokenFill> fills) {
  int64_t past = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (fills[i] != TokenFill::kPast) continue;
    ir::Shape least = inputs[i].dims;
    std::ranges::replace(least, -1, 0);
    QQ_RETURN_IF_ERROR(ir::element_count(least).status().context("input " + inputs[i].name));
    past = std::max(past, least[past_axis(inputs[i].dims)]);
  }
  return std::unique_ptr<DataReader>(new TokenReader(std::move(tokens), std::move(inputs), std::move(fills), past));
}

std::string tokenize_first(const std::string& path) {
  const std::string name = paths::name_of(path);
  constexpr std::string_view kTexts[] = {".txt", ".text", ".jsonl", ".md"};
  const bool is_text = name == "tokenizer.json" ||
                       std::ranges::any_of(kTexts, [&](std::string_view suffix) { return name.ends_with(suffix); });
  if (!is_text) return "";
  return "; text is not tokenized here: run the model's tokenizer (tokenizer.json) over it and save the numbers, an "
         "array of integers "
         "[n] or [n, length], as .npy (docs/calibration-data.md, Tokens)";
}

namespace {

class FittedSamples : public DataReader {
 public:
  FittedSamples(const DataReader& reader, std::vector<InputSpec> inputs, const std::set<std::string>& channels_last)
      : reader_(reader), inputs_(std::move(inputs)) {
    for (InputSpec& input : inputs_) {
      moves_.push_back(channels_last.contains(input.name));
      input.has_shape = false;
    }
  }

  size_t size() const override { return reader_.size(); }

  Result<Sample> read(size_t index) const override {
    QQ_TRY(Sample sample, reader_.read(index));
    for (size_t i = 0; i < sample.inputs.size() && i < inputs_.size(); ++i) {
      ir::Tensor& tensor = sample.inputs[i];
      if (moves_[i] && tensor.rank() == 4) {
        // What is channels-last in memory here is the plain order of the converted input.
        tensor = exec::in_layout(tensor, exec::Layout::kChannelsLast);
      }
      const std::string file = i < sample.files.size() ? sample.files[i] : cat("sample ", sample.name);
      QQ_TRY(tensor, fit_to_input(std::move(tensor), inputs_[i], file));
    }
    return sample;
  }

 private:
  const DataReader& reader_;
  std::vector<InputSpec> inputs_;
  std::vector<bool> moves_;
};

}  // namespace

std::unique_ptr<DataReader> fit_samples(const DataReader& reader, std::vector<InputSpec> inputs,
                                        const std::set<std::string>& channels_last) {
  return std::make_unique<FittedSamples>(reader, std::move(inputs), channels_last);
}

}  // namespace quarkq::calib
