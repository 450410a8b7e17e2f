#include "services/node/exec/json_lines.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

using knowledge::v1::FindingSpec;
using nlohmann::json;

constexpr std::size_t kMaxLineBytes = 16 << 10;
constexpr std::size_t kMaxFindings = 10'000;
constexpr std::size_t kMaxNameBytes = 128;

// The JSON object of a line; discarded when it is invalid. nlohmann's parser does not recurse.
json ParseLine(absl::string_view line) {
  json object = ParseJson(line);
  return object.is_object() ? object : json(json::value_t::discarded);
}

// Reads the members of one object, each once, and says what it did not expect.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  const json* Take(const char* name) {
    taken_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  // A text that may be missing.
  absl::StatusOr<std::string> TakeText(const char* name) {
    const json* const value = Take(name);
    if (value == nullptr) return std::string();
    if (!value->is_string()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not a string"));
    }
    return value->get<std::string>();
  }
  absl::Status CheckNoOther() const {
    for (const auto& [name, value] : object_.items()) {
      if (taken_.count(name) == 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "has \"", CleanText(name, 64), "\", which is not of the contract (docs/exec.md)"));
      }
    }
    return absl::OkStatus();
  }

 private:
  const json& object_;
  std::set<std::string> taken_;
};

absl::Status WrongType(const FindingSpec& spec) {
  return absl::InvalidArgumentError(
      absl::StrCat("finding ", spec.name(), ": its value is not of type ", spec.type()));
}

absl::Status ReadEvent(const json& value, galen::v1::LogEvent& event) {
  if (!value.is_object()) return absl::InvalidArgumentError("an event is an object");
  Members members(value);
  GALEN_ASSIGN_OR_RETURN(*event.mutable_code(), members.TakeText("code"));
  GALEN_ASSIGN_OR_RETURN(*event.mutable_text(), members.TakeText("text"));
  event.set_count(1);
  if (const json* const count = members.Take("count"); count != nullptr) {
    if (!count->is_number_integer() || *count < 1 ||
        *count > std::numeric_limits<std::int64_t>::max()) {
      return absl::InvalidArgumentError("\"count\" is not a whole number of at least 1");
    }
    event.set_count(count->get<std::int64_t>());
  }
  return members.CheckNoOther();
}

// null: unknown.
absl::Status ReadValue(const FindingSpec& spec, const json& value, galen::v1::Finding& finding) {
  if (value.is_null()) return absl::OkStatus();
  if (spec.type() == "bool" && value.is_boolean()) {
    finding.set_bool_value(value.get<bool>());
  } else if (spec.type() == "int" && value.is_number_integer() &&
             (!value.is_number_unsigned() ||
              value.get<std::uint64_t>() <=
                  static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))) {
    finding.set_int_value(value.get<std::int64_t>());
  } else if (spec.type() == "float" && value.is_number() && std::isfinite(value.get<double>())) {
    finding.set_double_value(value.get<double>());
  } else if ((spec.type() == "text" || spec.type() == "enum") && value.is_string()) {
    finding.set_text_value(value.get<std::string>());
  } else if (spec.type() == "event") {
    return ReadEvent(value, *finding.mutable_event_value());
  } else {
    return WrongType(spec);
  }
  return absl::OkStatus();
}

// One run over the lines.
class Reader {
 public:
  explicit Reader(const ProgramOutput& output) : node_(output.context.host.name()) {
    for (const FindingSpec& spec : output.check.findings()) declared_[spec.name()] = &spec;
  }

  absl::Status Read(absl::string_view line) {
    if (line.size() > kMaxLineBytes) {
      return absl::InvalidArgumentError(absl::StrCat("is longer than ", kMaxLineBytes, " bytes"));
    }
    if (!IsUtf8(line)) return absl::InvalidArgumentError("is not UTF-8");
    const json object = ParseLine(line);
    if (object.is_discarded()) return absl::InvalidArgumentError("is not a JSON object");
    Members members(object);
    if (object.contains("finding")) return ReadFinding(members);
    for (const char* const refusal : {"skip", "error"}) {
      if (!object.contains(refusal)) continue;
      GALEN_ASSIGN_OR_RETURN(const std::string why, members.TakeText(refusal));
      GALEN_RETURN_IF_ERROR(members.CheckNoOther());
      if (why.empty()) return absl::InvalidArgumentError("gives no reason");
      ended_ = absl::string_view(refusal) == "skip" ? absl::FailedPreconditionError(why)
                                                    : absl::AbortedError(why);
      return absl::OkStatus();
    }
    const json* const progress = members.Take("progress");
    const json* const message = members.Take("message");
    GALEN_RETURN_IF_ERROR(members.CheckNoOther());
    if (progress == nullptr && message == nullptr) {
      return absl::InvalidArgumentError("has neither finding, message, progress, skip nor error");
    }
    if (progress != nullptr && !progress->is_number()) {
      return absl::InvalidArgumentError("\"progress\" is not a number");
    }
    if (message != nullptr && !message->is_string()) {
      return absl::InvalidArgumentError("\"message\" is not a string");
    }
    // The message of a progress line is for those who wait.
    if (progress == nullptr) result_.message = message->get<std::string>();
    return absl::OkStatus();
  }

  // The error or skip that the program reported, OK without one.
  const absl::Status& ended() const { return ended_; }
  CheckOutput Take() { return std::move(result_); }

 private:
  absl::Status ReadFinding(Members& members) {
    GALEN_ASSIGN_OR_RETURN(const std::string name, members.TakeText("finding"));
    const auto spec = declared_.find(name);
    if (spec == declared_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("names finding \"", CleanText(name, 64),
                       "\", which the check does not declare; add it below `findings:`"));
    }
    if (result_.findings.size() >= kMaxFindings) {
      return absl::InvalidArgumentError(
          absl::StrCat("is the finding after ", kMaxFindings, ", which is too many"));
    }
    const json* const value = members.Take("value");
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("finding ", name, " has no \"value\"; null says that it is not known"));
    }
    GALEN_ASSIGN_OR_RETURN(const std::string device, members.TakeText("device"));
    galen::v1::Finding finding = UnknownFinding(name, node_, device);
    GALEN_ASSIGN_OR_RETURN(*finding.mutable_subject()->mutable_pci_address(),
                           members.TakeText("pci_address"));
    GALEN_ASSIGN_OR_RETURN(*finding.mutable_subject()->mutable_serial(),
                           members.TakeText("serial"));
    GALEN_ASSIGN_OR_RETURN(*finding.mutable_expected(), members.TakeText("expected"));
    GALEN_RETURN_IF_ERROR(members.CheckNoOther());
    if (device.size() > kMaxNameBytes) return absl::InvalidArgumentError("\"device\" is too long");
    GALEN_RETURN_IF_ERROR(ReadValue(*spec->second, *value, finding));
    result_.findings.push_back(std::move(finding));
    return absl::OkStatus();
  }

  const std::string node_;
  std::map<absl::string_view, const FindingSpec*> declared_;
  CheckOutput result_;
  absl::Status ended_;
};

}  // namespace

absl::StatusOr<CheckOutput> ParseJsonLines(const ProgramOutput& output) {
  Reader reader(output);
  std::size_t number = 0;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (const absl::Status read = reader.Read(line); !read.ok()) {
      return absl::DataLossError(
          absl::StrCat(output.check.name(), ": line ", number, " ", read.message()));
    }
    if (!reader.ended().ok()) return reader.ended();
  }
  CheckOutput result = reader.Take();
  if (result.findings.empty()) {
    return absl::DataLossError(
        absl::StrCat(output.check.name(),
                     ": the program gave no finding; it has to give at least one, or say "
                     "{\"skip\": \"why\"}"));
  }
  return result;
}

void JsonLinesProgress::Take(absl::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const absl::string_view part = piece.substr(0, end);
    too_long_ = too_long_ || line_.size() + part.size() > kMaxLineBytes;
    if (!too_long_) line_.append(part.data(), part.size());
    if (end == absl::string_view::npos) return;
    piece.remove_prefix(end + 1);
    if (!too_long_ && line_.find("\"progress\"") != std::string::npos) {
      const json object = ParseLine(line_);
      if (!object.is_discarded() && object.contains("progress") && object["progress"].is_number() &&
          !object.contains("finding")) {
        const bool told = object.contains("message") && object["message"].is_string();
        sink_(object["progress"].get<double>(),
              told ? object["message"].get<std::string>() : std::string());
      }
    }
    line_.clear();
    too_long_ = false;
  }
}

}  // namespace galen::node
