#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTests = 10'000;
constexpr std::int64_t kMostGpus = 1024;

// The JSON object in what dcgmi printed: newer versions say a line of text first.
json ObjectOf(absl::string_view text) {
  const std::size_t begin = text.find('{');
  if (begin == absl::string_view::npos) return json(json::value_t::discarded);
  text.remove_prefix(begin);
  return ParseJson(text);
}

const json* Member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string TextOf(const json* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? absl::StrCat(value->get<std::int64_t>()) : "";
}

const json& ListOf(const json& object, const char* name) {
  static const json none = json::array();
  const json* const list = Member(object, name);
  return list != nullptr && list->is_array() ? *list : none;
}

// "gpu:0" of each GPU that a result is about; "" when it is about the node.
std::vector<std::string> DevicesOf(const json& result) {
  // DCGM 4 names an entity, DCGM 3 a GPU or a list of them.
  const std::string group = TextOf(Member(result, "entity_group"));
  std::string ids = TextOf(Member(result, "entity_id"));
  if (!group.empty() && !absl::EqualsIgnoreCase(group, "gpu")) return {""};
  for (const char* const name : {"gpu_id", "gpu_ids"}) {
    if (ids.empty()) ids = TextOf(Member(result, name));
  }
  std::vector<std::string> devices;
  for (const absl::string_view id : absl::StrSplit(ids, ',', absl::SkipWhitespace())) {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(id), &number)) continue;
    if (number < 0 || number > kMostGpus || devices.size() > kMostGpus) continue;
    devices.push_back(absl::StrCat("gpu:", number));
  }
  if (devices.empty()) devices.emplace_back();
  return devices;
}

// The results of the tests for one device.
struct Verdicts {
  std::vector<std::string> failed;
  std::vector<std::string> warned;
  int passed = 0;
  std::vector<std::string> words;  // what the failed tests say
};

void AddResult(const std::string& test, const json& result, std::map<std::string, Verdicts>& all) {
  const std::string status = absl::AsciiStrToLower(TextOf(Member(result, "status")));
  for (const std::string& device : DevicesOf(result)) {
    Verdicts& verdicts = all[device];
    if (status == "pass") ++verdicts.passed;
    if (status == "fail") verdicts.failed.push_back(test);
    if (status == "warn") verdicts.warned.push_back(test);
    if (status != "fail" && status != "warn") continue;
    for (const json& warning : ListOf(result, "warnings")) {
      const std::string text =
          warning.is_string() ? warning.get<std::string>() : TextOf(Member(warning, "warning"));
      if (!text.empty()) verdicts.words.push_back(CleanText(text, 240));
    }
  }
}

std::string NamesOf(const std::vector<std::string>& tests) {
  return tests.empty() ? "none" : CleanText(absl::StrJoin(tests, ", "), 512);
}

}  // namespace

absl::StatusOr<CheckOutput> ParseDcgmDiag(const ProgramOutput& output) {
  const std::string& text = output.result.out;
  const json document = ObjectOf(text);
  const json* diagnostic = Member(document, "DCGM Diagnostic");  // 4.x
  if (diagnostic == nullptr) diagnostic = Member(document, "DCGM GPU Diagnostic");
  if (diagnostic == nullptr) {
    const std::string all = absl::StrCat(text, output.result.err);
    if (absl::StrContains(all, "unable to establish a connection")) {
      return absl::UnavailableError(
          "dcgmi reaches no host engine; start nvidia-dcgm (nv-hostengine)");
    }
    return NotOutputOf("dcgmi diag -j", all);
  }
  if (const std::string error = TextOf(Member(*diagnostic, "runtime_error")); !error.empty()) {
    return absl::AbortedError(absl::StrCat("dcgmi diag: ", CleanText(error, 240)));
  }
  std::map<std::string, Verdicts> all;
  std::size_t tests = 0;
  for (const json& category : ListOf(*diagnostic, "test_categories")) {
    for (const json& test : ListOf(category, "tests")) {
      const std::string name = CleanText(TextOf(Member(test, "name")), 64);
      for (const json& result : ListOf(test, "results")) {
        if (++tests > kMostTests) return absl::DataLossError("dcgmi diag: too many results");
        AddResult(name, result, all);
      }
    }
  }
  if (tests == 0) return NotOutputOf("dcgmi diag -j", text);
  const std::string node = output.context.host.name();
  CheckOutput found;
  int failed = 0;
  std::vector<std::string> words;
  for (const auto& [device, verdicts] : all) {
    found.findings.push_back(TextFinding("failed_tests", node, device, NamesOf(verdicts.failed)));
    found.findings.push_back(TextFinding("warned_tests", node, device, NamesOf(verdicts.warned)));
    // Only skipped tests: nothing is known.
    found.findings.push_back(verdicts.passed == 0 && verdicts.failed.empty()
                                 ? UnknownFinding("passed", node, device)
                                 : BoolFinding("passed", node, device, verdicts.failed.empty()));
    failed += static_cast<int>(verdicts.failed.size());
    words.insert(words.end(), verdicts.words.begin(), verdicts.words.end());
  }
  found.message = absl::StrCat(tests, " test results, ", failed, " failed",
                               words.empty() ? "" : ": ", absl::StrJoin(words, "; "));
  return found;
}

absl::StatusOr<CheckOutput> ParseDcgmNvlink(const ProgramOutput& output) {
  static constexpr struct {
    const char* member;
    absl::string_view finding;
  } kCounters[] = {{"CRC Data Error", "crc_data_errors"},
                   {"CRC FLIT Error", "crc_flit_errors"},
                   {"Recovery Error", "recovery_errors"},
                   {"Replay Error", "replay_errors"}};
  const json document = ObjectOf(output.result.out);
  const json* const body = Member(document, "body");
  if (body == nullptr || !body->is_object()) {
    return NotOutputOf("dcgmi nvlink -e -j", output.result.out);
  }
  std::string gpu;
  for (const json& word : ListOf(document, "header")) {
    int number = 0;
    const std::string text = TextOf(&word);
    if (absl::StartsWith(text, "GPU ") && absl::SimpleAtoi(text.substr(4), &number)) {
      gpu = absl::StrCat("gpu:", number);
    }
  }
  const std::string node = output.context.host.name();
  CheckOutput found;
  int links = 0;
  for (const auto& [name, link] : body->items()) {
    int number = 0;
    if (!absl::StartsWith(name, "Link ") || !absl::SimpleAtoi(name.substr(5), &number)) continue;
    if (++links > 64) break;
    const std::string device = absl::StrCat(gpu, gpu.empty() ? "" : "/", "link:", number);
    const json* const children = Member(link, "children");
    for (const auto& counter : kCounters) {
      const json* const entry = children == nullptr ? nullptr : Member(*children, counter.member);
      std::int64_t value = 0;
      const std::string text = entry == nullptr ? "" : TextOf(Member(*entry, "value"));
      found.findings.push_back(absl::SimpleAtoi(text, &value)
                                   ? IntFinding(counter.finding, node, device, value)
                                   : UnknownFinding(counter.finding, node, device));
    }
  }
  if (links == 0) return NotOutputOf("dcgmi nvlink -e -j", output.result.out);
  found.message = absl::StrCat(links, " NVLinks", gpu.empty() ? "" : " of ", gpu);
  return found;
}

}  // namespace galen::node
