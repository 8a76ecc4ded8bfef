// SPDX-License-Identifier: MIT
// Boxes in folders that have a file for each photo: how each kind of file is read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

/// A line of YOLO's text files is an object: class, centre and size as shares of the photo. The photo, which gives the
/// size, is looked for beside the file and where its last folder "labels" is called "images". `classes`: how many.
Result<TrueImage> read_yolo_file(const std::string& path, size_t classes);

/// PASCAL VOC's XML. The first pixel is number 1, and the last one belongs to the box: (1, 1, 2, 2) are four pixels. An
/// object that is "difficult" is a crowd, its parts are left out. `classes`: their indices by name.
Result<TrueImage> read_voc_file(const std::string& path, const std::map<std::string, size_t>& classes);

}  // namespace quarkq::metrics
