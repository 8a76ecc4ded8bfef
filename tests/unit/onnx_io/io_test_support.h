// SPDX-License-Identifier: MIT
// What the tests of onnx_io share: scratch folders, shared models, raw protobuf bytes made by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdint>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "ir/dump.h"
#include "ir/graph.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "onnx_io/text.h"

namespace quarkq::onnx_io {

/// A folder of its own for each test, removed at its end.
class ScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "quarkq_io_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string at(const std::string& name) const { return folder + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string folder;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Folder of the shared models, or "" when there is none on this machine.
inline std::string shared_models() {
  const char* folder = std::getenv("QUARKQ_SHARED");
#ifdef QUARKQ_SHARED_DIR
  if (folder == nullptr) folder = QUARKQ_SHARED_DIR;
#endif
  if (folder == nullptr || !is_folder(std::string(folder) + "/models")) return "";
  return std::string(folder) + "/models";
}

inline std::vector<std::string> shared_model_names() {
  const std::string folder = shared_models();
  if (folder.empty()) return {};
  return list_files(folder, ".onnx").value();
}

/// The model in text syntax; a failure to parse fails the test.
inline ir::Model parsed(const std::string& text) {
  Result<ir::Model> model = parse_model_text(text);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? std::move(model).value() : ir::Model();
}

/// Everything of a model as text.
inline std::string full_dump(const ir::Model& model) { return ir::dump(model, {.values = true, .rests = true}); }

/// Protobuf fields made by hand, to say what no writer would.
inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}
inline std::string bytes(int field, const std::string& content) {
  return varint((static_cast<uint64_t>(field) << 3) | 2) + varint(content.size()) + content;
}

/// A model of IR 8, opset 17 around the serialized fields of a graph.
inline std::string model_around(const std::string& graph) {
  return number(1, 8) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, 17));
}
inline std::string value_info(const std::string& name) { return bytes(1, name); }
inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  std::string fields;
  for (const std::string& input : inputs) fields += bytes(1, input);
  return fields + bytes(2, output) + bytes(4, op);
}
/// A tensor of float [2] called `name` with `data` as its further fields.
inline std::string tensor(const std::string& name, const std::string& data, int type = 1, uint64_t dim = 2) {
  return number(1, dim) + number(2, static_cast<uint64_t>(type)) + bytes(8, name) + data;
}
inline std::string float_input(const std::string& name) {
  return bytes(11, bytes(1, name) + bytes(2, bytes(1, number(1, 1))));
}
/// Graph with input x, output y and the given further fields.
inline std::string graph(const std::string& fields) { return float_input("x") + fields + bytes(12, value_info("y")); }
inline std::string relu() { return bytes(1, node("Relu", {"x"}, "y")); }

}  // namespace quarkq::onnx_io
