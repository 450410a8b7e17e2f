#include "common/host/manifest.h"

#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/node_name.h"
#include "common/yaml/yaml.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxManifestNodes = 10'000;

absl::StatusOr<std::vector<std::string>> Nodes(const Yaml& value, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(std::vector<std::string> nodes, YamlTexts(value, file, "nodes"));
  if (nodes.size() > kMaxManifestNodes) {
    return YamlError(value, file, absl::StrCat("nodes: more than ", kMaxManifestNodes, " nodes"));
  }
  std::set<std::string> seen;
  for (const std::string& node : nodes) {
    if (!IsNodeName(node)) {
      return YamlError(
          value, file,
          absl::StrCat("nodes: \"", CleanText(node, 64),
                       "\" is not a valid host name; use letters, digits, \".\", \"_\", \"-\""));
    }
    if (!seen.insert(node).second) {
      return YamlError(value, file, absl::StrCat("nodes: ", node, " is there twice; keep one"));
    }
  }
  return nodes;
}

// Notes are for people: an entry is a text, or a map whose values are joined to one text.
std::vector<std::string> Notes(const Yaml* value) {
  std::vector<std::string> notes;
  if (value == nullptr) return notes;
  for (const Yaml& item : value->items) {
    std::vector<std::string> parts = {item.scalar};
    for (const auto& [name, part] : item.fields) parts.push_back(part.scalar);
    if (parts.size() > 1) parts.erase(parts.begin());
    notes.push_back(CleanText(absl::StrJoin(parts, ": "), 1024));
  }
  return notes;
}

std::string TextOf(const Yaml* value) {
  return value == nullptr ? std::string() : CleanText(value->scalar, 256);
}

std::string QuotedList(absl::Span<const std::string> texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, absl::string_view text) {
    absl::StrAppend(out, YamlQuote(text));
  });
}

void AppendNotes(std::string& out, absl::string_view name, absl::Span<const std::string> notes) {
  absl::StrAppend(&out, name, notes.empty() ? ": []\n" : ":\n");
  for (const std::string& note : notes) absl::StrAppend(&out, "  - ", YamlQuote(note), "\n");
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  const Yaml* const format = document.Find("format");
  if (format == nullptr || format->scalar != kBundleFormat) {
    return YamlError(
        format == nullptr ? document : *format, file,
        absl::StrCat("format: is not ", kBundleFormat, "; this version reads no other"));
  }
  Manifest manifest;
  if (const Yaml* const nodes = document.Find("nodes")) {
    GALEN_ASSIGN_OR_RETURN(manifest.nodes, Nodes(*nodes, file));
  }
  manifest.captured_at = TextOf(document.Find("captured_at"));
  manifest.captured_by = TextOf(document.Find("captured_by"));
  manifest.refused = Notes(document.Find("refused"));
  manifest.redacted = Notes(document.Find("redacted"));
  return manifest;
}

std::string FormatManifest(const Manifest& manifest) {
  std::string out = absl::StrCat("format: ", kBundleFormat, "\n");
  if (!manifest.captured_at.empty()) {
    absl::StrAppend(&out, "captured_at: ", YamlQuote(manifest.captured_at), "\n");
  }
  if (!manifest.captured_by.empty()) {
    absl::StrAppend(&out, "captured_by: ", YamlQuote(manifest.captured_by), "\n");
  }
  if (manifest.nodes.has_value()) {
    absl::StrAppend(&out, "nodes: [", QuotedList(*manifest.nodes), "]\n");
  }
  AppendNotes(out, "refused", manifest.refused);
  AppendNotes(out, "redacted", manifest.redacted);
  return out;
}

}  // namespace galen::host
