// SPDX-License-Identifier: MIT
// NonMaxSuppression. How many boxes are kept depends on the data, so they are chosen in prepare.
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

struct Suppression {
  int64_t images = 0, classes = 0, boxes = 0, most = 0;
  float overlap = 0;  ///< intersection over union above which a box is dropped
  bool has_lowest = false;
  float lowest = 0;  ///< scores must be above
  bool centered = false;
};

struct Box {
  float top = 0, left = 0, bottom = 0, right = 0, area = 0;
};

Box read_box(const float* b, bool centered) {
  Box box;
  if (centered) {
    const float half_width = b[2] / 2, half_height = b[3] / 2;
    box = {b[1] - half_height, b[0] - half_width, b[1] + half_height, b[0] + half_width};
  } else {
    box = {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
  }
  box.area = (box.right - box.left) * (box.bottom - box.top);
  return box;
}

bool overlaps(const Box& a, const Box& b, float limit) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0 && a.area > 0 && b.area > 0)) return false;
  const float common = width * height, together = a.area + b.area - common;
  return common > 0 && together > 0 && common / together > limit;
}

/// Boxes that stay for one class of one image, best first; of equal scores the lower index first.
std::vector<int64_t> select_boxes(const Suppression& s, const std::vector<Box>& boxes, const float* scores) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < s.boxes; ++i) {
    if (!std::isnan(scores[i]) && (!s.has_lowest || scores[i] > s.lowest)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= s.most) break;
    const Box& box = boxes[static_cast<size_t>(i)];
    const bool stays = std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
      return overlaps(box, boxes[static_cast<size_t>(other)], s.overlap);
    });
    if (stays) kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> select_all(const Suppression& s, const float* boxes, const float* scores) {
  std::vector<std::vector<int64_t>> kept(static_cast<size_t>(s.images * s.classes));
  std::vector<std::vector<Box>> by_image(static_cast<size_t>(s.images));
  for (int64_t i = 0; i < s.images * s.boxes; ++i) {
    by_image[static_cast<size_t>(i / s.boxes)].push_back(read_box(boxes + 4 * i, s.centered));
  }
  for_rows(s.images * s.classes, 16 * s.boxes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      kept[static_cast<size_t>(i)] =
          select_boxes(s, by_image[static_cast<size_t>(i / s.classes)], scores + i * s.boxes);
    }
  });
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < s.images * s.classes; ++i) {
    for (const int64_t box : kept[static_cast<size_t>(i)]) {
      rows.insert(rows.end(), {i / s.classes, i % s.classes, box});
    }
  }
  return rows;
}

/// The only element of optional input `i`.
Status read_scalar(const Prepare& p, size_t i, float& value) {
  QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kFloat}));
  if (product(p.in(i).dims) != 1) return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", must be a scalar");
  value = p.constant(i)->data<float>()[0];
  return Status();
}

Status read_limits(const Prepare& p, Suppression& s) {
  if (p.has(2)) {
    QQ_RETURN_IF_ERROR(p.require_input(2, {ElementType::kInt64, ElementType::kInt32}));
    QQ_TRY(const auto most, p.known_ints(2));
    if (most->size() != 1) return p.corrupt("input 2 has ", most->size(), " elements, must have 1");
    s.most = std::max<int64_t>(most->front(), 0);
  }
  if (p.has(3)) QQ_RETURN_IF_ERROR(read_scalar(p, 3, s.overlap));
  if (!(s.overlap >= 0.0f && s.overlap <= 1.0f)) return p.corrupt("iou_threshold is ", s.overlap, ", allowed: 0 to 1");
  s.has_lowest = p.has(4);
  if (s.has_lowest) QQ_RETURN_IF_ERROR(read_scalar(p, 4, s.lowest));
  const int64_t centered = p.node().int_or("center_point_box", 0);
  if (centered != 0 && centered != 1) return p.corrupt("center_point_box is ", centered, ", allowed: 0, 1");
  s.centered = centered == 1;
  return Status();
}

Result<Kernel> prepare_non_max_suppression(Prepare& p) {
  for (size_t i = 0; i < 2; ++i) QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kFloat}));
  const ir::Shape &boxes = p.in(0).dims, &scores = p.in(1).dims;
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] || scores[2] != boxes[1]) {
    return p.corrupt("boxes ", shape_text(boxes), " and scores ", shape_text(scores),
                     ", must be [images, boxes, 4] and [images, classes, boxes]");
  }
  for (size_t i = 0; i < p.input_count(); ++i) {
    if (p.has(i) && p.constant(i) == nullptr) return Prepare::defer();
  }
  Suppression s{scores[0], scores[1], scores[2]};
  QQ_RETURN_IF_ERROR(read_limits(p, s));
  std::vector<int64_t> rows;
  if (product(scores) > 0) {
    rows = select_all(s, p.constant(0)->data<float>().data(), p.constant(1)->data<float>().data());
  }
  p.out(0, ElementType::kInt64, {static_cast<int64_t>(rows.size()) / 3, 3});
  return Kernel([rows = std::move(rows)](const Run& run) {
    std::copy(rows.begin(), rows.end(), run.out<int64_t>(0));
    return Status();
  });
}

}  // namespace

std::span<const OpDef> detection_ops() {
  static constexpr OpDef kOps[] = {
      {"NonMaxSuppression", "", 10, LayoutRule::kPlain, prepare_non_max_suppression},
  };
  return kOps;
}

}  // namespace quarkq::exec
