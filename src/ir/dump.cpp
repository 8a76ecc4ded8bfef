// SPDX-License-Identifier: MIT
#include "ir/dump.h"

#include <array>
#include <charconv>

#include "base/hash.h"
#include "base/strings.h"

namespace quarkq::ir {
namespace {

std::string hash_text(const ContentHash& hash) {
  constexpr size_t kDigits = 16;
  return "#" + hash.text().substr(0, kDigits);
}

std::string hash_text(const void* data, size_t bytes) {
  ContentHash hash;
  hash.add(data, bytes);
  return hash_text(hash);
}

std::string rest_text(const char* what, const std::string& rest) {
  return rest.empty() ? "" : cat(" ", what, hash_text(rest.data(), rest.size()));
}

std::string number_text(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}
std::string number_text(int64_t value) { return std::to_string(value); }

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
    else
      out += cat("\\x", static_cast<int>(c));
  }
  return printable(out) + "\"";
}
std::string number_text(const std::string& value) { return quoted(value); }
std::string number_text(const Tensor& value) { return tensor_text(value); }

template <typename T>
std::string list_text(const std::vector<T>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const T& value : values) parts.push_back(number_text(value));
  return "[" + join(parts, ", ") + "]";
}

class Dumper {
 public:
  Dumper(const Graph& graph, const DumpOptions& options, int indent)
      : graph_(graph), options_(options), indent_(indent) {}

  std::string text() {
    if (options_.values) values_before();
    for (const NodeId id : graph_.order()) line(node_text(graph_.node(id)));
    if (options_.values) values_after();
    return std::move(text_);
  }

 private:
  void line(const std::string& content) {
    text_.append(static_cast<size_t>(indent_), ' ');
    text_ += content;
    text_ += '\n';
  }
  std::string rest(const char* what, const std::string& bytes) const {
    return options_.rests ? rest_text(what, bytes) : std::string();
  }
  std::string value_name(ValueId id) const { return id.valid() ? printable(graph_.value(id).name) : "_"; }
  std::string names(const std::vector<ValueId>& ids) const {
    std::vector<std::string> parts;
    parts.reserve(ids.size());
    for (const ValueId id : ids) parts.push_back(value_name(id));
    return join(parts, ", ");
  }

  void values_before() {
    line(cat("graph ", quoted(graph_.name), rest("rest", graph_.extra)));
    for (const ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      line(cat("input ", printable(value.name), ": ", type_text(value.type), rest("rest", value.extra)));
    }
    for (const ValueId id : graph_.captured()) line("captured " + value_name(id));
    for (const ValueId id : graph_.initializers()) {
      const Value& value = graph_.value(id);
      line(cat("initializer ", printable(value.name), ": ", tensor_text(*value.constant),
               rest("rest", value.tensor_extra)));
    }
  }
  void values_after() {
    for (const ValueId id : graph_.outputs()) {
      const Value& value = graph_.value(id);
      line(cat("output ", printable(value.name), ": ", type_text(value.type), rest("rest", value.extra)));
    }
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId id{static_cast<int32_t>(i)};
      if (!graph_.is_alive(id) || !graph_.value(id).has_info) continue;
      const Value& value = graph_.value(id);
      line(cat("info ", printable(value.name), ": ", type_text(value.type), rest("rest", value.extra)));
    }
  }

  std::string nested_text(const Graph& nested) const {
    const std::string margin(static_cast<size_t>(indent_), ' ');
    return cat("{\n", Dumper(nested, options_, indent_ + 2).text(), margin, "}");
  }
  std::string attribute_text(const Attribute& attribute) const {
    const std::string text = std::visit([&](const auto& value) { return value_text(value); }, attribute.value);
    return cat(printable(attribute.name), ": ", text,
               attribute.reference.empty() ? "" : " @" + printable(attribute.reference), rest("rest", attribute.extra));
  }
  template <typename T>
  std::string value_text(const T& value) const {
    return number_text(value);
  }
  template <typename T>
  std::string value_text(const std::vector<T>& values) const {
    return list_text(values);
  }
  std::string value_text(const GraphPtr& graph) const { return nested_text(*graph); }
  std::string value_text(const std::vector<GraphPtr>& graphs) const {
    std::vector<std::string> parts;
    parts.reserve(graphs.size());
    for (const GraphPtr& graph : graphs) parts.push_back(nested_text(*graph));
    return "[" + join(parts, ", ") + "]";
  }
  std::string value_text(const OpaqueAttribute& opaque) const {
    return "opaque " + hash_text(opaque.bytes.data(), opaque.bytes.size());
  }

  std::string node_text(const Node& node) const {
    std::string text =
        cat(names(node.outputs), " = ", node.domain.empty() ? "" : printable(node.domain) + "::", printable(node.op),
            node.overload.empty() ? "" : ":" + printable(node.overload), "(", names(node.inputs), ")");
    std::vector<std::string> attributes;
    for (const Attribute& attribute : node.attributes) attributes.push_back(attribute_text(attribute));
    if (!attributes.empty()) text += cat(" {", join(attributes, ", "), "}");
    if (!node.name.empty()) text += " " + quoted(node.name);
    for (const Capture& capture : node.captures)
      text += cat(" <", printable(capture.name), "=", value_name(capture.outer), ">");
    return text + rest("rest", node.extra);
  }

  const Graph& graph_;
  const DumpOptions& options_;
  int indent_;
  std::string text_;
};

}  // namespace

std::string dims_text(const std::vector<Dim>& dims) {
  std::vector<std::string> texts;
  texts.reserve(dims.size());
  for (const Dim& dim : dims) {
    texts.push_back(dim.known() ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : printable(dim.symbol));
  }
  return "[" + join(texts, ",") + "]";
}

std::string type_text(const ValueType& type) {
  if (!type.other_type.empty()) return "other " + hash_text(type.other_type.data(), type.other_type.size());
  std::string text(type.element == ElementType::kUndefined ? "?" : name(type.element));
  if (!type.has_shape) return text;
  return text + dims_text(type.dims);
}

std::string tensor_text(const Tensor& tensor) {
  ContentHash hash;
  if (tensor.type() == ElementType::kString) {
    for (const std::string& text : tensor.strings()) hash.add(text);
  } else {
    hash.add(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  }
  return cat(name(tensor.type()), shape_text(tensor.dims()), " ", hash_text(hash));
}

std::string dump(const Graph& graph, const DumpOptions& options) { return Dumper(graph, options, 0).text(); }

std::string dump(const Model& model, const DumpOptions& options) {
  std::string text = cat("ir_version ", model.ir_version, "\n");
  for (const std::string& domain : model.opset_order) {
    text += cat("opset ", domain.empty() ? "ai.onnx" : printable(domain), " ", model.opset(domain), "\n");
  }
  text += cat("producer ", quoted(model.producer_name), " ", quoted(model.producer_version));
  if (options.rests) text += rest_text("rest", model.extra);
  return text + "\n" + dump(model.graph, options);
}

}  // namespace quarkq::ir
