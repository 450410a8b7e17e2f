#ifndef COMMON_KNOWLEDGE_PARSE_H_
#define COMMON_KNOWLEDGE_PARSE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/fields.h"
#include "common/knowledge/yaml_document.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// A label as written, with the signals that stand inside it.
struct LabelEntry {
  v1::Label label;  // `children` is not filled in
  std::vector<v1::SignalPattern> signals;
};

// What the files of one directory hold, in the order of reading.
struct Entries {
  std::vector<LabelEntry> labels;
  std::vector<v1::Check> checks;
  std::vector<v1::SignalPattern> signals;
  std::vector<v1::PastIncident> incidents;
  std::vector<v1::ErrorCode> error_codes;
  std::vector<v1::Hardware> hardware;
};

// Adds what one file holds; mistakes of form become problems of `context`, and an entry that lacks
// its name is left out.
void ParseFile(absl::string_view text, const FileContext& context, Entries& entries);

// One section each: `list` is the value of the section's key. Used by ParseFile only.
void ParseLabels(const FileContext& context, const Fields& file, Entries& entries);
void ParseChecks(const FileContext& context, const Fields& file, Entries& entries);
void ParseSignals(const FileContext& context, const Fields& file, Entries& entries);
void ParseErrorCodes(const FileContext& context, const Fields& file, Entries& entries);
void ParseHardware(const FileContext& context, const Fields& file, Entries& entries);
void ParseIncidents(const FileContext& context, const Fields& file, Entries& entries);

// The fields that every signal has, in a catalogue or inside a label.
void ReadSignal(const FileContext& context, const Fields& fields, v1::SignalPattern& signal);
// The operator and the value of a condition.
void ReadCondition(const Fields& fields, v1::Rule& rule);
void SetSource(const FileContext& context, int line, v1::SourceRef& source);

// The later directory's entries on top of the earlier ones: an entry of the same name takes the
// place of the earlier one, others follow. Names that stand twice in `later` stay twice.
void Overlay(Entries& earlier, Entries later);

// Gives labels their children, and merges the signals that stand inside labels into the catalogue:
// the same pattern is one signal with all its labels and the greatest strength.
v1::KnowledgeBase Assemble(Entries entries);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_PARSE_H_
