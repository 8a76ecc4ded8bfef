// SPDX-License-Identifier: MIT
// Boxes that are known to be right, by image.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

/// Corners; pixels of the image.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

struct TrueBox {
  Box box;
  size_t category = 0;    ///< index into BoxTruth::categories
  double area = 0;        ///< of the object, which may be less than the box's
  bool is_crowd = false;  ///< stands for many objects: what it matches counts neither way
};

struct TrueImage {
  std::string name;               ///< its file's, as the truth spells it
  int64_t width = 0, height = 0;  ///< 0: not known
  std::vector<TrueBox> boxes = {};
  bool is_relative = false;  ///< boxes are shares of the image, because its size is not known

  /// The boxes of an image that is so many times as wide and high.
  void scale_boxes(double wider, double higher);
};

struct BoxTruth {
  std::string path;
  std::vector<int64_t> categories;  ///< their ids, ascending
  bool has_ids = true;              ///< else `categories` counts the classes of a folder from 0
  std::vector<TrueImage> images;    ///< in the order of their ids

  /// The image of the sample called `name`: with or without folder and suffix. kBadData when there is none, or several.
  Result<size_t> find(const std::string& name) const;
  void add(TrueImage image);

 private:
  SampleNames by_name_{"image"};
};

/// COCO's JSON: "images", "annotations" with "bbox", "categories". Fails with kBadData naming what is damaged.
Result<BoxTruth> read_coco(const std::string& path);

/// A file of COCO's, or a folder with one file of YOLO's (.txt) or PASCAL VOC's (.xml) for each image. `classes_path`:
/// the names of a folder's classes, line by line; empty: its classes.txt. Fails with kBadData naming what is damaged.
Result<BoxTruth> read_boxes(const std::string& path, const std::string& classes_path);

// Boxes in folders that have a file for each photo: how each kind of file is read.

/// A line of YOLO's text files is an object: class, centre and size as shares of the photo. The photo, which gives the
/// size, is looked for beside the file and where its last folder "labels" is called "images". `classes`: how many.
Result<TrueImage> read_yolo_file(const std::string& path, size_t classes);

/// PASCAL VOC's XML. The first pixel is number 1, and the last one belongs to the box: (1, 1, 2, 2) are four pixels. An
/// object that is "difficult" is a crowd, its parts are left out. `classes`: their indices by name.
Result<TrueImage> read_voc_file(const std::string& path, const std::map<std::string, size_t>& classes);

}  // namespace quarkq::metrics
