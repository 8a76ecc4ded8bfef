// SPDX-License-Identifier: MIT
// The seam to yaml-cpp. Its event interface is used, so that no tree of its own is built and the limits hold while
// parsing.
#include "config/load.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/file_system.h"

namespace quarkq::config {
namespace {

/// Leaves the parser early; caught in parse_text().
struct ParseStop : std::runtime_error {
  ParseStop(const YAML::Mark& mark, const std::string& what) : std::runtime_error(what), line(mark.line + 1) {}
  int line;
};

/// Builds one Node from the parser's events. A list or map under construction is a frame on a stack.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& source_name) : source_(std::make_shared<const std::string>(source_name)) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, Node(), anchor, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    add(mark, is_quoted || expects_key() ? Node(value) : Node::from_plain_scalar(value), anchor, 1);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw ParseStop(mark, "an alias names a value that contains it");
    add(mark, found->second.node, 0, found->second.nodes);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, /*is_map=*/false);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, /*is_map=*/true);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    bool is_map;
    size_t nodes_before;
    Node::List items;
    Node::Map entries;
    std::set<std::string> keys;
    bool has_key = false;
    std::string key;
    Mark key_mark;
  };
  struct Anchored {
    Node node;
    size_t nodes;
  };

  bool expects_key() const { return !stack_.empty() && stack_.back().is_map && !stack_.back().has_key; }
  Mark mark_of(const YAML::Mark& mark) const { return Mark{source_, mark.line + 1}; }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map) {
    if (expects_key()) throw ParseStop(mark, "found a list or map as a key, allowed are scalars");
    if (stack_.size() >= static_cast<size_t>(kMaxDepth))
      throw ParseStop(mark, cat("nested deeper than ", kMaxDepth, " levels"));
    stack_.push_back({mark, anchor, is_map, nodes_, {}, {}, {}, false, {}, {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Node node = frame.is_map ? Node(std::move(frame.entries)) : Node(std::move(frame.items));
    const size_t inside = nodes_ - frame.nodes_before;
    nodes_ = frame.nodes_before;
    add(frame.mark, std::move(node), frame.anchor, inside + 1);
  }

  void add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMaxNodes) throw ParseStop(mark, cat("more than ", kMaxNodes, " values"));
    node = node.at(mark_of(mark));
    if (anchor != 0) anchors_[anchor] = {node, nodes};
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (!frame.is_map) {
      frame.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      take_key(mark, node, frame);
    } else {
      frame.entries.push_back({std::move(frame.key), std::move(node), std::move(frame.key_mark)});
      frame.has_key = false;
    }
  }

  void take_key(const YAML::Mark& mark, const Node& node, Frame& frame) {
    if (!node.is_text()) throw ParseStop(mark, "found " + describe(node) + " as a key, allowed are texts");
    if (!frame.keys.insert(node.as_text()).second) throw ParseStop(mark, "key " + node.as_text() + " is given twice");
    frame.key = node.as_text();
    frame.key_mark = mark_of(mark);
    frame.has_key = true;
  }

  std::shared_ptr<const std::string> source_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  size_t nodes_ = 0;
  Node root_;
};

bool is_binary(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f || byte == 0xff || byte == 0xfe)
      return true;
  }
  return false;
}

/// The library queues every token of a flow list on one line before it reports the first, at 230 bytes each. A value
/// takes at most three of these characters, so more of them than this would exhaust memory.
bool has_too_many_values(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += c == '[' || c == ']' || c == '{' || c == '}' || c == ',' ? 1 : 0;
  return count > 3 * kMaxNodes;
}

/// What to write for Python's tuples, when the line in which the parser stopped has one around lists.
std::string tuple_hint(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int i = 0; i <= line; ++i) std::getline(lines, found);
  if (found.find("([") == std::string::npos) return {};
  return "; tuples are written as lists, such as [[[starts], [ends]]] for [([starts], [ends])]";
}

}  // namespace

Result<Node> parse_text(const std::string& text, const std::string& source_name) {
  if (text.size() > kMaxFileBytes) return resource_error(source_name, ": larger than ", kMaxFileBytes, " bytes");
  if (is_binary(text))
    return invalid_argument(source_name, ": found bytes that are not text, allowed is YAML or JSON in UTF-8");
  if (has_too_many_values(text)) return invalid_argument(source_name, ": more than ", kMaxNodes, " values");
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder builder(source_name);
    if (!parser.HandleNextDocument(builder)) return Node();
    Node root = builder.take_root();
    TreeBuilder second(source_name);
    if (parser.HandleNextDocument(second))
      return invalid_argument(source_name, ": found several documents, allowed is one");
    return root;
  } catch (const ParseStop& stop) {
    return invalid_argument(source_name, ":", stop.line, ": ", stop.what());
  } catch (const YAML::Exception& error) {
    return invalid_argument(source_name, ":", error.mark.line + 1, ": not YAML: ", error.msg,
                            tuple_hint(text, error.mark.line));
  } catch (const std::bad_alloc&) {
    throw;  // no matter of the text
  } catch (const std::exception& error) {
    return invalid_argument(source_name, ": not YAML: ", error.what());
  }
}

Result<Node> load_file(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kMaxFileBytes);
  if (!text.ok() && text.status().code() == Code::kBadData) return invalid_argument(text.status().message());
  if (!text.ok()) return text.status();
  return parse_text(text.value(), path);
}

}  // namespace quarkq::config
