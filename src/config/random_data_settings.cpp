// SPDX-License-Identifier: MIT
#include "config/random_data_settings.h"

namespace quarkq::config {
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
