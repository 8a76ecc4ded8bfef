// SPDX-License-Identifier: MIT
// Requirements of stored 4-bit weights, for the type of all weights and for the types of single tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

constexpr int64_t kOpsetWith4Bits = 21;  ///< Opset of QuantizeLinear and DequantizeLinear.

/// Returns why 4-bit weights are impossible, as "UseGPTQ true, which ...", or null if they are possible.
const char* refusal_of_4_bits(const Settings& settings);

/// GPTQParams (ref:tuning#gptq): settings of GPTQ.
struct GptqSettings {
  int64_t block_size = 128;    ///< Number of rows whose errors are propagated together to the rows after them.
  int64_t group_size = -1;     ///< Number of rows that share scales; -1: all.
  double damping = 0.01;       ///< Relative to the mean diagonal.
  bool by_importance = false;  ///< Process rows with large inputs first.
  bool per_channel = false;
  bool search = false;  ///< Use the scale with the smallest error among 80 narrower ones.
  bool symmetric = true;
};

/// Returns GPTQParams over `defaults`. Fails on unknown keys and invalid values.
Result<GptqSettings> read_gptq_settings(const Settings& settings, const GptqSettings& defaults = {});

// MatMulNBitsParams (ref:writing#matmulnbits): storage of matrices in 2, 3, 4 or 8 bits.

enum class NBitsAlgorithm : uint8_t { kDefault, kHqq, kGptq, kKQuant, kAwq, kAutoRound };

/// The format of one matrix or table.
struct NBitsFormat {
  int bits = 4;         ///< 2, 3, 4 or 8.
  int64_t block = 128;  ///< Number of weights along the depth that share a scale: 16, 32, 64, 128 or 256.
  bool is_symmetric = true;

  bool operator==(const NBitsFormat&) const = default;
};

/// How the matrices are written.
enum class NBitsForm : uint8_t {
  kMatMulNBits,  ///< com.microsoft MatMulNBits
  kQdq,          ///< ai.onnx DequantizeLinear with blocks before the MatMul
};

struct MatMulNBitsSettings {
  NBitsAlgorithm algorithm = NBitsAlgorithm::kDefault;
  NBitsFormat matrices;  ///< Bits, GroupSize and Symmetric.
  NBitsFormat head;      ///< HeadBits and HeadGroupSize: the last matrix before an output. Default: as the others.
  NBitsFormat tables;    ///< EmbeddingGroupSize and the bits of tables that Gather reads, if has_tables.
  bool has_tables = false;
  std::optional<int64_t> steps = {};  ///< Steps of AUTOROUND; absent: by the size of the matrix.
  int64_t accuracy_level = 0;
  bool writes_accuracy_level = true;  ///< The reference writes none for HQQ and GPTQ.
  NBitsForm form = NBitsForm::kMatMulNBits;
  double target_bits = 0;    ///< Stored bits per weight; 0: no target.
  int64_t target_bytes = 0;  ///< Stored bytes of the result; 0: no target.

  bool has_target() const { return target_bits > 0 || target_bytes > 0; }
};

/// Fails on unknown keys and wrong values; the message names the key.
Result<MatMulNBitsSettings> read_matmul_nbits_settings(const Settings& settings);

/// Adds "option-no-effect" for keys of MatMulNBitsParams that the user gives and the algorithm does not read. Fails as
/// read_matmul_nbits_settings().
Status check_matrix_params(const Settings& settings, Diagnostics& diagnostics);

/// Returns a number of bytes: a number, or a text that parse_size() accepts. Fails for other texts and
/// for less than one byte; the message begins with `path`.
Result<int64_t> read_size(const Node& node, const std::string& path);

/// The formats of matrices and tables by name, in the file of quarkq.nbits_plan (ADR 0026).
struct NBitsPlan {
  struct Row {
    std::string name;
    NBitsFormat format;  ///< 0 bits: a table that stays as it is.
    double loss = 0;     ///< Relative output error that the choice was based on; negative: not known.
  };
  std::vector<Row> matrices, tables;
  double bits_per_weight = 0;  ///< For the reader of the file.
};
std::string to_yaml(const NBitsPlan& plan);
/// Fails, naming the file and the row, for unknown keys and formats that are impossible.
Result<NBitsPlan> load_nbits_plan(const std::string& path);

/// Fails, with a message that begins with `option`, unless MatMulNBits supports blocks of this size.
Status check_nbits_block(const char* option, int64_t size);

}  // namespace quarkq::config
