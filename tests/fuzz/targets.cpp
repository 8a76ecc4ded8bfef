// SPDX-License-Identifier: MIT
#include "fuzz/targets.h"

#include "fuzz/differential.h"
#include "fuzz/fuzz_run.h"
#include "fuzz/sample_files.h"

namespace quarkq::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> table = {
      {"model", run_once, mutate, nullptr},
      {"convert", run_conversions, mutate, conversion_seeds},
      {"npy", run_npy, mutate_bytes, npy_seeds},
      {"npz", run_npz, mutate_bytes, npz_seeds},
      {"pb", run_operand, mutate_bytes, operand_seeds},
      {"list", run_list, mutate_bytes, list_seeds},
      {"tar", run_tar, mutate_bytes, tar_seeds},
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
      {"pass-list", run_pass_list, mutate_text, pass_list_seeds},
      {"quantize-loops", run_quantize_loops, mutate_bytes, quantize_loop_seeds},
      {"merged-statistics", run_merged_statistics, mutate_bytes, merged_statistics_seeds},
      {"save-load", run_save_load, mutate, nullptr},
      {"threads", run_threads, mutate, nullptr},
      {"rewrites", run_rewrites, mutate, rewrite_seeds},
  };
  return table;
}

const Target* find_target(const std::string& name) {
  for (const Target& target : targets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

}  // namespace quarkq::fuzz
