// SPDX-License-Identifier: MIT
// The model written field by field against the library's reading of it, and where weights lie in a data file.
#include "onnx_io/export_model.h"

#include "ir/edit.h"
#include "onnx_io/proto.h"
#include "unit/onnx_io/io_test_support.h"

namespace quarkq::onnx_io {
namespace {

class TextSink : public ByteSink {
 public:
  explicit TextSink(size_t room = SIZE_MAX) : room_(room) {}
  Status write(const void* data, size_t bytes) override {
    ++calls;
    if (text.size() + bytes > room_) return io_error("full after ", text.size());
    text.append(static_cast<const char*>(data), bytes);
    return Status();
  }
  std::string text;
  int calls = 0;

 private:
  size_t room_;
};

/// Initializers of these numbers of bytes, filled with their number + 1, and whatever else a writer has to write.
ir::Model stored_model(const std::vector<int64_t>& sizes) {
  ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1], producer_name: "tests">
    g (bool c, float[N,2] x) => (float[N,2] y) <float[N,2] a> {
      [named] a = LeakyRelu <alpha = 0.5> (x)
      y = If (c) <then_branch = t () => (float[N,2] p) { p = Neg (a) }, else_branch = e () => (float[N,2] q) { q = com.microsoft.Gelu (a) }>
    })");
  ir::GraphEdit edit(model.graph);
  for (size_t i = 0; i < sizes.size(); ++i) {
    ir::Tensor tensor = ir::Tensor::zeros(ElementType::kInt8, {sizes[i]});
    for (int8_t& byte : tensor.mutable_data<int8_t>()) byte = static_cast<int8_t>(i + 1);
    edit.add_initializer(cat("w", i), std::move(tensor));
  }
  edit.add_initializer("text", ir::Tensor::of_strings({2}, {"a", std::string(200, 'b')}));
  return model;
}

TEST(ModelWriterTest, TheLibraryReadsWhatWasWritten) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, std::vector<int64_t>{0, 1, 127, 128, 20000}}) {
    const ir::Model model = stored_model(sizes);
    TextSink sink;
    ASSERT_TRUE(write_model(model, inline_layout(), sink).ok());
    EXPECT_EQ(sink.text.size(), model_bytes(model, inline_layout())) << "sizes are known beforehand";
    onnx::ModelProto proto;
    ASSERT_TRUE(parse_proto(sink.text.data(), sink.text.size(), proto));
    EXPECT_EQ(proto.SerializeAsString(), whole_model(model).SerializeAsString());
  }
}

TEST(ModelWriterTest, SizesAreKnownForEveryLayout) {
  const ir::Model model = stored_model({5, 1000, 70000});
  for (const int64_t threshold : {0, 1, 6, 1000, 1001, 1000000}) {
    const WeightLayout layout = external_layout(model, "w.data", threshold);
    TextSink sink, data;
    ASSERT_TRUE(write_model(model, layout, sink).ok());
    EXPECT_EQ(sink.text.size(), model_bytes(model, layout)) << threshold;
    ASSERT_TRUE(write_data(model, layout, data).ok());
    EXPECT_EQ(data.text.size(), layout.data_bytes) << threshold;
  }
}

TEST(ModelWriterTest, LargeWeightsBeginOnPagesAndOthersOnCacheLines) {
  constexpr int64_t kPageSized = int64_t{1} << 20;
  const ir::Model model = stored_model({100, kPageSized, kPageSized - 1, 7, kPageSized + 1});
  const WeightLayout layout = external_layout(model, "w.data", 8);
  TextSink data;
  ASSERT_TRUE(write_data(model, layout, data).ok());
  ASSERT_EQ(data.text.size(), layout.data_bytes);
  std::string expected(data.text.size(), '\0');  // what lies between tensors is zero
  int outside = 0;
  for (const ir::ValueId id : model.graph.initializers()) {
    const ir::Value& value = model.graph.value(id);
    const int64_t offset = layout.offset(id);
    const bool is_small = value.constant->type() == ElementType::kString || value.constant->bytes() < 8;
    ASSERT_EQ(offset < 0, is_small) << value.name;
    if (offset < 0) continue;
    ++outside;
    EXPECT_EQ(offset % (value.constant->bytes() >= kPageSized ? 4096 : 64), 0) << value.name;
    const auto bytes = static_cast<size_t>(value.constant->bytes());
    ASSERT_LE(static_cast<size_t>(offset) + bytes, expected.size());
    EXPECT_EQ(expected.substr(static_cast<size_t>(offset), bytes), std::string(bytes, '\0')) << "overlaps another";
    expected.replace(static_cast<size_t>(offset), bytes, reinterpret_cast<const char*>(value.constant->raw()), bytes);
  }
  EXPECT_EQ(outside, 4);
  EXPECT_TRUE(data.text == expected);
}

TEST(ModelWriterTest, NothingIsWrittenAfterAFailure) {
  const ir::Model model = stored_model({100, 2000, 30000});
  TextSink whole;
  ASSERT_TRUE(write_model(model, inline_layout(), whole).ok());
  for (size_t room = 0; room < whole.text.size(); room += 97) {
    TextSink sink(room);
    const Status status = write_model(model, inline_layout(), sink);
    EXPECT_EQ(status.code(), Code::kIo) << room;
    EXPECT_EQ(status.message(), cat("full after ", sink.text.size())) << "the first reason is kept";
    EXPECT_EQ(whole.text.substr(0, sink.text.size()), sink.text);
  }
  const WeightLayout layout = external_layout(model, "w.data", 1);
  TextSink data(2000);
  EXPECT_EQ(write_data(model, layout, data).message(), "full after 128");
}

TEST(ModelWriterTest, DamageIsDescribedByWhatTheFileIs) {
  const auto cause = [](const std::string& content, Code code = Code::kCorruptModel) {
    const Status status = load_bytes(content, "f").status();
    EXPECT_EQ(status.code(), code);
    return status.message();
  };
  const std::pair<std::string, const char*> rows[] = {
      {std::string("PK\x05\x06\0\0\0\0", 8), "f: not an ONNX model but an empty zip archive"},
      {"BZh91AY&SY", "f: not an ONNX model but a bzip2 file; unpack it first"},
      {std::string("\xfd"
                   "7zXZ\0",
                   6),
       "f: not an ONNX model but an xz file; unpack it first"},
      {std::string("\x93NUMPY\1\0", 8), "f: not an ONNX model but a numpy array"},
      {std::string("\x18\0\0\0ORTM", 8), "f: not an ONNX model but a model in ONNX Runtime's own format"},
      {"<ir_version", "f: ONNX text syntax, must be a binary ONNX model"},
      {"\t\n <  ir_version: 8>", "f: ONNX text syntax, must be a binary ONNX model"},
      {"< no model here", "f: a text file, not an ONNX model"},
      {" \n\t", "f: a text file, not an ONNX model"},
  };
  for (const auto& [content, message] : rows) EXPECT_EQ(cause(content), message);
  EXPECT_EQ(cause(number(1, 8) + bytes(7, "abc").substr(0, 3)),
            "f: not an ONNX model, or truncated or damaged: field 7 at byte 2 claims 3 bytes, only 1 are there");
  EXPECT_EQ(cause(number(1, 8) + varint(9 << 3 | 1) + "1234"), "f: not an ONNX model, or truncated at byte 7");
  EXPECT_EQ(cause(number(1, 8) + varint(9 << 3 | 5) + "12"), "f: not an ONNX model, or truncated at byte 5");
  EXPECT_EQ(cause(number(1, 8) + varint(9 << 3 | 7)),
            "f: not an ONNX model, or damaged at byte 2: no protobuf field starts so");
  EXPECT_EQ(cause(number(1, 8) + std::string(11, '\xFF')), "f: not an ONNX model, or truncated or damaged at byte 2");
}

}  // namespace
}  // namespace quarkq::onnx_io
