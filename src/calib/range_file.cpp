// SPDX-License-Identifier: MIT
#include "calib/range_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/strings.h"

namespace quarkq::calib {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReferenceVersion = "0.13";  // what the reference expects to read

bool read_end(const Json& value, float& end) {
  const Json& number = value.is_array() && value.size() == 1 ? value[0] : value;
  if (!number.is_number() || !(std::abs(number.get<double>()) <= std::numeric_limits<float>::max())) return false;
  end = static_cast<float>(number.get<double>());
  return true;
}

}  // namespace

Status save_ranges(const std::string& path, const NamedRanges& ranges, config::CalibrateMethod method) {
  const bool in_lists = method == config::CalibrateMethod::kMinMax || method == config::CalibrateMethod::kNonOverflow;
  Json json = Json::object();
  json["quark_version"] = kReferenceVersion;
  json["tensors_range"] = Json::object();
  for (const auto& [name, range] : ranges) {
    const auto low = static_cast<double>(range.min), high = static_cast<double>(range.max);
    json["tensors_range"][name] =
        in_lists ? Json::array({Json::array({low}), Json::array({high})}) : Json::array({low, high});
  }
  return write_file(path, json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n");
}

Result<NamedRanges> load_ranges(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text.ok()) return bad_data(text.status().message());
  const Json json = parse_json<Json>(text.value());
  if (json.is_discarded() || !json.is_object()) return bad_data(path, ": not a JSON object");
  const auto entries = json.find("tensors_range");
  if (entries == json.end() || !entries->is_object()) return bad_data(path, ": has no map tensors_range");
  NamedRanges ranges;
  for (const auto& [name, ends] : entries->items()) {
    numeric::Range range;
    if (!ends.is_array() || ends.size() != 2 || !read_end(ends[0], range.min) || !read_end(ends[1], range.max) ||
        range.min > range.max) {
      return bad_data(path, ": tensors_range.", name, ": found ", ends.dump().substr(0, 40),
                      ", needed is [low, high], both float32");
    }
    ranges[name] = range;
  }
  return ranges;
}

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

}  // namespace

std::string HistogramFolder::free_name(const std::string& tensor) {
  constexpr size_t kMostBytes = 200;  // file systems allow 255
  std::string plain = printable(tensor);
  size_t end = std::min(plain.size(), kMostBytes);
  while (end > 0 && end < plain.size() && (static_cast<unsigned char>(plain[end]) & 0xC0) == 0x80) --end;
  plain.resize(end);  // between two characters
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '/' || c == '.' || c == ':'; }, '_');
  std::string free = plain;
  for (size_t number = 2; !taken_.insert(free).second; ++number) free = cat(plain, "_", number);
  return free;
}

Status HistogramFolder::save(const std::string& name, const ValueStatistics& statistics, numeric::Range range) {
  QQ_RETURN_IF_ERROR(paths::make_folders(path_));
  const numeric::Range extremes = statistics.extremes();
  std::string text =
      cat("# tensor: ", printable(name), "\n# observed: ", number(extremes.min), " ", number(extremes.max),
          "\n# range: ", number(range.min), " ", number(range.max), "\nlow,high,count\n");
  for (const WeightedValue& bin : statistics.bins()) {
    const double low = static_cast<double>(bin.value) - static_cast<double>(bin.width) / 2;
    text += cat(number(low), ",", number(low + static_cast<double>(bin.width)), ",", bin.count, "\n");
  }
  return write_file(path_ + "/" + free_name(name) + ".csv", text);
}

}  // namespace quarkq::calib
