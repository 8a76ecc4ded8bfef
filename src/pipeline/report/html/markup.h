// SPDX-License-Identifier: MIT
// Text of HTML and SVG. Everything that comes from a file passes through escaped().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/report/json.h"

namespace quarkq::pipeline::html {

// Texts of a report that was read from a file.

/// Throws Json::exception where there is no such key, or something else than a text.
inline std::string text_of(const Json& entry, const char* key) { return entry.at(key).get<std::string>(); }

/// Safe as text and inside a quoted attribute.
std::string escaped(const std::string& text);

/// A number for people: four significant digits, no exponent where it can be avoided; "-" for what is not finite.
std::string short_number(double value);

using Attributes = std::vector<std::pair<const char*, std::string>>;

/// <name key="value">content</name>; values are escaped, `content` is markup.
std::string element(const char* name, const Attributes& attributes, const std::string& content);
/// The same with escaped text inside.
std::string text_element(const char* name, const std::string& text);

/// A headed part of the page; empty when `content` is.
std::string section(const std::string& title, const std::string& note, const std::string& content);

/// Rows of cells that are text; the header is the first row.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A figure with what it is; `kind`: a class that colours it.
std::string tile(const std::string& title, const std::string& figure, const char* kind = "");

/// The whole page, with its style.
std::string document(const std::string& title, const std::string& body);

/// A bar of `share` (0 to 1) of the width; `kind`: a class that colours it.
std::string bar(double share, const char* kind);

}  // namespace quarkq::pipeline::html
