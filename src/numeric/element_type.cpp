// SPDX-License-Identifier: MIT
#include "numeric/element_type.h"

#include <array>

namespace quarkq {
namespace {

enum class Kind { kOther, kFloating, kInteger };

struct Row {
  std::string_view name;
  int bits;
  Kind kind;
};

/// Indexed by wire number (onnx.proto, TensorProto.DataType).
constexpr std::array<Row, 29> kTypes = {{
    {"UNDEFINED", 0, Kind::kOther},
    {"FLOAT", 32, Kind::kFloating},
    {"UINT8", 8, Kind::kInteger},
    {"INT8", 8, Kind::kInteger},
    {"UINT16", 16, Kind::kInteger},
    {"INT16", 16, Kind::kInteger},
    {"INT32", 32, Kind::kInteger},
    {"INT64", 64, Kind::kInteger},
    {"STRING", 0, Kind::kOther},
    {"BOOL", 8, Kind::kOther},
    {"FLOAT16", 16, Kind::kFloating},
    {"DOUBLE", 64, Kind::kFloating},
    {"UINT32", 32, Kind::kInteger},
    {"UINT64", 64, Kind::kInteger},
    {"COMPLEX64", 64, Kind::kOther},
    {"COMPLEX128", 128, Kind::kOther},
    {"BFLOAT16", 16, Kind::kFloating},
    {"FLOAT8E4M3FN", 8, Kind::kFloating},
    {"FLOAT8E4M3FNUZ", 8, Kind::kFloating},
    {"FLOAT8E5M2", 8, Kind::kFloating},
    {"FLOAT8E5M2FNUZ", 8, Kind::kFloating},
    {"UINT4", 4, Kind::kInteger},
    {"INT4", 4, Kind::kInteger},
    {"FLOAT4E2M1", 4, Kind::kFloating},
    {"FLOAT8E8M0", 8, Kind::kFloating},
    {"UINT2", 2, Kind::kInteger},
    {"INT2", 2, Kind::kInteger},
    {"FLOAT6E2M3", 6, Kind::kFloating},
    {"FLOAT6E3M2", 6, Kind::kFloating},
}};

const Row& row(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return kTypes[number < kTypes.size() ? number : 0];
}

}  // namespace

int bits(ElementType type) { return row(type).bits; }

int64_t storage_bytes(ElementType type, int64_t count) { return (count * bits(type) + 7) / 8; }

std::string_view name(ElementType type) { return row(type).name; }

std::optional<ElementType> element_type_from_wire(int32_t number) {
  if (number <= 0 || static_cast<size_t>(number) >= kTypes.size()) return std::nullopt;
  return static_cast<ElementType>(number);
}

std::optional<ElementType> element_type_from_name(std::string_view name) {
  for (size_t number = 1; number < kTypes.size(); ++number) {
    if (kTypes[number].name == name) return static_cast<ElementType>(number);
  }
  return std::nullopt;
}

bool is_floating(ElementType type) { return row(type).kind == Kind::kFloating; }
bool is_integer(ElementType type) { return row(type).kind == Kind::kInteger; }

}  // namespace quarkq
