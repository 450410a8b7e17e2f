#include "common/reasoner/wording.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::reasoner {
namespace {

using galen::v1::Device;
using galen::v1::Finding;

constexpr int kMaxNamedDevices = 3;
constexpr size_t kMaxValueBytes = 120;
// A leaf that the words of the report make seven times likelier.
constexpr double kReadsLike = 2.0;

std::string Unit(const Finding& finding) {
  const std::string& unit = finding.unit();
  if (unit.empty() || unit == "count" || unit == "1" || finding.has_text_value()) return "";
  return unit == "%" ? unit : absl::StrCat(" ", unit);
}

std::string Value(const Finding& finding) {
  return absl::StrCat(CleanText(knowledge::ValueText(finding), kMaxValueBytes), Unit(finding));
}

Device PlaceOf(const Finding& finding, absl::string_view node) {
  Device device = finding.subject();
  if (device.node().empty()) device.set_node(std::string(node));
  return device;
}

// "links inactive 12 (expected 0)", "Xid 48 (double bit ECC error), 3 times".
std::string Statement(const knowledge::Knowledge& knowledge, const Finding& finding) {
  if (finding.has_event_value()) {
    std::string text = DescribeEvent(knowledge, finding);
    if (finding.event_value().count() > 1) {
      absl::StrAppend(&text, ", ", finding.event_value().count(), " times");
    }
    return text;
  }
  std::string text = absl::StrCat(Words(finding.name()), " ", Value(finding));
  if (!finding.expected().empty()) {
    absl::StrAppend(&text, " (expected ", CleanText(finding.expected(), kMaxValueBytes), ")");
  }
  return text;
}

// The spelling of NVIDIA's documents.
std::string FamilyName(absl::string_view finding) {
  if (finding == "xid") return "Xid";
  if (finding == "sxid") return "SXid";
  return Words(finding);
}

std::string EventsOrDevices(size_t count, const Finding& first) {
  // For "gpu:1/link:3" the links are counted.
  absl::string_view kind = first.subject().device();
  kind = kind.substr(kind.rfind('/') + 1);
  kind = kind.substr(0, kind.find(':'));
  if (kind.empty()) return absl::StrCat(count, " readings");
  if (kind == "gpu" || kind == "nic") {
    return absl::StrCat(count, kind == "gpu" ? " GPUs" : " NICs");
  }
  return absl::StrCat(count, " ", kind, "s");
}

// Summarizes findings of one name: "links inactive 0 on all 8 GPUs".
std::string Together(const knowledge::Knowledge& knowledge,
                     const std::vector<const Finding*>& findings, absl::string_view node) {
  const Finding& first = *findings.front();
  if (findings.size() == 1) return Describe(knowledge, first, node);
  std::set<std::string> values;
  std::set<absl::string_view> devices;
  for (const Finding* finding : findings) {
    values.insert(Value(*finding));
    devices.insert(finding->subject().device());
  }
  const std::string of = devices.size() == 1
                             ? Place(PlaceOf(first, node))
                             : absl::StrCat(EventsOrDevices(devices.size(), first), " of ", node);
  if (values.size() == 1) {
    return absl::StrCat(Statement(knowledge, first), devices.size() == 1 ? " on " : " on all ", of);
  }
  std::vector<std::string> named(values.begin(), values.end());
  if (named.size() > kMaxNamedDevices) {
    named.resize(kMaxNamedDevices);
    named.push_back("...");
  }
  return absl::StrCat(Words(first.name()), " ", absl::StrJoin(named, ", "), " on ", of);
}

}  // namespace

std::string Words(absl::string_view identifier) {
  return absl::StrReplaceAll(identifier, {{"_", " "}});
}

std::string Place(const Device& device) {
  if (device.device().empty()) return device.node().empty() ? "the job" : device.node();
  if (device.node().empty()) return device.device();
  return absl::StrCat(device.device(), " on ", device.node());
}

std::string Places(const google::protobuf::RepeatedPtrField<Device>& devices) {
  std::vector<std::string> named;
  for (int i = 0; i < std::min(devices.size(), kMaxNamedDevices); ++i)
    named.push_back(Place(devices[i]));
  if (devices.size() > kMaxNamedDevices) {
    return absl::StrCat(absl::StrJoin(named, ", "), " and ", devices.size() - kMaxNamedDevices,
                        " more");
  }
  if (named.size() < 2) return absl::StrJoin(named, "");
  const std::string last = named.back();
  named.pop_back();
  return absl::StrCat(absl::StrJoin(named, ", "), " and ", last);
}

std::string DescribeEvent(const knowledge::Knowledge& knowledge, const Finding& finding) {
  if (!finding.has_event_value()) return "";
  const std::string& code = finding.event_value().code();
  int number = 0;
  const knowledge::v1::ErrorCode* known =
      absl::SimpleAtoi(code, &number) ? knowledge.FindErrorCode(finding.name(), number) : nullptr;
  const std::string name = FamilyName(finding.name());
  // The log was read and has no event of the family.
  if (code.empty()) return absl::StrCat("no ", name);
  if (known == nullptr) return absl::StrCat(name, " ", Words(CleanText(code, kMaxValueBytes)));
  return absl::StrCat(name, " ", code, " (",
                      known->name().empty() ? known->meaning() : known->name(), ")");
}

std::string Describe(const knowledge::Knowledge& knowledge, const Finding& finding,
                     absl::string_view node) {
  return absl::StrCat(Place(PlaceOf(finding, node)), ": ", Statement(knowledge, finding));
}

std::string DescribeBest(const knowledge::Knowledge& knowledge, const Belief& belief) {
  for (const Observation& each : belief.observations) {
    if (each.signal != nullptr) return Describe(*each.signal);
    if (each.entry.rule != nullptr) return Describe(knowledge, each.entry);
    if (each.like != nullptr && TellsOfIt(*each.like)) return Describe(*each.like);
  }
  return "";
}

bool TellsOfIt(const Like& like) { return like.weight >= kReadsLike && !like.told.empty(); }

std::string Describe(const Like& like) {
  return absl::StrCat("the report reads like: ", like.told);
}

std::string Describe(const knowledge::Knowledge& knowledge, const Entry& entry) {
  const knowledge::v1::Check* check = knowledge.FindCheck(entry.rule->check());
  const std::string title = check == nullptr ? entry.rule->check() : check->title();
  std::string text;
  if (entry.findings.empty()) {
    text = absl::StrCat(entry.result->node(), ": no ", Words(entry.rule->finding()), " in \"",
                        title, "\"");
  } else {
    text = Together(knowledge, entry.findings, entry.result->node());
  }
  if (!entry.rule->observation().empty()) {
    absl::StrAppend(&text, ": ", entry.rule->observation());
  }
  return text;
}

std::string DescribeAbsence(const knowledge::Knowledge& knowledge, const Entry& entry) {
  if (entry.findings.empty()) {
    return absl::StrCat(entry.result->node(), ": ", entry.rule->check(), " ran and saw no ",
                        Words(entry.rule->finding()));
  }
  std::string seen = Together(knowledge, entry.findings, entry.result->node());
  if (entry.rule->observation().empty()) return seen;
  return absl::StrCat(seen, " (looked for: ", entry.rule->observation(), ")");
}

std::string Describe(const galen::v1::Signal& signal) {
  std::string text = absl::StrCat(signal.source());
  if (signal.first_line() > 0) absl::StrAppend(&text, " line ", signal.first_line());
  absl::StrAppend(&text, ": ", signal.meaning().empty() ? signal.signal() : signal.meaning());
  if (signal.count() > 1) absl::StrAppend(&text, " (", signal.count(), " times)");
  return text;
}

}  // namespace galen::reasoner
