// SPDX-License-Identifier: MIT
// Reads protobuf's wire format (https://protobuf.dev/programming-guides/encoding) with the field numbers of onnx.proto.
#include "onnx_io/count_messages.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

enum class Kind : char {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValue,
  kType,
  kShape,
  kFunction,
  kSparse,
  kTraining,
  kEntries,
  kOther
};
enum class Counted : char { kNode, kPart, kText };

/// Fields whose content becomes objects in memory. What has no row is skipped.
constexpr struct Row {
  Kind parent;
  uint64_t field;
  Kind kind;
  Counted counted;
} kRows[] = {
    {Kind::kModel, 7, Kind::kGraph, Counted::kPart},         {Kind::kModel, 8, Kind::kOther, Counted::kPart},
    {Kind::kModel, 14, Kind::kOther, Counted::kPart},        {Kind::kModel, 20, Kind::kTraining, Counted::kPart},
    {Kind::kModel, 25, Kind::kFunction, Counted::kPart},     {Kind::kGraph, 1, Kind::kNode, Counted::kNode},
    {Kind::kGraph, 5, Kind::kTensor, Counted::kPart},        {Kind::kGraph, 11, Kind::kValue, Counted::kPart},
    {Kind::kGraph, 12, Kind::kValue, Counted::kPart},        {Kind::kGraph, 13, Kind::kValue, Counted::kPart},
    {Kind::kGraph, 14, Kind::kEntries, Counted::kPart},      {Kind::kGraph, 15, Kind::kSparse, Counted::kPart},
    {Kind::kGraph, 16, Kind::kOther, Counted::kPart},        {Kind::kNode, 1, Kind::kOther, Counted::kText},
    {Kind::kNode, 2, Kind::kOther, Counted::kText},          {Kind::kNode, 5, Kind::kAttribute, Counted::kPart},
    {Kind::kNode, 9, Kind::kOther, Counted::kPart},          {Kind::kNode, 10, Kind::kEntries, Counted::kPart},
    {Kind::kAttribute, 5, Kind::kTensor, Counted::kPart},    {Kind::kAttribute, 6, Kind::kGraph, Counted::kPart},
    {Kind::kAttribute, 9, Kind::kOther, Counted::kText},     {Kind::kAttribute, 10, Kind::kTensor, Counted::kPart},
    {Kind::kAttribute, 11, Kind::kGraph, Counted::kPart},    {Kind::kAttribute, 14, Kind::kType, Counted::kPart},
    {Kind::kAttribute, 15, Kind::kType, Counted::kPart},     {Kind::kAttribute, 22, Kind::kSparse, Counted::kPart},
    {Kind::kAttribute, 23, Kind::kSparse, Counted::kPart},   {Kind::kTensor, 6, Kind::kOther, Counted::kText},
    {Kind::kTensor, 13, Kind::kOther, Counted::kPart},       {Kind::kTensor, 16, Kind::kOther, Counted::kPart},
    {Kind::kValue, 2, Kind::kType, Counted::kPart},          {Kind::kValue, 4, Kind::kOther, Counted::kPart},
    {Kind::kType, 1, Kind::kType, Counted::kPart},           {Kind::kType, 2, Kind::kShape, Counted::kPart},
    {Kind::kType, 4, Kind::kType, Counted::kPart},           {Kind::kType, 5, Kind::kType, Counted::kPart},
    {Kind::kType, 8, Kind::kType, Counted::kPart},           {Kind::kType, 9, Kind::kType, Counted::kPart},
    {Kind::kShape, 1, Kind::kOther, Counted::kPart},         {Kind::kFunction, 4, Kind::kOther, Counted::kText},
    {Kind::kFunction, 5, Kind::kOther, Counted::kText},      {Kind::kFunction, 6, Kind::kOther, Counted::kText},
    {Kind::kFunction, 7, Kind::kNode, Counted::kNode},       {Kind::kFunction, 9, Kind::kOther, Counted::kPart},
    {Kind::kFunction, 11, Kind::kAttribute, Counted::kPart}, {Kind::kFunction, 12, Kind::kValue, Counted::kPart},
    {Kind::kFunction, 14, Kind::kOther, Counted::kPart},     {Kind::kModel, 26, Kind::kEntries, Counted::kPart},
    {Kind::kTraining, 1, Kind::kGraph, Counted::kPart},      {Kind::kTraining, 2, Kind::kGraph, Counted::kPart},
    {Kind::kTraining, 3, Kind::kOther, Counted::kPart},      {Kind::kTraining, 4, Kind::kOther, Counted::kPart},
    {Kind::kEntries, 2, Kind::kEntries, Counted::kPart},     {Kind::kEntries, 3, Kind::kEntries, Counted::kPart},
    {Kind::kSparse, 1, Kind::kTensor, Counted::kPart},       {Kind::kSparse, 2, Kind::kTensor, Counted::kPart},
};

constexpr struct {
  const char* name;
  size_t most;
} kLimits[] = {
    {"nodes", kMostNodes}, {"attributes, initializers, types and other parts", kMostParts}, {"names", kMostTexts}};

enum WireType : uint64_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };

class Walk {
 public:
  /// False where a limit is passed.
  bool count(std::string_view bytes, Kind kind, int depth) {
    if (depth > kMostDepth) return true;
    while (!bytes.empty()) {
      uint64_t tag = 0, size = 0;
      if (!take_varint(bytes, tag)) return true;
      switch (tag & 7) {
        case kVarint:
          if (!take_varint(bytes, size)) return true;
          continue;
        case kEightBytes: size = 8; break;
        case kFourBytes: size = 4; break;
        case kBytes:
          if (!take_varint(bytes, size)) return true;
          break;
        default: return true;
      }
      if (size > bytes.size()) return true;
      if ((tag & 7) == kBytes && !count_field(bytes.substr(0, size), kind, tag >> 3, depth)) return false;
      bytes.remove_prefix(size);
    }
    return true;
  }

  Status passed() const {
    const auto& limit = kLimits[static_cast<size_t>(last_)];
    return resource_error("more than ", limit.most, " ", limit.name, ", which is the most that a model may have");
  }

 private:
  static constexpr int kMostDepth = 3 * kMaxGraphDepth + 100;  // Equal to the parser's.

  static bool take_varint(std::string_view& bytes, uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes.empty()) return false;
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  bool count_field(std::string_view content, Kind parent, uint64_t field, int depth) {
    const auto* row =
        std::ranges::find_if(kRows, [&](const Row& one) { return one.parent == parent && one.field == field; });
    if (row == std::end(kRows)) return true;
    last_ = row->counted;
    if (++counts_[static_cast<size_t>(last_)] > kLimits[static_cast<size_t>(last_)].most) return false;
    return row->kind == Kind::kOther || count(content, row->kind, depth + 1);
  }

  size_t counts_[std::size(kLimits)] = {};
  Counted last_ = Counted::kNode;
};

}  // namespace

Status check_counts(std::string_view bytes) {
  Walk walk;
  return walk.count(bytes, Kind::kModel, 0) ? Status() : walk.passed();
}

}  // namespace quarkq::onnx_io
