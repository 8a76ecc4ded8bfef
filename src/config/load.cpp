// SPDX-License-Identifier: MIT
// The seam to yaml-cpp. Its event interface is used, so that no tree of its own is built and the limits hold while
// parsing.
#include "config/load.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
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
  TreeBuilder(const std::string& source_name, const std::string& text)
      : source_(std::make_shared<const std::string>(source_name)),
        most_bytes_(text.size() + kMaxAliasBytes),
        lines_(split(text, '\n')) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, Node(), anchor, {1, 0}); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (is_quoted) check_quotes(mark);
    add(mark, is_quoted || expects_key() ? Node(value) : Node::from_plain_scalar(value), anchor, {1, value.size()});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw ParseStop(mark, "an alias names a value that contains it");
    add(mark, found->second.node, 0, found->second.size);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, anchor, {.is_map = false, .is_block = style == YAML::EmitterStyle::Block});
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, anchor, {.is_map = true, .is_block = style == YAML::EmitterStyle::Block});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// Expanded size of a value: an alias counts each time it is used.
  struct Size {
    size_t nodes = 0, bytes = 0;  ///< values, and the bytes of their texts
  };
  struct Kind {
    bool is_map, is_block;  ///< block style: by indentation, without brackets
  };
  struct Frame {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    Kind kind;
    Size before;
    Node::List items;
    Node::Map entries;
    std::set<std::string> keys;
    bool has_key = false;
    std::string key;
    Mark key_mark;
  };
  struct Anchored {
    Node node;
    Size size;
  };

  bool expects_key() const { return !stack_.empty() && stack_.back().kind.is_map && !stack_.back().has_key; }
  Mark mark_of(const YAML::Mark& mark) const { return Mark{source_, mark.line + 1}; }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    if (expects_key()) throw ParseStop(mark, "found a list or map as a key, allowed are scalars");
    if (stack_.size() >= static_cast<size_t>(kMaxDepth))
      throw ParseStop(mark, cat("nested deeper than ", kMaxDepth, " levels"));
    stack_.push_back({mark, anchor, kind, size_, {}, {}, {}, false, {}, {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Node node = frame.kind.is_map ? Node(std::move(frame.entries)) : Node(std::move(frame.items));
    const Size inside{size_.nodes - frame.before.nodes + 1, size_.bytes - frame.before.bytes};
    size_ = frame.before;
    add(frame.mark, std::move(node), frame.anchor, inside);
  }

  void add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, const Size& size) {
    size_.nodes += size.nodes;
    size_.bytes += size.bytes;
    if (size_.nodes > kMaxNodes) throw ParseStop(mark, cat("more than ", kMaxNodes, " values"));
    if (size_.bytes > most_bytes_)
      throw ParseStop(mark, cat("aliases repeat more than ", kMaxAliasBytes, " bytes of text"));
    node = node.at(mark_of(mark));
    if (anchor != 0) anchors_[anchor] = {node, size};
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (!frame.kind.is_map) {
      frame.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      take_key(mark, node, frame);
    } else {
      frame.entries.push_back({std::move(frame.key), std::move(node), std::move(frame.key_mark)});
      frame.has_key = false;
    }
  }

  /// A text in quotes may go on in lines that are indented more than the keys around it (YAML 1.2.2, section 7.3). The
  /// library does not look, so a missing quote would take in the settings that follow.
  void check_quotes(const YAML::Mark& mark) const {
    const auto around = std::find_if(stack_.rbegin(), stack_.rend(),
                                     [](const Frame& frame) { return frame.kind.is_map && frame.kind.is_block; });
    const auto first = static_cast<size_t>(mark.line), column = static_cast<size_t>(mark.column);
    if (around == stack_.rend() || first >= lines_.size() || column >= lines_[first].size()) return;
    const char quote = lines_[first][column];
    if (quote != '"' && quote != '\'') return;
    for (size_t line = first, at = column + 1; line < lines_.size(); ++line, at = 0) {
      const std::string& text = lines_[line];
      const size_t indent = std::min(text.find_first_not_of(' '), text.size());
      const bool is_blank = text.find_first_not_of(" \t\r") == std::string::npos;
      if (line > first && !is_blank && indent <= static_cast<size_t>(around->mark.column))
        throw ParseStop(mark, cat("a text in quotes continues in line ", line + 1,
                                  ", which is not indented enough; close it with ", quote));
      for (; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\')
          ++at;
        else if (text[at] == quote && quote == '\'' && at + 1 < text.size() && text[at + 1] == quote)
          ++at;
        else if (text[at] == quote)
          return;
      }
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
  size_t most_bytes_;
  std::vector<std::string> lines_;
  Size size_;
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
    TreeBuilder builder(source_name, text);
    if (!parser.HandleNextDocument(builder)) return Node();
    Node root = builder.take_root();
    TreeBuilder second(source_name, text);
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
