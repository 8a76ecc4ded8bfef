// SPDX-License-Identifier: MIT
// The few elements of PASCAL VOC's XML that boxes need. What is read is a list of elements without children, with their
// place: neither attributes nor entities are looked at, and nothing is opened that a file refers to.
#include <cmath>
#include <optional>

#include "base/file_system.h"
#include "base/parse_number.h"
#include "metrics/truth/box_files.h"

namespace quarkq::metrics {
namespace {

// A file of a photo has a few kilobytes; these bound the memory that a hostile one can take.
constexpr size_t kMostXmlBytes = size_t{1} << 20, kMostXmlDepth = 32, kMostNameBytes = 64;
constexpr size_t kDeepestRead = 4;  // annotation/object/bndbox/xmin
constexpr double kFarthestPixel = 1e9;

/// An element without children, or the end of one with children (`text` is empty then).
struct Element {
  std::string place;  ///< "annotation/object/name"
  std::string_view text;
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Nothing when the tags do not fit each other.
std::optional<std::vector<Element>> elements_of(std::string_view xml) {
  std::vector<Element> elements;
  std::vector<std::string_view> open;
  size_t text_begin = 0;     // after the last tag
  bool has_children = true;  // of the innermost open element: what was read last is no start of one
  const auto close = [&](std::string_view text) {
    if (open.size() <= kDeepestRead) elements.push_back({join(open, "/"), without_blanks(text)});
    open.pop_back();
    has_children = true;
  };
  for (size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', text_begin)) {
    const bool is_comment = xml.substr(at).starts_with("<!--");
    const size_t end = xml.find(is_comment ? "-->" : ">", at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = xml.substr(text_begin, at - text_begin), tag = xml.substr(at + 1, end - at - 1);
    text_begin = end + (is_comment ? 3 : 1);
    if (tag.starts_with('!') || tag.starts_with('?')) continue;
    const std::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n/", 1));
    if (tag.starts_with('/')) {
      if (open.empty() || without_blanks(tag.substr(1)) != open.back()) return std::nullopt;
      close(has_children ? std::string_view() : text);
      continue;
    }
    if (open.size() == kMostXmlDepth || name.size() > kMostNameBytes) return std::nullopt;
    open.push_back(name);
    has_children = false;
    if (tag.ends_with('/')) close({});
  }
  return open.empty() ? std::optional(std::move(elements)) : std::nullopt;
}

std::optional<double> pixels_in(std::string_view text) {
  const std::optional<double> number = parse_finite(text);
  return number && std::abs(*number) <= kFarthestPixel ? number : std::nullopt;
}

}  // namespace

Result<TrueImage> read_voc_file(const std::string& path, const std::map<std::string, size_t>& classes) {
  const Result<std::string> text = read_text_file(path, kMostXmlBytes);
  if (!text.ok()) return bad_data(text.status().message());
  const auto elements = elements_of(text.value());
  if (!elements) return bad_data(path, ": is damaged XML, or deeper than ", kMostXmlDepth, " elements");
  TrueImage image;
  std::map<std::string, std::string> found;  // of the object so far, by place
  const std::string object = "annotation/object";
  for (const Element& element : *elements) {
    if (element.place != object) {
      found[element.place] = element.text;
      continue;
    }
    double sides[4];
    for (size_t i = 0; i < 4; ++i) {
      const char* name[] = {"xmin", "ymin", "xmax", "ymax"};
      const std::optional<double> side = pixels_in(found[object + "/bndbox/" + name[i]]);
      if (!side) return bad_data(path, ": object ", image.boxes.size() + 1, " has no number ", name[i]);
      sides[i] = *side;
    }
    const auto known = classes.find(found[object + "/name"]);
    if (known == classes.end()) {
      return bad_data(path, ": found class \"", found[object + "/name"].substr(0, 80), "\", which is none of the ",
                      classes.size(), " classes");
    }
    const Box box{sides[0] - 1, sides[1] - 1, sides[2], sides[3]};
    image.boxes.push_back({box, known->second, box.area(), found[object + "/difficult"] == "1"});
    std::erase_if(found, [&](const auto& one) { return one.first.starts_with(object); });
  }
  image.width = static_cast<int64_t>(pixels_in(found["annotation/size/width"]).value_or(0));
  image.height = static_cast<int64_t>(pixels_in(found["annotation/size/height"]).value_or(0));
  return image;
}

}  // namespace quarkq::metrics
