// SPDX-License-Identifier: MIT
#include "config/sample_settings.h"

#include <algorithm>

#include "base/strings.h"
#include "config/convert.h"

namespace quarkq::config {

namespace {

constexpr const char kBlock[] = "calibration.raw";
constexpr int64_t kMaxDim = int64_t{1} << 40;
constexpr size_t kMaxRank = 64;

/// NumPy's names, which writers of such files use.
constexpr struct {
  const char* name;
  ElementType type;
} kDtypes[] = {
    {"float32", ElementType::kFloat},     {"float64", ElementType::kDouble}, {"float16", ElementType::kFloat16},
    {"bfloat16", ElementType::kBFloat16}, {"int8", ElementType::kInt8},      {"uint8", ElementType::kUInt8},
    {"int16", ElementType::kInt16},       {"uint16", ElementType::kUInt16},  {"int32", ElementType::kInt32},
    {"uint32", ElementType::kUInt32},     {"int64", ElementType::kInt64},    {"uint64", ElementType::kUInt64},
    {"bool", ElementType::kBool},
};

Result<ElementType> read_dtype(const Node& node, const std::string& path) {
  QQ_TRY(const std::string text, read<std::string>(node, path));
  std::vector<std::string> allowed;
  for (const auto& row : kDtypes) {
    if (text == row.name) return row.type;
    allowed.emplace_back(row.name);
  }
  return invalid_argument(node.mark().prefix(), path, ": found ", text, did_you_mean(text, allowed), ", allowed is ",
                          join(allowed, ", "));
}

Result<RawFormat> read_one(const Node& node, const std::string& path) {
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"dtype", "shape"}));
  const Node *dtype = node.find("dtype"), *shape = node.find("shape");
  if (dtype == nullptr || shape == nullptr) {
    return invalid_argument(node.mark().prefix(), path, ": found no ", dtype == nullptr ? "dtype" : "shape",
                            ", needed are dtype and shape");
  }
  RawFormat format;
  QQ_TRY(format.type, read_dtype(*dtype, path + ".dtype"));
  if (!shape->is_list())
    return wrong_kind(*shape, "a list of integers").context(shape->mark().prefix() + path + ".shape");
  if (shape->items().size() > kMaxRank) {
    return invalid_argument(shape->mark().prefix(), path, ".shape: found ", shape->items().size(),
                            " dimensions, allowed are up to ", kMaxRank);
  }
  for (const Node& item : shape->items()) {
    QQ_TRY(const int64_t dim, read<int64_t>(item, path + ".shape"));
    if (dim < 1 || dim > kMaxDim) {
      return invalid_argument(item.mark().prefix(), path, ".shape: found ", dim, ", allowed is 1 to 2^40");
    }
    format.dims.push_back(dim);
  }
  return format;
}

}  // namespace

Result<std::map<std::string, RawFormat>> read_raw_formats(const Node& node) {
  std::map<std::string, RawFormat> formats;
  if (node.is_null()) return formats;
  if (!node.is_map()) return wrong_kind(node, "a map").context(node.mark().prefix() + kBlock);
  // An input named "dtype" is distinguished from the key by its value, which is a map.
  const bool is_one = std::any_of(node.entries().begin(), node.entries().end(),
                                  [](const Node::Entry& entry) { return !entry.value.is_map(); });
  if (is_one) {
    QQ_TRY(formats[""], read_one(node, kBlock));
    return formats;
  }
  for (const Node::Entry& entry : node.entries()) {
    QQ_TRY(formats[entry.key], read_one(entry.value, cat(kBlock, ".", entry.key)));
  }
  return formats;
}

namespace {

Result<std::vector<double>> numbers_of(const Node& node, const std::string& option) {
  std::vector<double> numbers;
  for (const Node& item : node.items()) {
    if (item.kind() != Node::Kind::kInt && item.kind() != Node::Kind::kReal) {
      return invalid_argument(option, ": ", describe(item), " found, a number is needed");
    }
    numbers.push_back(item.as_real());
  }
  return numbers;
}

Result<std::vector<int64_t>> integers_of(const Node::Entry& entry, const std::string& option) {
  if (!entry.value.is_list()) {
    return invalid_argument(option, ": ", entry.key, " needs a list of integers, ", describe(entry.value), " found");
  }
  std::vector<int64_t> integers;
  for (const Node& item : entry.value.items()) {
    if (item.kind() != Node::Kind::kInt) {
      return invalid_argument(option, ": ", describe(item), " found, an integer is needed");
    }
    integers.push_back(item.as_int());
  }
  return integers;
}

}  // namespace

Result<RandomDataSettings> read_random_data_settings(const Settings& settings) {
  RandomDataSettings options;
  for (const Node::Entry& entry : settings.ranges.random_data_reader_input_shape.node.entries()) {
    QQ_TRY(options.shapes[entry.key], integers_of(entry, "RandomDataReaderInputShape"));
  }
  if (!settings.ranges.random_data_reader_input_data_range) return options;
  for (const Node::Entry& entry : settings.ranges.random_data_reader_input_data_range->node.entries()) {
    QQ_TRY(const std::vector<double> range, numbers_of(entry.value, "RandomDataReaderInputDataRange"));
    if (range.size() != 2) return invalid_argument("RandomDataReaderInputDataRange: ", entry.key, " needs [low, high]");
    options.ranges[entry.key] = {range[0], range[1]};
  }
  return options;
}

}  // namespace quarkq::config
