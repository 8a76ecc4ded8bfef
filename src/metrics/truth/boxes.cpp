// SPDX-License-Identifier: MIT
#include "metrics/truth/boxes.h"

#include <algorithm>
#include <numeric>

#include "base/file_system.h"
#include "base/paths.h"
#include "metrics/truth/labels.h"

namespace quarkq::metrics {

void TrueImage::scale_boxes(double wider, double higher) {
  for (TrueBox& one : boxes) {
    one.box.left *= wider, one.box.right *= wider;
    one.box.top *= higher, one.box.bottom *= higher;
    one.area *= wider * higher;
  }
}

void BoxTruth::add(TrueImage image) {
  by_name_.add(image.name, images.size());
  images.push_back(std::move(image));
}

Result<size_t> BoxTruth::find(const std::string& name) const { return by_name_.find(path, name); }

// Boxes of a file or a folder: which kind it is, and the names of the classes.

namespace {

constexpr const char* kClassesFile = "classes.txt";  // as labelling tools write it beside the boxes

/// The files of one kind below `folder`; none when there are none.
std::vector<std::string> files_of(const std::string& folder, const std::string& suffix) {
  const Result<NamedFiles> found = NamedFiles::read(folder, {suffix}, "file");
  std::vector<std::string> paths = found.ok() ? found.value().paths() : std::vector<std::string>();
  std::erase_if(paths, [](const std::string& path) { return last_part(path) == kClassesFile; });
  return paths;
}

Result<std::vector<std::string>> class_names(const std::string& folder, const std::string& classes_path) {
  const std::string own = paths::joined(folder, kClassesFile);
  if (classes_path.empty() && !file_exists(own)) {
    return invalid_argument("--classes: found none, needed for ", folder,
                            " is a file with the name of each class, line by line; or a ", kClassesFile, " in it");
  }
  const std::string& path = classes_path.empty() ? own : classes_path;
  QQ_TRY(std::vector<std::string> names, read_lines(path));
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) return bad_data(path, ": contains no classes");
  return names;
}

Result<BoxTruth> read_box_folder(const std::string& folder, const std::string& classes_path) {
  const std::vector<std::string> yolo = files_of(folder, ".txt"), voc = files_of(folder, ".xml");
  if (yolo.empty() == voc.empty()) {
    return bad_data(folder, ": holds ", yolo.size(), " .txt and ", voc.size(),
                    " .xml files, needed are boxes of one kind");
  }
  QQ_TRY(const std::vector<std::string> names, class_names(folder, classes_path));
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  BoxTruth truth;
  truth.path = folder;
  truth.has_ids = false;
  truth.categories.resize(names.size());
  std::iota(truth.categories.begin(), truth.categories.end(), int64_t{0});
  for (const std::string& path : yolo.empty() ? voc : yolo) {
    QQ_TRY(TrueImage image, yolo.empty() ? read_voc_file(path, places) : read_yolo_file(path, names.size()));
    image.name = paths::relative_to(path, folder);
    truth.add(std::move(image));
  }
  return truth;
}

}  // namespace

Result<BoxTruth> read_boxes(const std::string& path, const std::string& classes_path) {
  return is_folder(path) ? read_box_folder(path, classes_path) : read_coco(path);
}

}  // namespace quarkq::metrics
