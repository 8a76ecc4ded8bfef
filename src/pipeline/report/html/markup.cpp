// SPDX-License-Identifier: MIT
#include "pipeline/report/html/markup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace quarkq::pipeline::html {

namespace {

// The style sheet of the HTML report: light and dark by what the reader's system prefers, one column on a phone.

inline constexpr const char kStyle[] = R"css(
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #57606a; --line: #d8dee4; --fill: #2f6fb5;
  --good: #2d7d46; --fair: #b7791f; --bad: #c0392b; --track: #eaeef2; }
@media (prefers-color-scheme: dark) { :root { --back: #0e1116; --card: #171b22; --text: #e6e9ee; --soft: #9aa4b0; --line: #2c333d;
  --fill: #6aa7e8; --good: #5bbf7a; --fair: #e0a94a; --bad: #f0776a; --track: #252b34; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 1080px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 8px 0 4px; }
h2 { font-size: 1.1rem; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 14px 0; }
.note, figcaption { color: var(--soft); font-size: .87rem; margin: 0 0 8px; }
.verdict { font-size: 1.05rem; margin: 4px 0 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: 10px; margin: 14px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tile b { display: block; font-size: 1.25rem; }
.tile.bad b, .finding.warning b { color: var(--bad); }
.tile.good b { color: var(--good); }
.row { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr) 6.5em; gap: 10px; align-items: center; padding: 2px 0; }
.name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.figure { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; }
svg.bar { height: 12px; }
.track { fill: var(--track); } .fill { fill: var(--fill); } .good { fill: var(--good); } .fair { fill: var(--fair); } .bad { fill: var(--bad); }
.edge { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg.columns { height: 140px; } svg.picture { border: 1px solid var(--line); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; margin-bottom: 14px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 14px; }
figure { margin: 0; } figure svg { background: var(--track); border-radius: 4px; } figcaption { margin-top: 4px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; min-width: 4em; }
th { color: var(--soft); font-weight: 600; }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--soft); }
.finding { padding: 4px 0; border-bottom: 1px solid var(--line); } .finding:last-child { border: 0; }
@media (max-width: 560px) { main { padding: 8px; } .row { grid-template-columns: 1fr 6.5em; } .row .bar { grid-column: 1 / 3; grid-row: 2; } }
)css";

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  const double magnitude = std::abs(value);
  std::snprintf(text, sizeof text, magnitude >= 1e5 && magnitude < 1e15 ? "%.0f" : "%.4g", value);
  return text;
}

std::string element(const char* name, const Attributes& attributes, const std::string& content) {
  std::string result = std::string("<") + name;
  for (const auto& [key, value] : attributes) result += std::string(" ") + key + "=\"" + escaped(value) + "\"";
  return result + ">" + content + "</" + name + ">";
}

std::string text_element(const char* name, const std::string& text) { return element(name, {}, escaped(text)); }

std::string section(const std::string& title, const std::string& note, const std::string& content) {
  if (content.empty()) return "";
  const std::string said = note.empty() ? "" : element("p", {{"class", "note"}}, escaped(note));
  return element("section", {}, text_element("h2", title) + said + content) + "\n";
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  if (rows.size() < 2) return "";
  std::string body;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string cells;
    for (const std::string& cell : rows[i]) cells += text_element(i == 0 ? "th" : "td", cell);
    body += element("tr", {}, cells) + "\n";
  }
  return element("div", {{"class", "scroll"}}, element("table", {}, body));
}

std::string bar(double share, const char* kind) {
  char width[32];
  std::snprintf(width, sizeof width, "%.2f", 100 * std::clamp(share, 0.0, 1.0));
  const Attributes box = {
      {"class", "bar"}, {"viewBox", "0 0 100 10"}, {"preserveAspectRatio", "none"}, {"aria-hidden", "true"}};
  return element("svg", box,
                 element("rect", {{"class", "track"}, {"width", "100"}, {"height", "10"}}, "") +
                     element("rect", {{"class", kind}, {"width", width}, {"height", "10"}}, ""));
}

std::string tile(const std::string& title, const std::string& figure, const char* kind) {
  return element("div", {{"class", std::string("tile ") + kind}}, escaped(title) + element("b", {}, escaped(figure)));
}

std::string document(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">" +
         text_element("title", title) + "<style>" + kStyle + "</style></head>\n<body><main>\n" + body +
         "</main></body></html>\n";
}

}  // namespace quarkq::pipeline::html
