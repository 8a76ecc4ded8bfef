// SPDX-License-Identifier: MIT
#include "pipeline/html/markup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pipeline/html/style.h"

namespace quarkq::pipeline::html {

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
