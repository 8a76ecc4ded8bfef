// SPDX-License-Identifier: MIT
#include "calib/histogram_file.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/file_system.h"
#include "base/printable.h"

namespace quarkq::calib {
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
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) return io_error(path_, ": cannot make this folder, ", error.message());
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
