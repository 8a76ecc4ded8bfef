// SPDX-License-Identifier: MIT
// Pixels to the values of a model input. A channel has 256 possible values, so the arithmetic is done once per value in
// a table, checked and converted there, and pixels are looked up.
#include "calib/image/read_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "calib/image/resize_image.h"
#include "numeric/real_numbers.h"

namespace quarkq::calib {
namespace {

using config::ColorOrder;
using config::ImageLayout;
using config::Preprocess;

constexpr int64_t kLevels = 256;
constexpr float kIntegral = 1.0f / 1024;  ///< largest distance from an integer of a value for an integer input

bool can_be_channels(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

/// The dimensions of one image, without the batch; empty if the input's are not those of images.
ir::Shape image_dims(const InputSpec& input) {
  if (!input.has_shape || (input.dims.size() != 4 && input.dims.size() != 3)) return {};
  return {input.dims.end() - 3, input.dims.end()};
}

ImageLayout choose_layout(const Preprocess& preprocess, const InputSpec& input) {
  if (preprocess.layout) return *preprocess.layout;
  const ir::Shape dims = image_dims(input);
  if (dims.empty()) return ImageLayout::kNchw;
  const auto channels = static_cast<int64_t>(channels_of(preprocess.color));
  const bool last = can_be_channels(dims[2]), first = can_be_channels(dims[0]);
  if (first && last) return dims[0] != channels && dims[2] == channels ? ImageLayout::kNhwc : ImageLayout::kNchw;
  return last ? ImageLayout::kNhwc : ImageLayout::kNchw;
}

ImageSize input_size(const InputSpec& input, ImageLayout layout) {
  const ir::Shape dims = image_dims(input);
  if (dims.empty()) return {};
  return layout == ImageLayout::kNchw ? ImageSize{dims[1], dims[2]} : ImageSize{dims[0], dims[1]};
}

/// What is cut out after resizing; unknown sides when nothing is.
ImageSize crop_size(const Preprocess& preprocess, const ImageSize& wanted) {
  if (preprocess.crop) return {preprocess.crop->first, preprocess.crop->second};
  return preprocess.crop_fraction ? wanted : ImageSize{};
}

/// A side of the image that `side` is cut out of, rounded to the nearest pixel.
int64_t before_crop(int64_t side, double fraction) { return std::llround(static_cast<double>(side) / fraction); }

/// The shape of an input as an example, with `side` for its unknown sides: "1,3,640,640".
std::string example_shape(const ir::Shape& dims, int64_t side) {
  const size_t channels = dims.size() == 4 && dims[3] >= 1 && dims[3] <= 4 ? 3 : 1;
  std::vector<int64_t> shown = dims.empty() ? ir::Shape(4, -1) : dims;
  for (size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] < 1) shown[i] = i == 0 ? 1 : i == channels ? 3 : side;
  }
  return join(shown, ",");
}

/// The target size of `resize`: its own, or the input's.
Result<ImageSize> target_size(const Preprocess& preprocess, const ImageSize& wanted, const InputSpec& input) {
  const config::Resize& resize = *preprocess.resize;
  if (resize.height && resize.width) return ImageSize{*resize.height, *resize.width};
  const ImageSize cut = crop_size(preprocess, wanted);
  if (preprocess.crop_fraction && cut.height >= 1 && cut.width >= 1) {
    return ImageSize{before_crop(cut.height, *preprocess.crop_fraction),
                     before_crop(cut.width, *preprocess.crop_fraction)};
  }
  if (wanted.height < 1 || wanted.width < 1) {
    const int64_t side = preprocess.crop_fraction ? 224 : 640;
    const char* key = preprocess.crop_fraction ? "preprocess.crop" : "preprocess.resize.size";
    return invalid_argument("input ", input.name, ": has no fixed image size; fix it with --shape ", input.name, "=",
                            example_shape(input.dims, side), ", or give photos a size with --set ", key, "=", side);
  }
  if (resize.mode == config::ResizeMode::kShorterSide && wanted.height != wanted.width) {
    return invalid_argument("preprocess.resize.size: shorter_side needs it, because input ", input.name, " takes ",
                            wanted.height, "x", wanted.width, ", which is not square");
  }
  return wanted;
}

Status check_size(const Image& image, const Preprocess& preprocess, const ImageSize& wanted, const std::string& file) {
  const bool fits =
      (wanted.height < 0 || wanted.height == image.height) && (wanted.width < 0 || wanted.width == image.width);
  if (fits) return {};
  const auto side = [](int64_t pixels) { return pixels < 0 ? std::string("?") : cat(pixels); };
  const bool is_untouched = !preprocess.resize && !preprocess.crop;
  return bad_data(file, ": ", image.height, "x", image.width, is_untouched ? "" : " after resizing and cropping",
                  ", the input takes ", side(wanted.height), "x", side(wanted.width), " (height x width); ",
                  is_untouched ? "preprocess: {resize: {mode: stretch}} would stretch it"
                               : "adapt preprocess.resize and preprocess.crop");
}

/// The value of each pixel level by channel, in float32: (level * scale - mean) / std.
ir::Tensor level_values(const Preprocess& preprocess) {
  const auto channels = static_cast<int64_t>(channels_of(preprocess.color));
  const auto of = [](const std::vector<double>& values, int64_t channel, double none) {
    const double value = values.empty() ? none : values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
    return static_cast<float>(value);
  };
  ir::Tensor table = ir::Tensor::allocate(ElementType::kFloat, {channels, kLevels});
  float* out = table.mutable_data<float>().data();
  const auto scale = static_cast<float>(preprocess.scale);
  for (int64_t c = 0; c < channels; ++c) {
    const float mean = of(preprocess.mean, c, 0), std = of(preprocess.std, c, 1);
    for (int64_t level = 0; level < kLevels; ++level) *out++ = (static_cast<float>(level) * scale - mean) / std;
  }
  return table;
}

/// The table for an integer input: every level must give an integer that the type holds, whatever the image shows.
Result<ir::Tensor> integer_levels(const ir::Tensor& table, const InputSpec& input, const std::string& file) {
  ir::Tensor integers = ir::Tensor::allocate(ElementType::kInt64, table.dims());
  for (size_t i = 0; i < static_cast<size_t>(table.size()); ++i) {
    const float value = table.data<float>()[i], rounded = numeric::round_half_even(value);
    if (!(std::abs(value - rounded) <= kIntegral) || std::abs(rounded) > 1e15f) {
      return bad_data(file, ": preprocess gives ", value, " for a pixel of ", i % kLevels, ", input ", input.name,
                      " takes integers (", name(input.type), "): leave out scale, mean and std, or make them integers");
    }
    integers.mutable_data<int64_t>()[i] = static_cast<int64_t>(rounded);
  }
  Result<ir::Tensor> fitted = fit_to_input(std::move(integers), {input.name, input.type, false, {}}, file);
  if (fitted.ok()) return fitted;
  return bad_data(fitted.status().message(), " (the values of preprocess; adapt scale and mean)");
}

Result<ir::Tensor> input_levels(const Preprocess& preprocess, const InputSpec& input, const std::string& file) {
  const ir::Tensor table = level_values(preprocess);
  for (const float value : table.data<float>()) {
    if (!std::isfinite(value)) return bad_data(file, ": preprocess: the scaled values exceed the range of float32");
  }
  if (is_integer(input.type)) return integer_levels(table, input, file);
  constexpr std::array kFloats = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                                  ElementType::kBFloat16};
  if (std::find(kFloats.begin(), kFloats.end(), input.type) == kFloats.end()) {
    return bad_data(file, ": an image cannot be given to input ", input.name, ", which takes ", name(input.type));
  }
  return fit_to_input(table, {input.name, input.type, false, {}}, file);
}

/// Looks up every pixel. T has the size of the input's element; only its bits count.
template <typename T>
void look_up(const Image& image, const ir::Tensor& levels, bool is_reversed, ImageLayout layout, ir::Tensor& out) {
  const int64_t channels = image.channels, area = image.height * image.width;
  const bool by_planes = layout == ImageLayout::kNchw;
  T* values = out.mutable_data<T>().data();
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t source = is_reversed && c < 3 ? 2 - c : c;  // alpha stays last
    const uint8_t* pixel = image.pixels.data() + source;
    const T* table = levels.data<T>().data() + c * kLevels;
    T* to = values + (by_planes ? c * area : c);
    const int64_t step = by_planes ? 1 : channels;
    for (int64_t i = 0; i < area; ++i) to[i * step] = table[pixel[i * channels]];
  }
}

/// [1, C, H, W] or [1, H, W, C].
ir::Tensor make_tensor(const Image& image, const ir::Tensor& levels, ColorOrder color, ImageLayout layout) {
  const bool is_reversed = color == ColorOrder::kBgr || color == ColorOrder::kBgra;
  const ir::Shape dims = layout == ImageLayout::kNchw ? ir::Shape{1, image.channels, image.height, image.width}
                                                      : ir::Shape{1, image.height, image.width, image.channels};
  ir::Tensor out = ir::Tensor::allocate(levels.type(), dims);
  switch (bits(levels.type())) {
    case 8: look_up<uint8_t>(image, levels, is_reversed, layout, out); break;
    case 16: look_up<uint16_t>(image, levels, is_reversed, layout, out); break;
    case 32: look_up<uint32_t>(image, levels, is_reversed, layout, out); break;
    default: look_up<uint64_t>(image, levels, is_reversed, layout, out); break;
  }
  return out;
}

/// A border colour is written in the order of `color`, pixels are in the order of the file.
config::Resize in_file_order(config::Resize resize, ColorOrder color) {
  const bool is_reversed = color == ColorOrder::kBgr || color == ColorOrder::kBgra;
  if (is_reversed && resize.fill.size() >= 3) std::swap(resize.fill[0], resize.fill[2]);
  return resize;
}

Result<Image> frame(Image image, const Preprocess& preprocess, const ImageSize& wanted, const InputSpec& input,
                    const std::string& file) {
  if (preprocess.resize) {
    QQ_TRY(const ImageSize target, target_size(preprocess, wanted, input));
    QQ_TRY(image, resize_into(image, in_file_order(*preprocess.resize, preprocess.color), target, file));
  }
  if (const ImageSize cut = crop_size(preprocess, wanted); cut.height >= 1) {
    QQ_TRY(image, crop_center(image, cut, file));
  }
  QQ_RETURN_IF_ERROR(check_size(image, preprocess, wanted, file));
  return image;
}

}  // namespace

std::string batch_hint(const Preprocess& preprocess, const InputSpec& input) {
  const bool has_batch = input.has_shape && input.dims.size() == 4 && input.dims[0] > 0;
  if (!has_batch || preprocess.batch == input.dims[0]) return "";
  if (input.dims[0] == 1) return "; leave out preprocess.batch, because the model takes one photo at a time";
  return cat("; set preprocess.batch=", input.dims[0], " to stack as many photos into one sample");
}

Result<ir::Tensor> read_image(const ImageFile& file, const Preprocess& preprocess, const InputSpec& input) {
  const ImageLayout layout = choose_layout(preprocess, input);
  QQ_TRY(const ir::Tensor levels, input_levels(preprocess, input, file.name));
  const auto channels = static_cast<int64_t>(channels_of(preprocess.color));
  QQ_TRY(Image image, parse_image(file.data, file.bytes, file.name, channels));
  QQ_TRY(image, frame(std::move(image), preprocess, input_size(input, layout), input, file.name));
  ir::Tensor tensor = make_tensor(image, levels, preprocess.color, layout);
  if (input.has_shape && input.dims.size() == 3) {  // the model adds the batch itself
    if (preprocess.batch != 1) {
      return invalid_argument("preprocess.batch: found ", preprocess.batch, ", input ", input.name, " takes ",
                              shape_text(input.dims), ", which has no batch; allowed is 1");
    }
    const ir::Shape& dims = tensor.dims();
    tensor = tensor.reshaped({dims.begin() + 1, dims.end()});
  }
  InputSpec one = input;
  if (preprocess.batch != 1 && !one.dims.empty()) one.dims[0] = -1;  // the caller stacks
  Result<ir::Tensor> fitted = fit_to_input(std::move(tensor), one, file.name);
  if (fitted.ok()) return fitted;
  return Status(fitted.status().code(), fitted.status().message() + batch_hint(preprocess, input));
}

}  // namespace quarkq::calib
