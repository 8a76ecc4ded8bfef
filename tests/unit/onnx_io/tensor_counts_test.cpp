// SPDX-License-Identifier: MIT
// How much data a tensor of a file must hold, for every element type and both forms; sizes that cannot be are refused
// before anything is allocated.
#include <limits>

#include "onnx_io/proto.h"
#include "unit/onnx_io/io_test_support.h"

namespace quarkq::onnx_io {
namespace {

constexpr ElementType kStored[] = {ElementType::kFloat,        ElementType::kUInt8,      ElementType::kInt8,
                                   ElementType::kUInt16,       ElementType::kInt16,      ElementType::kInt32,
                                   ElementType::kInt64,        ElementType::kBool,       ElementType::kFloat16,
                                   ElementType::kDouble,       ElementType::kUInt32,     ElementType::kUInt64,
                                   ElementType::kComplex64,    ElementType::kComplex128, ElementType::kBFloat16,
                                   ElementType::kFloat8E4M3Fn, ElementType::kFloat8E5M2, ElementType::kUInt4,
                                   ElementType::kInt4,         ElementType::kFloat4E2M1, ElementType::kFloat8E8M0};

onnx::TensorProto stored_proto(ElementType type, const std::vector<int64_t>& dims) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(static_cast<int32_t>(type));
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

Status status_of(onnx::TensorProto proto) {
  ExternalFiles external("");
  return take_tensor(proto, external).status();
}

TEST(TensorCountsTest, RawDataHasTheBytesOfItsShape) {
  for (const ElementType type : kStored) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{8}}) {
      SCOPED_TRACE(cat(name(type), " ", count));
      const int64_t needed = storage_bytes(type, count);
      for (const int64_t given : {needed - 1, needed, needed + 1}) {
        if (given < 0) continue;
        onnx::TensorProto proto = stored_proto(type, {count});
        proto.set_raw_data(std::string(static_cast<size_t>(given), '\0'));
        const Status status = status_of(proto);
        EXPECT_EQ(status.ok(), given == needed) << given << ": " << status.message();
        if (given == needed) continue;
        EXPECT_EQ(status.code(), Code::kCorruptModel);
        EXPECT_EQ(status.message(), cat("tensor 't': holds ", given, " bytes of raw data, its shape and type ",
                                        name(type), " need ", needed));
      }
    }
  }
}

/// Adds `count` zeros to the field that holds the type.
void add_entries(onnx::TensorProto& proto, ElementType type, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    switch (type) {
      case ElementType::kFloat:
      case ElementType::kComplex64: proto.add_float_data(0); break;
      case ElementType::kDouble:
      case ElementType::kComplex128: proto.add_double_data(0); break;
      case ElementType::kInt64: proto.add_int64_data(0); break;
      case ElementType::kUInt32:
      case ElementType::kUInt64: proto.add_uint64_data(0); break;
      default: proto.add_int32_data(0);
    }
  }
}

int64_t entries_of(ElementType type, int64_t count) {
  if (type == ElementType::kComplex64 || type == ElementType::kComplex128) return 2 * count;
  return bits(type) < 8 ? (count + 1) / 2 : count;
}

TEST(TensorCountsTest, TypedFieldsHaveTheEntriesOfTheirShape) {
  for (const ElementType type : kStored) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{5}}) {
      const int64_t needed = entries_of(type, count);
      for (const int64_t given : {needed - 1, needed, needed + 1}) {
        if (given < 0) continue;
        onnx::TensorProto proto = stored_proto(type, {count});
        add_entries(proto, type, given);
        EXPECT_EQ(status_of(proto).ok(), given == needed) << name(type) << " " << count << " of " << given;
      }
    }
  }
}

TEST(TensorCountsTest, DataInAnotherTypesFieldIsRefused) {
  for (const ElementType type : kStored) {
    onnx::TensorProto proto = stored_proto(type, {2});
    add_entries(proto, type == ElementType::kInt64 ? ElementType::kFloat : ElementType::kInt64, entries_of(type, 2));
    EXPECT_EQ(status_of(proto).code(), Code::kCorruptModel) << name(type);
  }
}

TEST(TensorCountsTest, ShapesThatCannotBeAreRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> shapes[] = {
      {-1}, {0, -1}, {kMost}, {kMost, kMost}, {int64_t{1} << 32, int64_t{1} << 32}, {-kMost - 1}, {1, 1, kMost, 2}};
  for (const std::vector<int64_t>& dims : shapes) {
    for (const bool is_raw : {false, true}) {
      onnx::TensorProto proto = stored_proto(ElementType::kFloat, dims);
      if (is_raw) proto.set_raw_data(std::string(16, '\0'));
      EXPECT_EQ(status_of(proto).code(), Code::kCorruptModel) << shape_text(dims);
    }
  }
}

TEST(TensorCountsTest, TypesThatAreNoneAreRefused) {
  struct Row {
    int32_t type;
    Code code;
  };
  for (const Row& row : {Row{0, Code::kCorruptModel}, Row{-1, Code::kUnsupported}, Row{29, Code::kUnsupported},
                         Row{std::numeric_limits<int32_t>::max(), Code::kUnsupported}}) {
    onnx::TensorProto proto = stored_proto(ElementType::kFloat, {1});
    proto.set_data_type(row.type);
    EXPECT_EQ(status_of(proto).code(), row.code) << row.type;
  }
}

TEST(TensorCountsTest, ExternalDataNeedsAFolderAndSoundNumbers) {
  const auto external = [](const std::string& key, const std::string& value) {
    onnx::TensorProto proto = stored_proto(ElementType::kFloat, {1});
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
    return status_of(proto);
  };
  for (const char* value : {"", "x", "-1", "1.5", "0x10", " 1", "9223372036854775808"}) {
    for (const char* key : {"offset", "length"}) {
      EXPECT_EQ(external(key, value).message(),
                cat("tensor 't': external data ", key, " '", value, "' is not a number of bytes"));
    }
  }
  EXPECT_FALSE(external("location", "w.bin").ok()) << "a model in memory has no folder";
}

}  // namespace
}  // namespace quarkq::onnx_io
