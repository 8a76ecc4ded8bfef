// SPDX-License-Identifier: MIT
// The few elements of PASCAL VOC's XML that boxes need. What is read is a list of elements without children, with their
// place: neither attributes nor entities are looked at, and nothing is opened that a file refers to.
#include <charconv>
#include <cmath>
#include <optional>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "calib/image/decode_image.h"
#include "metrics/truth/boxes.h"
#include "metrics/truth/labels.h"

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
      return bad_data(path, ": found class \"", excerpt(found[object + "/name"]), "\", which is none of the ",
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

namespace {

constexpr double kSlack = 0.01;  // what rounding of tools may add to a share

/// The numbers between blanks; nothing when one is none.
std::vector<double> numbers_in(const std::string& line) {
  std::vector<double> numbers;
  const char *at = line.data(), *end = at + line.size();
  const auto skip_blanks = [&] {
    while (at != end && (*at == ' ' || *at == '\t')) ++at;
  };
  for (skip_blanks(); at != end; skip_blanks()) {
    double number = 0;
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (stopped != end && *stopped != ' ' && *stopped != '\t')) return {};
    numbers.push_back(number);
    at = stopped;
  }
  return numbers;
}

/// The folder where photos of the labels in `folder` are by custom: labels/val is beside images/val.
std::string photo_folder(const std::string& folder) {
  std::vector<std::string> parts = paths::parts_of(folder);
  for (size_t i = parts.size(); i-- > 0;) {
    if (parts[i] != "labels") continue;
    parts[i] = "images";
    return paths::of_parts(parts);
  }
  return folder;
}

/// Fills in the size of the photo, if it is found.
Status find_size(const std::string& label, TrueImage& image) {
  const std::string own = paths::folder_of(label), stem = paths::stem_of(label);
  for (const std::string& folder : {own, photo_folder(own)}) {
    for (const char* suffix : {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"}) {
      const std::string photo = paths::joined(folder, stem + suffix);
      if (!file_exists(photo)) continue;
      QQ_TRY(const calib::Image size, calib::read_image_size(photo));
      image.width = size.width, image.height = size.height;
      return Status();
    }
  }
  return Status();
}

}  // namespace

Result<TrueImage> read_yolo_file(const std::string& path, size_t classes) {
  TrueImage image;
  QQ_TRY(const std::vector<std::string> lines, read_lines(path));
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    const std::vector<double> row = numbers_in(lines[i]);
    bool is_box = row.size() == 5 && row[0] >= 0 && row[0] < 1e9 && row[0] == std::floor(row[0]);
    for (size_t k = 1; k < row.size(); ++k) is_box = is_box && row[k] >= -kSlack && row[k] <= 1 + kSlack;
    if (!is_box) {
      return bad_data(path, ":", i + 1, ": found \"", excerpt(lines[i]),
                      "\", allowed is \"class x y width height\" with shares of the photo from 0 to 1");
    }
    const auto category = static_cast<size_t>(row[0]);
    if (category >= classes) {
      return bad_data(path, ":", i + 1, ": found class ", category, ", there are ", classes, " classes");
    }
    const Box box{row[1] - row[3] / 2, row[2] - row[4] / 2, row[1] + row[3] / 2, row[2] + row[4] / 2};
    image.boxes.push_back({box, category, box.area()});
  }
  QQ_RETURN_IF_ERROR(find_size(path, image));
  if (image.width < 1) {
    image.is_relative = true;
  } else {
    image.scale_boxes(static_cast<double>(image.width), static_cast<double>(image.height));
  }
  return image;
}

}  // namespace quarkq::metrics
