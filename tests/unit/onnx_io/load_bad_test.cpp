// SPDX-License-Identifier: MIT
// Broken inputs: each row is refused with its code and a message that names the cause.
#include "io_test_support.h"

namespace quarkq::onnx_io {
namespace {

struct BadFile {
  const char* name;
  std::string content;
  Code code;
  const char* cause;  ///< part of the message
};

std::string with_tensor(const std::string& fields) { return model_around(graph(relu() + bytes(5, fields))); }
std::string external(const std::string& key, const std::string& value) {
  return bytes(13, bytes(1, key) + bytes(2, value));
}
std::string external_tensor(const std::string& entries) { return with_tensor(tensor("w", entries + number(14, 1))); }

/// If nodes nested `depth` deep.
std::string nested(int depth) {
  std::string body = bytes(1, node("Constant", {}, "c")) + bytes(12, value_info("c"));
  for (int i = 0; i < depth; ++i) {
    const std::string attribute = bytes(1, "then_branch") + bytes(6, body) + number(20, 5);
    body = bytes(1, node("If", {}, "c") + bytes(5, attribute)) + bytes(12, value_info("c"));
  }
  return body;
}

std::vector<BadFile> contents() {
  const std::string good = model_around(graph(relu()));
  const std::string raw8 = bytes(9, std::string(8, '\0'));
  const std::string raw7 = bytes(9, std::string(7, '\0'));
  const std::string opset = bytes(8, number(2, 17));
  return {
      {"empty file", "", Code::kCorruptModel, "empty"},
      {"one byte", "\x08", Code::kCorruptModel, "truncated"},
      {"cut in half", good.substr(0, good.size() / 2), Code::kCorruptModel, "truncated"},
      {"last byte missing", good.substr(0, good.size() - 1), Code::kCorruptModel, "truncated"},
      {"text", "hello, this is not a model\n", Code::kCorruptModel, "text file"},
      {"onnx text", "<ir_version: 8, opset_import: [\"\" : 17]>\nagraph () => () {}\n", Code::kCorruptModel,
       "text syntax"},
      {"zip", std::string("PK\x03\x04\x14\x00\x00\x00", 8), Code::kCorruptModel, "zip archive"},
      {"gzip", std::string("\x1f\x8b\x08\x00\x00", 5), Code::kCorruptModel, "gzip"},
      {"hdf5", "\x89HDF\r\n\x1a\n", Code::kCorruptModel, "HDF5"},
      {"tflite", std::string("\x1c\0\0\0TFL3", 8), Code::kCorruptModel, "TensorFlow Lite"},
      {"lfs pointer", "version https://git-lfs.github.com/spec/v1\noid x\n", Code::kCorruptModel, "git lfs pull"},
      {"zeros", std::string(64, '\0'), Code::kCorruptModel, "not an ONNX model"},
      {"0xff", std::string(64, '\xff'), Code::kCorruptModel, "not an ONNX model"},
      {"no ir_version", bytes(7, graph(relu())) + opset, Code::kCorruptModel, "ir_version"},
      {"no graph", number(1, 8) + opset, Code::kCorruptModel, "no graph"},
      {"no opset", number(1, 8) + bytes(7, graph(relu())), Code::kCorruptModel, "opset_import"},
      {"opset too new",
       number(1, 8) + bytes(7, graph(relu() + bytes(1, node("Relo", {"x"}, "z")))) + bytes(8, number(2, 29)),
       Code::kUnsupported,
       "29 of ai.onnx, the newest known is 28 and does not fit: node z (Relo): the operator is not defined"},
      {"inputs too many",
       number(1, 8) + bytes(7, graph(bytes(1, node("Relu", {"x", "x"}, "y")))) + bytes(8, number(2, 29)),
       Code::kUnsupported, "node y (Relu): 2 inputs, allowed: 1 to 1"},
      {"two newer opsets", number(1, 8) + bytes(7, graph(relu())) + bytes(8, number(2, 29)) + bytes(8, number(2, 30)),
       Code::kCorruptModel, "two opsets of ai.onnx: 29 and 30"},
      {"opset zero", number(1, 8) + bytes(7, graph(relu())) + bytes(8, number(2, 0)), Code::kCorruptModel,
       "does not exist"},
      {"two opsets", model_around(graph(relu())) + bytes(8, number(2, 13)), Code::kCorruptModel, "two opsets"},
      {"undefined input", model_around(graph(bytes(1, node("Relu", {"nowhere"}, "y")))), Code::kCorruptModel,
       "node y (Relu): input 'nowhere' is defined nowhere"},
      {"undefined output", model_around(float_input("x") + bytes(12, value_info("z"))), Code::kCorruptModel, "'z'"},
      {"no op type", model_around(graph(bytes(1, bytes(2, "y")))), Code::kCorruptModel, "no operator type"},
      {"two producers", model_around(graph(relu() + relu())), Code::kCorruptModel, "'y' is defined twice"},
      {"input twice", model_around(graph(relu()) + float_input("x")), Code::kCorruptModel, "'x' is defined twice"},
      {"input produced", model_around(graph(relu() + bytes(1, node("Relu", {"y"}, "x")))), Code::kCorruptModel, "'x'"},
      {"unnamed input", model_around(graph(relu()) + float_input("")), Code::kCorruptModel, "without a name"},
      {"cycle", model_around(graph(relu() + bytes(1, node("Neg", {"b"}, "a")) + bytes(1, node("Neg", {"a"}, "b")))),
       Code::kCorruptModel, "cycle"},
      {"own input", model_around(graph(bytes(1, node("Neg", {"y"}, "y")))), Code::kCorruptModel, "cycle"},
      {"initializer of two types",
       model_around(graph(relu() + bytes(5, tensor("w", raw8)) + bytes(5, tensor("w", raw8, 3, 8)))),
       Code::kCorruptModel, "'w' is stored twice, as FLOAT and as INT8"},
      {"attribute twice",
       model_around(graph(bytes(1, node("Relu", {"x"}, "y") + bytes(5, bytes(1, "a") + number(3, 1) + number(20, 2)) +
                                       bytes(5, bytes(1, "a") + number(3, 1) + number(20, 2))))),
       Code::kCorruptModel, "attribute a is there twice"},
      {"raw too short", with_tensor(tensor("w", raw7)), Code::kCorruptModel, "tensor 'w': holds 7 bytes"},
      {"no data", with_tensor(tensor("w", "")), Code::kCorruptModel, "holds 0 data entries"},
      {"raw and typed", with_tensor(tensor("w", raw8 + number(7, 1))), Code::kCorruptModel, "both raw and typed"},
      {"int8 300", with_tensor(tensor("w", number(5, 300) + number(5, 1), 3)), Code::kCorruptModel,
       "does not fit INT8"},
      {"wrong field", with_tensor(tensor("w", number(7, 1) + number(7, 1))), Code::kCorruptModel, "0 data entries"},
      {"segment", with_tensor(tensor("w", raw8 + bytes(3, number(1, 0)))), Code::kUnsupported, "segments"},
      {"type 0", with_tensor(tensor("w", raw8, 0)), Code::kCorruptModel, "undefined"},
      {"type 99", with_tensor(tensor("w", raw8, 99)), Code::kUnsupported, "type number 99"},
      {"negative dim", with_tensor(tensor("w", raw8, 1, static_cast<uint64_t>(-2))), Code::kCorruptModel, "negative"},
      {"dims overflow", with_tensor(tensor("w", number(1, uint64_t{1} << 62) + raw8, 1, uint64_t{1} << 62)),
       Code::kCorruptModel, "2^48"},
      {"huge without data", with_tensor(tensor("w", "", 1, uint64_t{1} << 47)), Code::kCorruptModel,
       "holds 0 data entries"},
      {"external absolute", external_tensor(external("location", "/etc/passwd")), Code::kCorruptModel, "absolute"},
      {"external dotdot", external_tensor(external("location", "a/../../b")), Code::kCorruptModel,
       "leaves the model's folder"},
      {"external missing", external_tensor(external("location", "gone.bin")), Code::kCorruptModel,
       "tensor 'w': external data file 'gone.bin' does not exist"},
      {"external unnamed", external_tensor(""), Code::kCorruptModel, "without a location"},
      {"external offset", external_tensor(external("location", "eight") + external("offset", "4")), Code::kCorruptModel,
       "which has only 8"},
      {"external far offset",
       external_tensor(external("location", "eight") + external("offset", "9223372036854775807")), Code::kCorruptModel,
       "which has only 8"},
      {"external negative", external_tensor(external("location", "eight") + external("offset", "-4")),
       Code::kCorruptModel, "not a number"},
      {"external length", external_tensor(external("location", "eight") + external("length", "4")), Code::kCorruptModel,
       "need 8"},
      {"external folder", external_tensor(external("location", ".")), Code::kCorruptModel, "external data"},
      {"external link out", external_tensor(external("location", "link")), Code::kCorruptModel, "symbolic link"},
      {"nested capture nowhere",
       model_around(graph(
           relu() + bytes(1, node("If", {"x"}, "z") + bytes(5, bytes(1, "then_branch") + number(20, 5) +
                                                                   bytes(6, bytes(1, node("Neg", {"q"}, "r"))))))),
       Code::kCorruptModel, "reads 'q', which nothing defines"},
      {"nested too deep", model_around(nested(70)), Code::kUnsupported, "deep"},
      {"nested far too deep", model_around(nested(2000)), Code::kCorruptModel, "nested too deeply"},
  };
}

using LoadBadTest = ScratchTest;

TEST_F(LoadBadTest, RefusesEachWithItsCause) {
  write("eight", "12345678");
  const std::string outside = ::testing::TempDir() + "quarkq_outside";
  std::ofstream(outside) << "12345678";
  std::filesystem::create_symlink(outside, at("link"));
  for (const BadFile& row : contents()) {
    SCOPED_TRACE(row.name);
    const std::string path = write("model.onnx", row.content);
    const Result<ir::Model> model = load(path);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(static_cast<int>(model.status().code()), static_cast<int>(row.code)) << model.status().message();
    EXPECT_NE(model.status().message().find(row.cause), std::string::npos) << model.status().message();
    EXPECT_TRUE(model.status().message().starts_with(path + ": ")) << model.status().message();
  }
  std::filesystem::remove(outside);
}

TEST_F(LoadBadTest, RefusesPathsThatAreNoFiles) {
  const Result<ir::Model> missing = load(at("none.onnx"));
  EXPECT_EQ(missing.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(missing.status().message(), at("none.onnx") + ": no such file");
  const Result<ir::Model> loaded = load(folder);
  EXPECT_EQ(loaded.status().code(), Code::kInvalidArgument);
  EXPECT_NE(loaded.status().message().find("is a folder"), std::string::npos);
  EXPECT_EQ(load("/dev/null").status().code(), Code::kInvalidArgument);
}

TEST_F(LoadBadTest, RefusesFilesAbove2GiB) {
  const std::string path = write("big.onnx", "");
  std::filesystem::resize_file(path, uint64_t{2200} << 20);
  const Result<ir::Model> model = load(path);
  EXPECT_EQ(model.status().code(), Code::kUnsupported);
  EXPECT_NE(model.status().message().find("external data"), std::string::npos) << model.status().message();
}

TEST_F(LoadBadTest, RefusesExternalDataInMemory) {
  const std::string model = external_tensor(external("location", "eight"));
  EXPECT_EQ(load_bytes(model, "memory").status().code(), Code::kUnsupported);
}

TEST_F(LoadBadTest, SurvivesEveryTruncationAndBitFlip) {
  const std::string good = model_around(graph(relu() + bytes(5, tensor("w", bytes(9, std::string(8, 'a'))))));
  ASSERT_TRUE(load_bytes(good, "good").ok());
  for (size_t size = 0; size < good.size(); ++size) {
    const Result<ir::Model> cut = load_bytes(std::string_view(good).substr(0, size), "cut");
    EXPECT_TRUE(cut.ok() || !cut.status().message().empty()) << size;
  }
  for (size_t at = 0; at < good.size() * 8; ++at) {
    std::string flipped = good;
    flipped[at / 8] = static_cast<char>(flipped[at / 8] ^ (1 << (at % 8)));
    const Result<ir::Model> model = load_bytes(flipped, "flipped");
    if (model.ok()) {
      EXPECT_TRUE(load_bytes(to_bytes(model.value()), "again").ok()) << at;
    }
  }
}

}  // namespace
}  // namespace quarkq::onnx_io
