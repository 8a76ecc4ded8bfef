// SPDX-License-Identifier: MIT
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/file_system.h"
#include "calib/image/decode_image.h"
#include "metrics/truth/box_files.h"
#include "metrics/truth/texts.h"

namespace quarkq::metrics {
namespace {

using Path = std::filesystem::path;

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
Path photo_folder(const Path& folder) {
  std::vector<Path> parts(folder.begin(), folder.end());
  for (size_t i = parts.size(); i-- > 0;) {
    if (parts[i] != "labels") continue;
    parts[i] = "images";
    Path found;
    for (const Path& part : parts) found /= part;
    return found;
  }
  return folder;
}

/// Fills in the size of the photo, if it is found.
Status find_size(const Path& label, TrueImage& image) {
  for (const Path& folder : {label.parent_path(), photo_folder(label.parent_path())}) {
    for (const char* suffix : {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"}) {
      const Path photo = folder / label.filename().replace_extension(suffix);
      if (!file_exists(photo.string())) continue;
      QQ_TRY(const calib::Image size, calib::read_image_size(photo.string()));
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
      return bad_data(path, ":", i + 1, ": found \"", lines[i].substr(0, 80),
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
