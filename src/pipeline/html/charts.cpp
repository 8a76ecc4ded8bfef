// SPDX-License-Identifier: MIT
#include "pipeline/html/charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/strings.h"
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

std::string column_chart(const std::vector<BarRow>& rows) {
  if (rows.empty()) return "";
  constexpr double kChartWidth = 1000, kChartHeight = 140;
  const double step = kChartWidth / static_cast<double>(rows.size());
  std::string columns;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double height = std::max(1.0, kChartHeight * std::clamp(rows[i].share, 0.0, 1.0));
    columns += element("rect",
                       {{"class", rows[i].kind},
                        {"x", short_number(step * static_cast<double>(i))},
                        {"y", short_number(kChartHeight - height)},
                        {"width", short_number(std::max(0.8 * step, 0.5))},
                        {"height", short_number(height)}},
                       text_element("title", rows[i].name + ": " + rows[i].figure));
  }
  const std::string box = "0 0 " + short_number(kChartWidth) + " " + short_number(kChartHeight);
  return element("svg", {{"viewBox", box}, {"class", "columns"}, {"role", "img"}, {"aria-label", "noise by depth"}},
                 columns);
}

std::string picture(const Json& entry, const char* which) {
  const size_t width = entry.at("width").get<size_t>(), height = entry.at("height").get<size_t>();
  const size_t channels = entry.at("channels").get<size_t>();
  const std::string text = entry.at(which).get<std::string>();
  constexpr size_t kMostSide = 4096;
  if (width > kMostSide || height > kMostSide || channels > 3 || text.size() != 2 * width * height * channels)
    return "";
  const auto level = [&](size_t place) {  // a byte, as one of six or 36 levels: 216 colours, or 36 greys
    const auto digit = [&](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
    const int byte = std::clamp(16 * digit(text[2 * place]) + digit(text[2 * place + 1]), 0, 255);
    const int levels = channels == 1 ? 35 : 5;
    return (byte * levels + 127) / 255 * 255 / levels;
  };
  std::map<std::string, std::string> paths;  // by colour
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0, end = 0; x < width; x = end) {
      const auto colour_at = [&](size_t column) {
        const size_t place = (y * width + column) * channels;
        const int red = level(place), green = channels == 3 ? level(place + 1) : red;
        return cat("rgb(", red, ",", green, ",", channels == 3 ? level(place + 2) : red, ")");
      };
      const std::string colour = colour_at(x);
      for (end = x + 1; end < width && colour_at(end) == colour;) ++end;
      paths[colour] += cat("M", x, " ", y, "h", end - x, "v1h-", end - x, "z");
    }
  }
  std::string drawn;
  for (const auto& [colour, path] : paths) drawn += element("path", {{"fill", colour}, {"d", path}}, "");
  return element("svg",
                 {{"viewBox", cat("0 0 ", width, " ", height)},
                  {"class", "picture"},
                  {"role", "img"},
                  {"shape-rendering", "crispEdges"},
                  {"aria-label", which}},
                 drawn);
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

std::string scatter_chart(const std::vector<Point>& points, const std::string& across, const std::string& up) {
  if (points.empty()) return "";
  constexpr double kWide = 480, kHigh = 200, kMargin = 12, kRadius = 5;
  const auto [left, right] = std::ranges::minmax(points, {}, &Point::x);
  const auto [low, high] = std::ranges::minmax(points, {}, &Point::y);
  const auto place = [](double value, double from, double to, double size) {
    const double share = to > from ? (value - from) / (to - from) : 0.5;
    return kMargin + share * (size - 2 * kMargin);
  };
  std::string marks;
  for (const Point& point : points) {
    marks += element("circle",
                     {{"class", point.is_marked ? "good" : "fill"},
                      {"cx", short_number(place(point.x, left.x, right.x, kWide))},
                      {"cy", short_number(kHigh - place(point.y, low.y, high.y, kHigh))},
                      {"r", short_number(kRadius)}},
                     text_element("title", cat(point.name, ": ", short_number(point.y), ", ", short_number(point.x))));
  }
  const std::string caption = cat("across: ", across, ", ", short_number(left.x), " to ", short_number(right.x),
                                  "; up: ", up, ", ", short_number(low.y), " to ", short_number(high.y));
  return element("figure", {},
                 element("svg", {{"viewBox", cat("0 0 ", kWide, " ", kHigh)}, {"role", "img"}}, marks) +
                     text_element("figcaption", caption));
}

}  // namespace quarkq::pipeline::html
