// SPDX-License-Identifier: MIT
// Bytes that claim to be a calibration sample, inputs of a model, statistics, a finetuned layer, labels, boxes, texts,
// a mask, a report or settings, and seeds for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarkq::fuzz {

void run_npy(const uint8_t* data, size_t size);
void run_npz(const uint8_t* data, size_t size);
void run_operand(const uint8_t* data, size_t size);
void run_list(const uint8_t* data, size_t size);
void run_statistics(const uint8_t* data, size_t size);
void run_input_shapes(const uint8_t* data, size_t size);
void run_image(const uint8_t* data, size_t size);
void run_tar(const uint8_t* data, size_t size);
void run_saved_layer(const uint8_t* data, size_t size);
void run_labels(const uint8_t* data, size_t size);
void run_coco(const uint8_t* data, size_t size);
void run_boxes(const uint8_t* data, size_t size);
void run_texts(const uint8_t* data, size_t size);
void run_mask(const uint8_t* data, size_t size);
void run_report(const uint8_t* data, size_t size);
void run_ep_report(const uint8_t* data, size_t size);
void run_conversions(const uint8_t* data, size_t size);
void run_text_model(const uint8_t* data, size_t size);
void run_settings(const uint8_t* data, size_t size);
void run_settings_parts(const uint8_t* data, size_t size);
void run_target_file(const uint8_t* data, size_t size);
void run_pass_list(const uint8_t* data, size_t size);

std::vector<std::string> conversion_seeds();
std::vector<std::string> text_model_seeds();
std::vector<std::string> npy_seeds();
std::vector<std::string> npz_seeds();
std::vector<std::string> operand_seeds();
std::vector<std::string> list_seeds();
std::vector<std::string> input_shapes_seeds();
std::vector<std::string> image_seeds();
std::vector<std::string> tar_seeds();
std::vector<std::string> statistics_seeds();
std::vector<std::string> saved_layer_seeds();
std::vector<std::string> labels_seeds();
std::vector<std::string> coco_seeds();
std::vector<std::string> boxes_seeds();
std::vector<std::string> texts_seeds();
std::vector<std::string> mask_seeds();
std::vector<std::string> report_seeds();
std::vector<std::string> ep_report_seeds();
std::vector<std::string> settings_seeds();
std::vector<std::string> settings_parts_seeds();
std::vector<std::string> target_file_seeds();
std::vector<std::string> pass_list_seeds();

/// A few bytes changed, cut out, doubled or set to values at the edges of sizes.
std::string mutate_bytes(const uint8_t* data, size_t size, uint32_t seed);

/// Words, numbers and lines of a text changed, cut out, doubled or nested, few or thousands deep.
std::string mutate_text(const uint8_t* data, size_t size, uint32_t seed);

}  // namespace quarkq::fuzz
