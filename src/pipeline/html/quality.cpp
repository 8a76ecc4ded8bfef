// SPDX-License-Identifier: MIT
#include "pipeline/html/quality.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/strings.h"
#include "numeric/metrics.h"
#include "pipeline/html/charts.h"
#include "pipeline/html/markup.h"
#include "pipeline/html/report_text.h"

namespace quarkq::pipeline::html {
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
                 "value takes. Activations: the first sample, thinned out.",
                 table(cells));
}

}  // namespace quarkq::pipeline::html
