// SPDX-License-Identifier: MIT
#include "calib/histogram_file.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/file_system.h"

namespace quarkq::calib {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

}  // namespace

Status save_histogram(const std::string& folder, const std::string& name, const ValueStatistics& statistics,
                      numeric::Range range) {
  std::string file_name = name;
  std::replace_if(
      file_name.begin(), file_name.end(), [](char c) { return c == '/' || c == '.' || c == ':'; }, '_');
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return io_error(folder, ": cannot make this folder, ", error.message());
  const numeric::Range extremes = statistics.extremes();
  std::string text = cat("# tensor: ", name, "\n# observed: ", number(extremes.min), " ", number(extremes.max),
                         "\n# range: ", number(range.min), " ", number(range.max), "\nlow,high,count\n");
  for (const WeightedValue& bin : statistics.bins()) {
    const double low = static_cast<double>(bin.value) - static_cast<double>(bin.width) / 2;
    text += cat(number(low), ",", number(low + static_cast<double>(bin.width)), ",", bin.count, "\n");
  }
  return write_file(folder + "/" + file_name + ".csv", text);
}

}  // namespace quarkq::calib
