// SPDX-License-Identifier: MIT
// Heads of the YOLO family: a row per box.
#include <cmath>

#include "metrics/detect/heads.h"

namespace quarkq::metrics {
namespace {

/// The only output as rows of `columns` numbers; `is_transposed`: [columns, rows] instead.
struct Rows {
  std::vector<double> values = {};
  size_t rows = 0, columns = 0;
  bool is_transposed = false;

  double at(size_t row, size_t column) const {
    return is_transposed ? values[column * rows + row] : values[row * columns + column];
  }
};

Result<Rows> read_rows(const HeadInput& input, size_t columns, bool may_be_transposed) {
  const ir::Tensor& tensor = input.values[0];
  ir::Shape dims = tensor.dims();
  if (dims.size() == 3 && dims[0] == 1) dims.erase(dims.begin());
  const auto needed = static_cast<int64_t>(columns);
  Rows rows{.columns = columns};
  if (dims.size() == 2 && dims[1] == needed) {
    rows.rows = static_cast<size_t>(dims[0]);
  } else if (dims.size() == 2 && dims[0] == needed && may_be_transposed) {
    rows.rows = static_cast<size_t>(dims[1]);
    rows.is_transposed = true;
  } else {
    return bad_data("shape ", shape_text(tensor.dims()), " is not [1, boxes, ", columns, "]",
                    may_be_transposed ? cat(" or [1, ", columns, ", boxes]") : "", " for the ", input.classes(),
                    " classes of the truth");
  }
  QQ_TRY(rows.values, ir::to_double(tensor));
  return rows;
}

struct Centre {
  double x = 0, y = 0, width = 0, height = 0;

  bool is_finite() const {
    return std::isfinite(x) && std::isfinite(y) && std::isfinite(width) && std::isfinite(height);
  }
  Box box() const { return {x - width / 2, y - height / 2, x + width / 2, y + height / 2}; }
};

/// Each class of a row that scores enough is a detection; `factor` is the row's objectness.
void add_classes(const Rows& rows, size_t row, const Centre& centre, const HeadInput& input,
                 std::vector<Detection>& found) {
  const size_t first = rows.columns - input.classes();
  const double factor = first == 5 ? rows.at(row, 4) : 1;
  if (!centre.is_finite()) return;
  for (size_t c = 0; c < input.classes(); ++c) {
    const double score = factor * rows.at(row, first + c);
    if (score > input.min_score) found.push_back({centre.box(), score, c});
  }
}

Centre centre_of(const Rows& rows, size_t row) {
  return {rows.at(row, 0), rows.at(row, 1), rows.at(row, 2), rows.at(row, 3)};
}

Result<std::vector<Detection>> decode_pixels(const HeadInput& input, size_t before_classes, bool may_be_transposed) {
  QQ_TRY(const Rows rows, read_rows(input, before_classes + input.classes(), may_be_transposed));
  std::vector<Detection> found;
  for (size_t row = 0; row < rows.rows; ++row) add_classes(rows, row, centre_of(rows, row), input, found);
  return found;
}

struct Cell {
  double x = 0, y = 0, size = 0;
};

/// The cells of all grids, row by row, the finest grid first. Those of 64 pixels when there are so many `rows`.
std::vector<Cell> grid_cells(const calib::ImageSize& input, size_t rows) {
  std::vector<Cell> cells;
  for (const int64_t size : {8, 16, 32, 64}) {
    if (cells.size() >= rows) break;
    for (int64_t y = 0; y < input.height / size; ++y) {
      for (int64_t x = 0; x < input.width / size; ++x) {
        if (cells.size() > rows) return cells;
        cells.push_back({static_cast<double>(x), static_cast<double>(y), static_cast<double>(size)});
      }
    }
  }
  return cells;
}

}  // namespace

Result<std::vector<Detection>> decode_yolov5(const HeadInput& input) {
  return decode_pixels(input, 5, /*may_be_transposed=*/false);
}

Result<std::vector<Detection>> decode_yolov8(const HeadInput& input) {
  return decode_pixels(input, 4, /*may_be_transposed=*/true);
}

Result<std::vector<Detection>> decode_yolox(const HeadInput& input) {
  QQ_TRY(const Rows rows, read_rows(input, 5 + input.classes(), /*may_be_transposed=*/false));
  QQ_RETURN_IF_ERROR(need_input_size(input));
  const std::vector<Cell> cells = grid_cells(input.input, rows.rows);
  if (cells.size() != rows.rows) {
    return bad_data("there are ", rows.rows, " boxes, grids of an input of ", input.input.height, "x",
                    input.input.width, " pixels have another number of cells");
  }
  std::vector<Detection> found;
  for (size_t row = 0; row < rows.rows; ++row) {
    const Cell& cell = cells[row];
    Centre centre = centre_of(rows, row);
    centre.x = (centre.x + cell.x) * cell.size;
    centre.y = (centre.y + cell.y) * cell.size;
    centre.width = std::exp(centre.width) * cell.size;
    centre.height = std::exp(centre.height) * cell.size;
    add_classes(rows, row, centre, input, found);
  }
  return found;
}

}  // namespace quarkq::metrics
