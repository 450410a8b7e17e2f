#include "common/knowledge/yaml_document.h"

#include <exception>
#include <istream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/base/yaml_text.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace galen::knowledge {
namespace {

int LineOf(const YAML::Mark& mark) { return mark.line + 1; }

// What stops the reading of a document; never leaves this file.
struct Refusal {
  int line;
  std::string text;
  std::string remedy;
};

// Builds the tree from the parser's events and stops it at the first thing that is not allowed:
// before it has grown, not after.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!IsUtf8(value) || absl::StrContains(value, '\0')) {
      throw Refusal{LineOf(mark), "a text is not valid UTF-8", "write it as UTF-8 without NUL"};
    }
    Add(mark, anchor, YamlNode::Kind::kScalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  [[noreturn]] static void RefuseAnchor(const YAML::Mark& mark) {
    throw Refusal{LineOf(mark), "anchors and aliases (& and *) are not allowed",
                  "write the value out, or put it in quotes when it is meant as text"};
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind,
           const std::string& scalar = "") {
    if (anchor != 0) RefuseAnchor(mark);
    if (++nodes_ > kMaxYamlNodes) {
      throw Refusal{LineOf(mark), absl::StrCat("more than ", kMaxYamlNodes, " values"),
                    "split the file"};
    }
    YamlNode node;
    node.kind = kind;
    node.line = LineOf(mark);
    node.scalar = scalar;
    Place(std::move(node));
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (anchor != 0) RefuseAnchor(mark);
    if (open_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) {
      throw Refusal{LineOf(mark), absl::StrCat("nested deeper than ", kMaxYamlDepth, " levels"),
                    "flatten it: labels may also stand in a flat list"};
    }
    YamlNode node;
    node.kind = kind;
    // yaml-cpp marks a block sequence or map that follows a key at its first item.
    node.line = LineOf(mark);
    open_.push_back(std::move(node));
  }

  void Close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    Place(std::move(node));
  }

  // In a map keys and values come in turn.
  void Place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    if (parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.items.size()) {
      PlaceKey(parent, std::move(node));
    } else {
      parent.items.push_back(std::move(node));
    }
  }

  static void PlaceKey(YamlNode& map, YamlNode key) {
    if (key.kind != YamlNode::Kind::kScalar) {
      throw Refusal{key.line, "a key is not a plain word", "write `key: value`"};
    }
    for (const YamlNode& earlier : map.keys) {
      if (earlier.scalar == key.scalar) {
        throw Refusal{key.line, absl::StrCat("key \"", key.scalar, "\" stands twice in one entry"),
                      absl::StrCat("remove one; the first stands on line ", earlier.line)};
      }
    }
    // Duplicates are sought linearly, so the width of a map is bounded.
    if (map.keys.size() >= 1'000) {
      throw Refusal{key.line, "more than 1000 keys in one map", "use a list"};
    }
    map.keys.push_back(std::move(key));
  }

  YamlNode root_;
  std::vector<YamlNode> open_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::optional<YamlNode> ReadYaml(absl::string_view text, const std::string& file,
                                 std::vector<Problem>& problems) {
  const auto refuse = [&](int line, std::string what, std::string remedy) {
    problems.push_back({Problem::Severity::kError, file, line, std::move(what), std::move(remedy)});
    return std::nullopt;
  };
  if (text.size() > kMaxYamlBytes) {
    return refuse(0, absl::StrCat("the file is larger than ", kMaxYamlBytes >> 20, " MiB"),
                  "split it");
  }
  if (!IsUtf8(text) || absl::StrContains(text, '\0')) {
    return refuse(0, "the file is not UTF-8 text", "save it as UTF-8");
  }
  try {
    YamlTextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeBuilder first;
    if (!parser.HandleNextDocument(first)) return YamlNode{};
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return refuse(second.TakeRoot().line, "a second document (---) starts in this file",
                    "put it into a file of its own");
    }
    return first.TakeRoot();
  } catch (const Refusal& refusal) {
    return refuse(refusal.line, refusal.text, refusal.remedy);
  } catch (const YAML::Exception& e) {
    return refuse(e.mark.is_null() ? 0 : LineOf(e.mark),
                  absl::StrCat("not valid YAML: ", CleanText(e.msg, 200)),
                  "check indentation, quotes and colons there");
  } catch (const std::exception& e) {
    return refuse(0, absl::StrCat("not valid YAML: ", CleanText(e.what(), 200)),
                  "check the syntax of the file");
  }
}

}  // namespace galen::knowledge
