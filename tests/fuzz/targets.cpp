// SPDX-License-Identifier: MIT
#include "fuzz/targets.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/differential.h"
#include "fuzz/fuzz_run.h"
#include "fuzz/sample_files.h"

namespace quarkq::fuzz {
namespace {

int write_seeds(const Target* target, const std::filesystem::path& folder) {
  if (target == nullptr || target->seeds == nullptr) return std::fputs("no target with seeds of its own\n", stderr), 2;
  size_t number = 0;
  for (const std::string& bytes : target->seeds())
    std::ofstream(folder / std::to_string(++number), std::ios::binary) << bytes;
  return 0;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> table = {
      {"model", run_once, mutate, nullptr},
      {"convert", run_conversions, mutate, conversion_seeds},
      {"npy", run_npy, mutate_bytes, npy_seeds},
      {"npz", run_npz, mutate_bytes, npz_seeds},
      {"pb", run_operand, mutate_bytes, operand_seeds},
      {"list", run_list, mutate_bytes, list_seeds},
      {"tar", run_tar, mutate_bytes, tar_seeds},
      {"input-shapes", run_input_shapes, mutate_text, input_shapes_seeds},
      {"image", run_image, mutate_bytes, image_seeds},
      {"statistics", run_statistics, mutate_bytes, statistics_seeds},
      {"saved-layer", run_saved_layer, mutate_bytes, saved_layer_seeds},
      {"labels", run_labels, mutate_bytes, labels_seeds},
      {"coco", run_coco, mutate_text, coco_seeds},
      {"boxes", run_boxes, mutate_bytes, boxes_seeds},
      {"texts", run_texts, mutate_bytes, texts_seeds},
      {"mask", run_mask, mutate_bytes, mask_seeds},
      {"text-model", run_text_model, mutate_bytes, text_model_seeds},
      {"report", run_report, mutate_text, report_seeds},
      {"settings", run_settings, mutate_text, settings_seeds},
      {"settings-parts", run_settings_parts, mutate_text, settings_parts_seeds},
      {"target-file", run_target_file, mutate_text, target_file_seeds},
      {"ep-report", run_ep_report, mutate_text, ep_report_seeds},
      {"pass-list", run_pass_list, mutate_text, pass_list_seeds},
      {"quantize-loops", run_quantize_loops, mutate_bytes, quantize_loop_seeds},
      {"merged-statistics", run_merged_statistics, mutate_bytes, merged_statistics_seeds},
      {"save-load", run_save_load, mutate, nullptr},
      {"threads", run_threads, mutate, nullptr},
      {"rewrites", run_rewrites, mutate, rewrite_seeds},
      {"quantize", run_quantize, mutate_variant, quantize_seeds},
  };
  return table;
}

const Target* find_target(const std::string& name) {
  for (const Target& target : targets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

std::optional<int> answer_about_targets(int argc, char** argv) {
  const std::string asked = argc < 2 ? "" : argv[1];
  if (argc == 4 && asked == "--seeds") return write_seeds(find_target(argv[2]), argv[3]);
  if (argc != 2 || asked != "--list") return std::nullopt;
  for (const Target& target : targets()) std::printf("%s%s\n", target.name, target.seeds == nullptr ? " files" : "");
  return 0;
}

}  // namespace quarkq::fuzz
