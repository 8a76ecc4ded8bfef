// SPDX-License-Identifier: MIT
// Text of HTML and SVG. All text from files is passed through escaped().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/report/json.h"

namespace quarkq::pipeline::html {

/// Throws Json::exception if the key does not exist or its value is not a text.
inline std::string text_of(const Json& entry, const char* key) { return entry.at(key).get<std::string>(); }

/// Returns the text escaped for content and for quoted attributes.
std::string escaped(const std::string& text);

/// Returns a readable number: four significant digits, without an exponent if possible; "-" if it is not finite.
std::string short_number(double value);

using Attributes = std::vector<std::pair<const char*, std::string>>;

/// Returns <name key="value">content</name>. Values are escaped; `content` is markup.
std::string element(const char* name, const Attributes& attributes, const std::string& content);
/// Returns an element that contains `text`, escaped.
std::string text_element(const char* name, const std::string& text);

/// Returns a part of the page with a heading; empty if `content` is empty.
std::string section(const std::string& title, const std::string& note, const std::string& content);

/// Returns a table of text cells. The header is the first row.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// Returns a figure with its title. `kind` is a class that sets its colour.
std::string tile(const std::string& title, const std::string& figure, const char* kind = "");

/// Returns the whole page with its style.
std::string document(const std::string& title, const std::string& body);

/// Returns a bar of `share` (0 to 1) of the width. `kind` is a class that sets its colour.
std::string bar(double share, const char* kind);

}  // namespace quarkq::pipeline::html
