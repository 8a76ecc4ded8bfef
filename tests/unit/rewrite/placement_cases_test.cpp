// SPDX-License-Identifier: MIT
// The five proofs of passes that make the target place more of a network (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

const char* const kShuffle = "legalize.channel_shuffle_to_conv=true";

PassCase shuffle() {
  return {.pass = "channel-shuffle-to-conv",
          .name = "Shuffle",
          .model =
              "g (float[1, 6, 3, 5] x) => (float[1, 6, 3, 5] y) <int64[5] a = {1, 2, 3, 3, 5}, int64[4] b = {1, "
              "6, 3, 5}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [0, 2, 1, 3, 4]> (r) y = Reshape (t, b) }",
          .guards = {{"PixelsMove", "perm = [0, 2, 1, 3, 4]", "perm = [0, 3, 2, 1, 4]"},
                     {"NothingMoves", "perm = [0, 2, 1, 3, 4]", "perm = [0, 1, 2, 3, 4]"},
                     {"SizeIsUnknown", "float[1, 6, 3, 5] x", "float[N, 6, 3, 5] x"},
                     {"ShapeIsComputed", "y = Reshape (t, b)", "k = Abs (b) y = Reshape (t, k)"}},
          .sets = {kShuffle},
          .tolerance = 0};
}

PassCase halves_of_a_shuffle() {
  return {.pass = "channel-shuffle-to-conv",
          .name = "HalvesByGather",
          .model =
              "g (float[1, 6, 3, 5] x) => (float[1, 3, 3, 5] y, float[1, 3, 3, 5] z) <int64[3] a = {3, 2, 15}, "
              "int64[5] b = {2, 1, 3, 3, 5}, int64 first = {0}, int64 second = {1}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [1, 0, 2]> (r) u = Reshape (t, b) "
              "y = Gather <axis = 0> (u, first) z = Gather <axis = 0> (u, second) }",
          .guards = {{"GathersRows", "y = Gather <axis = 0> (u, first) z = Gather <axis = 0> (u, second)",
                      "y = Gather <axis = 3> (u, first) z = Gather <axis = 3> (u, second)"}},
          .sets = {kShuffle},
          .tolerance = 0};
}

PassCase grouped_choice() {
  return {.pass = "channel-shuffle-to-conv",
          .name = "GatherInGroups",
          .model =
              "g (float[2, 4, 3, 5] x) => (float[2, 4, 3, 5] y) <int64[4] i = {1, 0, 3, 2}> { y = Gather <axis = 1> "
              "(x, i) }",
          .guards = {{"AnotherAxis", "<axis = 1> (x, i)", "<axis = 3> (x, i)"},
                     {"NothingMoves", "i = {1, 0, 3, 2}", "i = {0, 1, 2, 3}"}},
          .sets = {kShuffle},
          .tolerance = 0};
}

PassCase resize(const std::string& name, const std::string& sizes, const std::string& mode) {
  return {
      .pass = "resize-to-conv",
      .name = name,
      .model = cat("g (float[1, 3, 4, 6] x) => (float[1, 3, H, W] y) <int64[4] s = {1, 3, ", sizes,
                   "}> { y = Resize <mode = \"linear\", coordinate_transformation_mode = \"", mode, "\"> (x, , , s) }"),
      .guards = {{"Cubic", "mode = \"linear\"", "mode = \"cubic\""},
                 {"Nearest", "mode = \"linear\"", "mode = \"nearest\""},
                 {"AlignCorners", mode, "align_corners"},
                 {"NotAMultiple", sizes, "9, 13"}},
      .sets = {"legalize.resize_to_conv=true"}};
}

PassCase broadcast() {
  return {.pass = "resize-to-conv",
          .name = "OnePixel",
          .model =
              "g (float[1, 3, 1, 1] x) => (float[1, 3, H, W] y) <int64[4] s = {1, 3, 5, 7}> { y = Resize <mode = "
              "\"linear\", coordinate_transformation_mode = \"align_corners\"> (x, , , s) }",
          .guards = {{"Cubic", "mode = \"linear\"", "mode = \"cubic\""}},
          .sets = {"legalize.resize_to_conv=true"},
          .tolerance = 0};
}

PassCase transposed(const std::string& name, const std::string& attributes, int64_t kernel, int64_t groups = 1) {
  return {.pass = "conv-transpose-to-conv",
          .name = name,
          .model = cat("g (float[1, 4, 5, 3] x) => (float[1, C, H, W] y) <float[4, 2, ", kernel, ", ", kernel,
                       "] w = ", numbers(static_cast<size_t>(8 * kernel * kernel), 1), ", float[", 2 * groups,
                       "] b = ", numbers(static_cast<size_t>(2 * groups), 2), "> { y = ConvTranspose <group = ", groups,
                       ", ", attributes, "> (x, w, b) }"),
          .guards = {{"StrideOne", "strides = [2, 2]", "strides = [1, 1]"},
                     {"UnequalStrides", "strides = [2, 2]", "strides = [2, 1]"},
                     {"SizeIsUnknown", "float[1, 4, 5, 3] x", "float[1, 4, R, 3] x"}},
          .sets = {"legalize.conv_transpose_to_conv=true"}};
}

PassCase squeeze_excitation() {
  return {
      .pass = "vectors-to-images",
      .name = "SqueezeExcitation",
      .model =
          cat("g (float[2, 4, 3, 3] x) => (float[2, 4, 3, 3] y) <float[4, 2] w = ", numbers(8, 1),
              ", float[2] c = ", numbers(2, 4), ", float[4, 2] v = ", numbers(8, 2), ", float[4] b = ", numbers(4, 3),
              ", int64[4] shape = {2, 4, 1, 1}> { p = GlobalAveragePool (x) f = Flatten (p) "
              "m = MatMul (f, w) a = Add (m, c) r = Relu (a) g = Gemm <transB = 1> (r, v, b) "
              "s = Sigmoid (g) i = Reshape (s, shape) y = Mul (x, i) }"),
      .guards = {{"AnotherReader", "y = Mul (x, i)", "n = ReduceMax <keepdims = 0> (r) u = Add (i, n) y = Mul (x, u)"},
                 {"ScalesTheProduct", "transB = 1", "transB = 1, alpha = 2.0"},
                 {"MixesVectors", "s = Sigmoid (g)", "s = Softmax (g)"},
                 {"NoLayer", "m = MatMul (f, w) a = Add (m, c) r = Relu (a) g = Gemm <transB = 1> (r, v, b)",
                  "g = Relu (f)"}},
      .sets = {"legalize.vectors_to_images=true"}};
}

PassCase subtraction() {
  return {.pass = "sub-to-add",
          .name = "ConstantAndTensors",
          .model =
              "g (float[2, 3] x, float[2, 3] z) => (float[2, 3] y) <float[3] c = {0.5, -1, 2}> { a = Sub (x, c) y = "
              "Sub (a, z) }",
          .guards = {{"OfIntegers", "g (float[2, 3] x, float[2, 3] z) => (float[2, 3] y) <float[3] c = {0.5, -1, 2}>",
                      "g (int64[2, 3] x, int64[2, 3] z) => (int64[2, 3] y) <int64[3] c = {1, 2, 3}>"}},
          .sets = {"legalize.sub_to_add=true"},
          .tolerance = 0};
}

PassCase gelu_of_an_older_opset() {
  return {.pass = "fuse-gelu",
          .name = "OpsetIsRaised",
          .model =
              "g (float[2, 8] x) => (float[2, 8] y) <float r = {1.4142135}, float one = {1}, float half = {0.5}> { d = "
              "Div (x, r) e = Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half) }",
          .guards = {{"OtherConstant", "float one = {1}", "float one = {2}"}},
          .sets = {"legalize.gelu_of_opset_20=true"},
          .opset = 17};
}

PassCase views() {
  return {.pass = "views-to-reshape",
          .name = "SqueezeAndUnsqueeze",
          .model =
              "g (float[2, 3, 1, 1] x) => (float[2, 3, 1] y) <int64[2] a = {2, 3}, int64[1] b = {2}> { s = Squeeze (x, "
              "a) y = Unsqueeze (s, b) }",
          .guards = {{"SizeIsUnknown", "float[2, 3, 1, 1] x) => (float[2, 3, 1] y)",
                      "float[N, 3, 1, 1] x) => (float[N, 3, 1] y)"}},
          .sets = {"legalize.views_to_reshape=true"},
          .tolerance = 0};
}

PassCase tanh() {
  return {.pass = "tanh-to-sigmoid",
          .name = "Tanh",
          .model = "g (float[2, 3] x) => (float[2, 3] y) { y = Tanh (x) }",
          .guards = {{"OtherOperator", "Tanh", "Relu"}},
          .sets = {"legalize.tanh_to_sigmoid=true"}};
}

PassCase large_pad() {
  return {
      .pass = "pad-before-conv",
      .name = "Dilated",
      .model = cat("g (float[1, 2, 7, 6] x) => (float[1, 2, H, W] y) <float[2, 1, 3, 3] w = ", numbers(18, 1),
                   "> { y = Conv <group = 2, dilations = [4, 4], pads = [4, 4, 4, 4]> (x, w) }"),
      .guards = {{"PadsAreSmall", "dilations = [4, 4], pads = [4, 4, 4, 4]", "dilations = [2, 2], pads = [2, 2, 2, 2]"},
                 {"PadsAreAutomatic", "pads = [4, 4, 4, 4]", "auto_pad = \"SAME_UPPER\""}},
      .sets = {"legalize.pad_before_conv=true"},
      .tolerance = 0};
}

const bool kPlacementCases =
    add_pass_cases({shuffle(), halves_of_a_shuffle(), grouped_choice(), resize("Doubled", "8, 12", "half_pixel"),
                    resize("Fourfold", "16, 12", "pytorch_half_pixel"), resize("Eightfold", "32, 48", "asymmetric"),
                    resize("Halved", "2, 3", "half_pixel"), broadcast(), transposed("KernelTwo", "strides = [2, 2]", 2),
                    transposed("KernelFourPadOne", "strides = [2, 2], pads = [1, 1, 1, 1]", 4),
                    transposed("OutputPadding", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]", 3, 2),
                    transposed("OddOutput", "strides = [2, 2], pads = [0, 1, 0, 1]", 3), squeeze_excitation(),
                    subtraction(), gelu_of_an_older_opset(), views(), tanh(), large_pad()});

}  // namespace
}  // namespace quarkq::test
