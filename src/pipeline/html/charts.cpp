// SPDX-License-Identifier: MIT
#include "pipeline/html/charts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pipeline/html/markup.h"

namespace quarkq::pipeline::html {
namespace {

constexpr double kWidth = 240, kHeight = 80;

std::string rect(double x, double y, double width, double height, const char* kind) {
  return element("rect",
                 {{"class", kind},
                  {"x", short_number(x)},
                  {"y", short_number(y)},
                  {"width", short_number(width)},
                  {"height", short_number(height)}},
                 "");
}

std::string line(double x, const char* kind) {
  return element(
      "line",
      {{"class", kind}, {"x1", short_number(x)}, {"x2", short_number(x)}, {"y1", "0"}, {"y2", short_number(kHeight)}},
      "");
}

std::optional<double> maybe(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found == entry.end() || !found->is_number() ? std::nullopt : std::optional<double>(found->get<double>());
}

/// Bars of the counts on a logarithmic scale, so that rare values stay visible.
std::string count_bars(const Json& counts, double left, double width) {
  double most = 0;
  for (const Json& count : counts) most = std::max(most, std::log1p(count.get<double>()));
  std::string bars;
  const double step = width / static_cast<double>(std::max<size_t>(1, counts.size()));
  for (size_t i = 0; i < counts.size(); ++i) {
    const double height = most > 0 ? (kHeight - 4) * std::log1p(counts[i].get<double>()) / most : 0;
    if (height > 0)
      bars += rect(left + step * static_cast<double>(i), kHeight - height, std::max(step - 0.5, 0.5), height, "fill");
  }
  return bars;
}

}  // namespace

std::string bar_chart(const std::vector<BarRow>& rows) {
  std::vector<std::string> parts;
  for (const BarRow& row : rows) {
    const std::string name = element("span", {{"class", "name"}, {"title", row.detail}}, escaped(row.name));
    parts.push_back(
        element("div", {{"class", "row"}},
                name + bar(row.share, row.kind) + element("span", {{"class", "figure"}}, escaped(row.figure))) +
        "\n");
  }
  return folded(parts, 30, "bars", "more");
}

std::string histogram(const Json& profile) {
  const double least = profile.at("least").is_number() ? profile.at("least").get<double>() : 0;
  const double most = profile.at("most").is_number() ? profile.at("most").get<double>() : 0;
  const std::optional<double> low = maybe(profile, "low"), high = maybe(profile, "high");
  const double span = most > least ? most - least : std::max(std::abs(most), 1e-30);
  // A range much wider than the values is cut off, so that those stay visible.
  double begin = std::max(std::min(least, low.value_or(least)), least - span);
  double end = std::min(std::max(most, high.value_or(most)), most + span);
  const double margin = 0.02 * (end - begin);
  begin -= margin;
  end += margin;
  const auto place = [&](double value) { return kWidth * (value - begin) / std::max(end - begin, 1e-30); };
  std::string picture = count_bars(profile.at("counts"), place(least), std::max(place(most) - place(least), 2.0));
  if (low && *low >= begin) picture += line(place(*low), "edge");
  if (high && *high <= end) picture += line(place(*high), "edge");
  const std::string type = profile.at("type").get<std::string>(), role = profile.at("role").get<std::string>();
  const size_t channels = profile.at("channels").get<size_t>();
  std::string caption = role + " " + type + ", values " + short_number(least) + " to " + short_number(most);
  if (low && high) caption += ", range " + short_number(*low) + " to " + short_number(*high);
  if (channels > 1) caption += ", " + std::to_string(channels) + " channels";
  const std::string box = "0 0 " + short_number(kWidth) + " " + short_number(kHeight);
  const std::string name = profile.at("name").get<std::string>();
  return element("figure", {},
                 element("svg", {{"viewBox", box}, {"role", "img"}, {"aria-label", name + ": " + caption}}, picture) +
                     element("figcaption", {}, element("b", {}, escaped(name)) + " " + escaped(caption))) +
         "\n";
}

std::string folded(const std::vector<std::string>& parts, size_t shown, const char* wrapper, const char* what) {
  std::string first, rest;
  for (size_t i = 0; i < parts.size(); ++i) (i < shown ? first : rest) += parts[i];
  std::string content = first.empty() ? "" : element("div", {{"class", wrapper}}, first);
  if (!rest.empty()) {
    const std::string summary = text_element("summary", std::to_string(parts.size() - shown) + " " + what);
    content += element("details", {}, summary + element("div", {{"class", wrapper}}, rest));
  }
  return content;
}

}  // namespace quarkq::pipeline::html
