// SPDX-License-Identifier: MIT
// The values of each stored float tensor as a picture and as numbers: NAME.csv and NAME.svg, and NAME_per_channel.csv
// and .svg with the extremes along axis 0.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ir/edit.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kBins = 128;
constexpr double kWidth = 640, kHeight = 240;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

/// Two ends for each of several things side by side.
struct Bar {
  double low = 0, high = 0;
};

struct Extremes {
  double low = INFINITY, high = -INFINITY;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

std::string escaped_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return escaped;
}

/// Bars from left to right, their ends between `ends`.
std::string svg(const std::string& title, const std::vector<Bar>& bars, Extremes ends) {
  std::string text = cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", kHeight + 20,
                         "\">\n<title>", escaped_text(title), "</title>\n");
  const double range = std::max(ends.high - ends.low, 1e-300), step = kWidth / static_cast<double>(bars.size());
  const auto place = [&](double value) { return kHeight * (1 - (value - ends.low) / range); };
  for (size_t i = 0; i < bars.size(); ++i) {
    const double height = place(bars[i].low) - place(bars[i].high);
    if (height <= 0) continue;
    text += cat("<rect fill=\"#4472c4\" x=\"", number_text(step * static_cast<double>(i)), "\" y=\"",
                number_text(place(bars[i].high)), "\" width=\"", number_text(step), "\" height=\"", number_text(height),
                "\"/>\n");
  }
  return text +
         cat("<text x=\"2\" y=\"", kHeight + 15, "\" font-size=\"12\">", escaped_text(title), "</text>\n</svg>\n");
}

Extremes extremes_of(const std::vector<double>& values) {
  Extremes ends;
  for (const double value : values) ends.add(value);
  return ends;
}

class Writer {
 public:
  Writer(std::string folder, std::vector<pass::SideFile>& files) : folder_(std::move(folder)), files_(files) {}

  /// False when no value is finite.
  bool add_counts(const std::string& tensor, const std::vector<double>& values) {
    const Extremes ends = extremes_of(values);
    if (ends.is_empty()) return false;
    const double step = (ends.high - ends.low) / static_cast<double>(kBins);
    std::vector<size_t> counts(kBins, 0);
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      const auto bin = step > 0 ? static_cast<size_t>((value - ends.low) / step) : 0;
      ++counts[std::min(bin, kBins - 1)];
    }
    std::string csv = "low,high,count\n";
    std::vector<Bar> bars;
    Extremes heights{0, 1};
    for (size_t i = 0; i < kBins; ++i) {
      const double low = ends.low + step * static_cast<double>(i);
      csv += cat(number_text(low), ",", number_text(low + step), ",", counts[i], "\n");
      bars.push_back({0, static_cast<double>(counts[i])});
      heights.add(bars.back().high);
    }
    const std::string title = cat(tensor, ": ", number_text(ends.low), " to ", number_text(ends.high));
    write(file_name(tensor, ""), csv, svg(title, bars, heights));
    return true;
  }

  void add_channels(const std::string& tensor, const std::vector<double>& values, size_t channels) {
    std::string csv = "channel,min,max\n";
    std::vector<Bar> bars;
    Extremes all;
    for (size_t channel = 0; channel < channels; ++channel) {
      const size_t size = values.size() / channels;
      Extremes ends;
      for (size_t i = channel * size; i < (channel + 1) * size; ++i) ends.add(values[i]);
      if (ends.is_empty()) ends = {0, 0};
      csv += cat(channel, ",", number_text(ends.low), ",", number_text(ends.high), "\n");
      bars.push_back({ends.low, ends.high});
      all.add(ends.low);
      all.add(ends.high);
    }
    write(file_name(tensor, "_per_channel"), csv, svg(cat(tensor, ": extremes of ", channels, " channels"), bars, all));
  }

 private:
  std::string file_name(std::string tensor, const char* suffix) {
    std::ranges::replace_if(
        tensor, [](char c) { return c == '/' || c == '.' || c == ':' || c == '\\'; }, '_');
    return names_.take(tensor + suffix);
  }
  void write(const std::string& name, std::string csv, std::string picture) {
    files_.push_back({cat(folder_, "/", name, ".csv"), std::move(csv)});
    files_.push_back({cat(folder_, "/", name, ".svg"), std::move(picture)});
  }

  std::string folder_;
  std::vector<pass::SideFile>& files_;
  ir::UniqueNames names_;
};

}  // namespace

Result<size_t> weight_histograms(pass::ConvertContext& context) {
  QQ_TRY(const bool per_channel, context.options.flag("per_channel"));
  const ir::Graph& graph = context.graph();
  Writer writer(context.options.text("folder"), context.files);
  size_t tensors = 0;
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    const Result<std::vector<double>> values = ir::to_double(tensor);
    if (!values.ok() || tensor.size() == 0 || !writer.add_counts(graph.value(id).name, values.value())) continue;
    ++tensors;
    if (per_channel && tensor.rank() >= 2)
      writer.add_channels(graph.value(id).name, values.value(), static_cast<size_t>(tensor.dims()[0]));
  }
  return tensors;
}

}  // namespace quarkq::rewrite
