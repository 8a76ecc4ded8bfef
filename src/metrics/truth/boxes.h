// SPDX-License-Identifier: MIT
// Ground truth boxes, by image.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

/// Corners in pixels of the image.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

struct TrueBox {
  Box box;
  size_t category = 0;    ///< Index into BoxTruth::categories.
  double area = 0;        ///< Area of the object, which may be smaller than the box.
  bool is_crowd = false;  ///< Represents many objects: its matches are ignored.
};

struct TrueImage {
  std::string name;               ///< File name as spelled in the truth.
  int64_t width = 0, height = 0;  ///< 0 if unknown.
  std::vector<TrueBox> boxes = {};
  bool is_relative = false;  ///< Box coordinates are relative to the image, because its size is unknown.

  /// Scales the boxes by these factors of width and height.
  void scale_boxes(double wider, double higher);
};

struct BoxTruth {
  std::string path;
  std::vector<int64_t> categories;  ///< Their ids, ascending.
  bool has_ids = true;              ///< False: `categories` counts the classes of a folder from 0.
  std::vector<TrueImage> images;    ///< In the order of their ids.

  /// Returns the image of the sample called `name`, with or without folder and suffix. Fails with kBadData if there is
  /// none, or several.
  Result<size_t> find(const std::string& name) const;
  void add(TrueImage image);

 private:
  SampleNames by_name_{"image"};
};

/// Reads COCO's JSON: "images", "annotations" with "bbox", "categories". Fails with kBadData naming the fault.
Result<BoxTruth> read_coco(const std::string& path);

/// Reads a COCO file, or a folder with one YOLO file (.txt) or PASCAL VOC file (.xml) per image. `classes_path`
/// contains the names of a folder's classes, one per line; empty: its classes.txt. Fails with kBadData naming the
/// fault.
Result<BoxTruth> read_boxes(const std::string& path, const std::string& classes_path);

// Reading of boxes in folders with one file per photo.

/// Reads a YOLO text file. A line is an object: class, centre and size relative to the photo. The photo, which provides
/// the size, is searched next to the file and where the last folder "labels" of its path is replaced by "images".
/// `classes` is the number of classes.
Result<TrueImage> read_yolo_file(const std::string& path, size_t classes);

/// Reads PASCAL VOC's XML. The first pixel is number 1, and the last one belongs to the box: (1, 1, 2, 2) are four
/// pixels. A "difficult" object is a crowd; parts of objects are ignored. `classes` maps names to indices.
Result<TrueImage> read_voc_file(const std::string& path, const std::map<std::string, size_t>& classes);

}  // namespace quarkq::metrics
