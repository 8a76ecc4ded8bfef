// SPDX-License-Identifier: MIT
// Instances of COCO's JSON format.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = size_t{1} << 30;  // instances_train2017.json has 450 MB
constexpr double kFarthest = 1e9;               // no coordinate is that large; sums of such stay exact enough

bool is_int64(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  return value.is_number_integer();
}

std::optional<int64_t> integer_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && is_int64(*found) ? std::optional(found->get<int64_t>()) : std::nullopt;
}

std::optional<double> finite_number(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  return std::isfinite(number) && std::abs(number) <= kFarthest ? std::optional(number) : std::nullopt;
}

/// [x, y, width, height].
std::optional<Box> box_of(const Json& object) {
  const auto found = object.find("bbox");
  if (found == object.end() || !found->is_array() || found->size() != 4) return std::nullopt;
  double values[4];
  for (size_t i = 0; i < 4; ++i) {
    const std::optional<double> value = finite_number((*found)[i]);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return Box{values[0], values[1], values[0] + values[2], values[1] + values[3]};
}

class CocoReader {
 public:
  CocoReader(const std::string& path, const Json& json) : path_(path), json_(json) { truth_.path = path; }

  Result<BoxTruth> read() {
    for (const char* key : {"images", "annotations", "categories"}) {
      const auto found = json_.find(key);
      if (found == json_.end() || !found->is_array())
        return bad_data(path_, ": has no list \"", key, "\", needed is COCO's JSON");
    }
    QQ_RETURN_IF_ERROR(read_categories());
    QQ_RETURN_IF_ERROR(read_images());
    QQ_RETURN_IF_ERROR(read_annotations());
    for (auto& [id, image] : images_) truth_.add(std::move(image));
    return std::move(truth_);
  }

 private:
  Status damaged(const char* list, size_t number, const char* needed) const {
    return bad_data(path_, ": ", list, "[", number, "] has no ", needed);
  }

  Status read_categories() {
    const Json& list = json_["categories"];
    for (size_t i = 0; i < list.size(); ++i) {
      const std::optional<int64_t> id = list[i].is_object() ? integer_of(list[i], "id") : std::nullopt;
      if (!id) return damaged("categories", i, "integer \"id\"");
      truth_.categories.push_back(*id);
    }
    std::ranges::sort(truth_.categories);
    if (std::ranges::adjacent_find(truth_.categories) != truth_.categories.end()) {
      return bad_data(path_, ": two categories have the same id");
    }
    return truth_.categories.empty() ? bad_data(path_, ": has no categories") : Status();
  }

  Status read_images() {
    const Json& list = json_["images"];
    for (size_t i = 0; i < list.size(); ++i) {
      const Json& image = list[i];
      const std::optional<int64_t> id = image.is_object() ? integer_of(image, "id") : std::nullopt;
      const auto name = id ? image.find("file_name") : image.end();
      if (!id || name == image.end() || !name->is_string()) return damaged("images", i, "\"id\" and \"file_name\"");
      TrueImage read{.name = name->get<std::string>()};
      read.width = std::max(integer_of(image, "width").value_or(0), int64_t{0});
      read.height = std::max(integer_of(image, "height").value_or(0), int64_t{0});
      if (!images_.emplace(*id, std::move(read)).second) return bad_data(path_, ": two images have the id ", *id);
    }
    return images_.empty() ? bad_data(path_, ": has no images") : Status();
  }

  Status read_annotations() {
    const Json& list = json_["annotations"];
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object()) return damaged("annotations", i, "members");
      const std::optional<int64_t> image = integer_of(list[i], "image_id"),
                                   category = integer_of(list[i], "category_id");
      const std::optional<Box> box = box_of(list[i]);
      if (!image || !category || !box)
        return damaged("annotations", i, "\"image_id\", \"category_id\" and \"bbox\" of four numbers");
      const auto at = images_.find(*image);
      const auto known = std::ranges::lower_bound(truth_.categories, *category);
      if (at == images_.end() || known == truth_.categories.end() || *known != *category) {
        return damaged("annotations", i, "image and category of the lists");
      }
      TrueBox read{*box, static_cast<size_t>(known - truth_.categories.begin()), box->area()};
      if (const auto area = list[i].find("area"); area != list[i].end())
        read.area = finite_number(*area).value_or(read.area);
      read.is_crowd = integer_of(list[i], "iscrowd").value_or(0) != 0;
      at->second.boxes.push_back(read);
    }
    return Status();
  }

  const std::string& path_;
  const Json& json_;
  BoxTruth truth_;
  std::map<int64_t, TrueImage> images_;
};

}  // namespace

Result<BoxTruth> read_coco(const std::string& path) {
  Result<std::string> text = read_text_file(path, kMostBytes);
  if (!text.ok()) return bad_data(text.status().message());
  const Json json = parse_json<Json>(text.value());
  if (!json.is_object()) return bad_data(path, ": is not a JSON object, needed is COCO's JSON");
  return CocoReader(path, json).read();
}

}  // namespace quarkq::metrics
