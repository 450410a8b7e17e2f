#ifndef COMMON_KNOWLEDGE_PARSE_H_
#define COMMON_KNOWLEDGE_PARSE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/fields.h"
#include "common/knowledge/yaml_document.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// A label as written, with the signals inside it.
struct LabelEntry {
  v1::Label label;  // `children` is not filled in
  std::vector<v1::SignalPattern> signals;
};

// An entry of an earlier directory that a later one switches off.
struct SwitchedOff {
  enum class Kind { kLabel, kCheck, kSignal, kIncident };
  Kind kind = Kind::kLabel;
  std::string name;
  v1::SourceRef source;
};

// The id of a signal inside a label: its own, or the label's name and its place there.
std::string InnerSignalId(const LabelEntry& entry, std::size_t place);

// The entries of the files of one directory, in the order of reading.
struct Entries {
  std::vector<LabelEntry> labels;
  std::vector<v1::Check> checks;
  std::vector<v1::SignalPattern> signals;
  std::vector<v1::PastIncident> incidents;
  std::vector<v1::ErrorCode> error_codes;
  std::vector<v1::Hardware> hardware;
  std::vector<v1::KernelLine> kernel_lines;
  std::vector<v1::ArtefactKind> artefact_kinds;
  std::vector<v1::BaseRate> base_rates;
  std::vector<v1::Complaints> complaints;
  std::vector<v1::Prompt> prompts;
  std::vector<v1::LlmPrice> llm_prices;
  std::vector<v1::LlmBudget> llm_budgets;
  std::vector<v1::LlmCalibration> llm_calibrations;
  std::vector<SwitchedOff> off;
  // Labels that stay switched off after Overlay(); Assemble() removes them and the entries that
  // depend on them.
  std::vector<std::string> labels_off;
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
void ParseKernelLines(const FileContext& context, const Fields& file, Entries& entries);
void ParseArtefactKinds(const FileContext& context, const Fields& file, Entries& entries);
void ParseBaseRates(const FileContext& context, const Fields& file, Entries& entries);
void ParseComplaints(const FileContext& context, const Fields& file, Entries& entries);
void ParseIncidents(const FileContext& context, const Fields& file, Entries& entries);
void ParsePrompts(const FileContext& context, const Fields& file, Entries& entries);
void ParsePrices(const FileContext& context, const Fields& file, Entries& entries);
void ParseBudgets(const FileContext& context, const Fields& file, Entries& entries);
void ParseCalibrations(const FileContext& context, const Fields& file, Entries& entries);
void ParseSwitchedOff(const FileContext& context, const Fields& file, Entries& entries);

// The fields that every signal has, in a catalogue or inside a label.
void ReadSignal(const FileContext& context, const Fields& fields, v1::SignalPattern& signal);
// The operator and the value of a condition.
void ReadCondition(const Fields& fields, v1::Rule& rule);
void SetSource(const FileContext& context, int line, v1::SourceRef& source);

// Puts the later directory's entries on top of the earlier ones: an entry replaces an earlier one
// of the same name, others follow. Names that occur twice in `later` stay twice. The entries that
// `later` switches off are removed first; a name that `earlier` does not have is a problem.
void Overlay(Entries& earlier, Entries later, std::vector<Problem>& problems);

// The first half of Overlay(): signals and incidents go, checks are marked, labels are noted in
// `earlier.labels_off`.
void SwitchOff(Entries& earlier, const std::vector<SwitchedOff>& off,
               std::vector<Problem>& problems);

// Takes out the labels that are switched off: those below them, those above that are left without a
// child, and every reference to them; past incidents whose cause they are go too.
void TakeOutLabels(Entries& entries);

// Gives labels their children, and merges the signals inside labels into the catalogue: the same
// pattern is one signal with all its labels and the greatest strength.
v1::KnowledgeBase Assemble(Entries entries);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_PARSE_H_
