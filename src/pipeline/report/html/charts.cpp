// SPDX-License-Identifier: MIT
#include "pipeline/report/html/charts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/strings.h"
#include "numeric/metrics.h"
#include "pipeline/report/html/markup.h"

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

namespace {

constexpr double kNoNoiseDb = 60;  // of an empty bar

/// Null stands for no noise at all.
double db_of(const Json& entry, const char* key) {
  const Json& value = entry.at(key);
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

const char* kind_of(double db) { return db < 10 ? "bad" : db < 20 ? "fair" : "good"; }

BarRow noise_row(const Json& tensor) {
  const double found = db_of(tensor, "sqnr_db");
  return {text_of(tensor, "name"),
          text_of(tensor, "node") + ", inputs " + numeric::decibels_text(db_of(tensor, "inputs_db")),
          numeric::decibels_text(found), 1 - found / kNoNoiseDb, kind_of(found)};
}

const Json* list_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found == entry.end() || !found->is_array() || found->empty() ? nullptr : &*found;
}

std::string percent(double share) { return short_number(100 * share) + " %"; }

}  // namespace

std::string operators(const Json& run) {
  if (!run.contains("operators")) return "";
  std::map<std::string, std::vector<std::string>> rows;
  for (const auto& [op, count] : run.at("operators").items())
    rows[op] = {op, count.at("total").dump(), count.at("quantized").dump(), "0"};
  for (const auto& [op, count] : run.at("ops").at("quantized").items()) {
    rows.try_emplace(op, std::vector<std::string>{op, "0", "0", "0"});
    rows[op][3] = count.dump();
  }
  std::vector<std::vector<std::string>> cells = {{"operator", "loaded", "quantized", "written"}};
  for (auto& [op, row] : rows) cells.push_back(std::move(row));
  return section("Operators", "Nodes of the model as loaded, those that are quantized, and nodes of the result.",
                 table(cells));
}

std::string noise(const Json& details) {
  std::vector<BarRow> rows;
  for (const Json& tensor : details.at("tensors")) rows.push_back(noise_row(tensor));
  const std::string by_depth = section(
      "Noise by depth",
      "Quantization noise of every tensor from the inputs to the outputs: a column of full height is 0 dB or less, as "
      "much noise as signal, none 60 dB.",
      column_chart(rows));
  std::vector<const Json*> tensors;
  for (const Json& tensor : details.at("tensors")) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Json* a, const Json* b) { return db_of(*a, "sqnr_db") < db_of(*b, "sqnr_db"); });
  rows.clear();
  for (const Json* tensor : tensors) rows.push_back(noise_row(*tensor));
  return by_depth + section("Noise by tensor",
                            "The same tensors, the noisiest first, with their signal to noise ratio against the float "
                            "model on one sample. A full bar is 0 dB or less.",
                            bar_chart(rows));
}

std::string samples(const Json& details) {
  const Json* all = list_of(details, "samples");
  if (all == nullptr) return "";
  std::vector<BarRow> rows;
  for (const Json& one : *all) {
    const double cosine = one.at("cosine").is_number() ? one.at("cosine").get<double>() : -1;
    constexpr double kPoor = 0.9, kGood = 0.99;
    rows.push_back({text_of(one, "sample"), "output " + text_of(one, "output"),
                    one.at("cosine").is_number() ? short_number(cosine) : "-", cosine < kPoor ? 1.0 : cosine,
                    cosine < kPoor   ? "bad"
                    : cosine < kGood ? "fair"
                                     : "good"});
  }
  return section("Outputs by sample", "Cosine of each output with the float one; below 0.9 the whole bar is red.",
                 bar_chart(rows));
}

std::string pictures(const Json& details) {
  const Json* all = list_of(details, "pictures");
  if (all == nullptr) return "";
  std::string content;
  for (const Json& one : *all) {
    const std::string name = text_of(one, "output") + ", sample " + text_of(one, "sample");
    content += element("div", {{"class", "pair"}},
                       element("figure", {}, picture(one, "float") + text_element("figcaption", "float: " + name)) +
                           element("figure", {},
                                   picture(one, "quantized") + text_element("figcaption", "quantized: " + name))) +
               "\n";
  }
  return section("Output images", "Thinned out, in few colours, both scaled as the float one needs.", content);
}

std::string ranges(const Json& details) {
  std::vector<std::pair<double, std::vector<std::string>>> rows;
  for (const Json& profile : details.at("profiles")) {
    const auto share = [&](const char* key) {
      return profile.contains(key) && profile.at(key).is_number() ? profile.at(key).get<double>() : -1;
    };
    const double clipped = share("clipped"), unused = share("unused");
    if (clipped < 0) continue;
    rows.push_back({std::max(clipped, unused),
                    {text_of(profile, "name"), text_of(profile, "role") + " " + text_of(profile, "type"),
                     percent(clipped), unused < 0 ? "-" : percent(unused)}});
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::vector<std::string>> cells = {{"tensor", "format", "values clipped", "integers unused"}};
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, rows.size()); ++i) cells.push_back(rows[i].second);
  return section("Clipping and unused integers",
                 "The worst 20: the share of the values outside of the quantized range, and of its integers that no "
                 "value uses. Activations: the first sample, subsampled.",
                 table(cells));
}

}  // namespace quarkq::pipeline::html
