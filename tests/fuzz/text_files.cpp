// SPDX-License-Identifier: MIT
// Bytes that claim to be labels of results, boxes in photos, texts, or the report of a quantize run.
#include "fuzz/memory_file.h"
#include "fuzz/sample_files.h"
#include "metrics/text_errors.h"
#include "metrics/truth/boxes.h"
#include "metrics/truth/labels.h"
#include "quarkq/quantize.h"

namespace quarkq::fuzz {

void run_labels(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  Result<metrics::Labels> labels = metrics::Labels::read(file.path());
  if (!labels.ok()) return;
  const bool fits = labels.value().share_out(3, /*is_part=*/true).ok();
  for (size_t i = 0; fits && i < 3; ++i) {
    for (const char* name : {"s0", "val/s0.png", "v1.5.npy", "a,b", ""}) (void)labels.value().of(i, name).ok();
  }
}

std::vector<std::string> labels_seeds() {
  return {
      "\xEF\xBB\xBF"
      "file,wnid,label\r\n\"val/a,\"\"b\"\".png\",n1,2\r\nv1.5.npy,n2,-7\r\n",
      "label\n3\n1\n4\n", "s0.JPEG 2\ns1 x.png\t1\n", "1\n2\n3\n"};
}

void run_coco(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const Result<metrics::BoxTruth> truth = metrics::read_coco(file.path());
  if (!truth.ok()) return;
  for (const char* name : {"a", "val/a.jpg", ""}) (void)truth.value().find(name).ok();
}

std::vector<std::string> coco_seeds() {
  return {
      R"({"images": [{"id": 4, "file_name": "val/a.jpg", "width": 9, "height": 7}], "categories": [{"id": 1}, {"id": 3}],)"
      R"("annotations": [{"image_id": 4, "category_id": 3, "bbox": [1, 1.5, 2e0, 2], "area": 3, "iscrowd": 1}]})",
      R"({"images": [], "categories": [], "annotations": []})"};
}

void run_boxes(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  (void)metrics::read_voc_file(file.path(), {{"cat", 0}, {"dog", 1}}).ok();
  (void)metrics::read_yolo_file(file.path(), 2).ok();
}

std::vector<std::string> boxes_seeds() {
  return {
      "<?xml version=\"1.0\"?><!DOCTYPE a><annotation k='x'><!-- <a> "
      "--><f/><size><width>4</width><height>3</height></size>"
      "<object><name>dog</name><part><name>head</name></part><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1.5</"
      "ymin>"
      "<xmax>2e0</xmax><ymax>2</ymax></bndbox></object></annotation>",
      "1 0.5 0.5 0.25 1\n\n0\t0.1 0.1 0 0 \n"};
}

void run_texts(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const Result<metrics::Texts> texts = metrics::Texts::read(file.path());
  for (const char* name : {"a", "val/a.jpg", ""}) {
    const Result<std::string> text = texts.ok() ? texts.value().of(name) : texts.status();
    if (!text.ok()) continue;
    const metrics::Parts characters = metrics::characters_of(text.value());
    if (characters.size() < 100) (void)metrics::edits_between(characters, metrics::words_of(text.value()));
  }
  const Result<metrics::Alphabet> alphabet = metrics::Alphabet::read(file.path());
  const ir::Tensor scores = ir::Tensor::from<float>({1, 2, 3}, std::vector<float>{0, 1, 0, 0, 0, 1});
  if (alphabet.ok()) (void)metrics::decode_ctc(scores, alphabet.value()).ok();
}

std::vector<std::string> texts_seeds() {
  return {
      "\xEF\xBB\xBF"
      "val/a.jpg\tcaf\xC3\xA9, two\r\n\nb,x y\n",
      "a,\xFF\x80\n", "a\n \n"};
}

void run_report(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  (void)html_report(file.path()).ok();
}

std::vector<std::string> report_seeds() {
  QuantizeReport report;
  report.model_path = "m.onnx";
  report.output_path = "q.onnx";
  report.outputs = {{"y", 0.99, 30, 0.98, "a"}, {"z", 0.5, 3, 0.25, "b"}};
  report.phases = {{"prepare", 0.1, true, 9, 7}, {"insert", 0.001, true, 7, 20}};
  report.findings = {{true, "id", "x", "text <b>"}, {false, "other", "", "text"}};
  report.tuned_layers = {{"node conv (Conv)", "adaround", 0.5, 0.25, true, false, 1.5}};
  report.tuned_outputs = {2, 0.5, 0.75};
  report.worst_tensors = {{"x", "node conv (Conv)", 20, 25, 30, 0.9}};
  report.tensors_by_type = {{"activation INT8", 3}};
  const std::string plain = to_json(report);
  ReportDetails& details = report.details.emplace();
  details.settings = {{"weight_type", "QuantType.QInt8", "preset"}};
  details.tensors = report.worst_tensors;
  details.profiles = {{"x", "activation", "INT8", -1, 1, -0.5, 0.5, 1, {0, 3, 1, 7}, 0.25, 0.5}};
  details.limits.emplace();
  details.limits->target = "xint8";
  details.limits->violations = {{"power_of_two", "", "x", "scale", 0.3, false, 0, 0, "quantize"},
                                {"align_pool", "node p", "x", "position", 7, true, 5, 5, "move"}};
  return {to_json(report), plain};
}

}  // namespace quarkq::fuzz
