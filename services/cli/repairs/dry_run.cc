#include "services/cli/repairs/dry_run.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/json_access.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/knowledge/rules.h"
#include "common/security/loopback.h"

namespace galen::cli {
namespace {

using galen::v1::CheckResult;
using galen::v1::DryRun;
using galen::v1::Finding;

constexpr absl::Duration kMostTime = absl::Minutes(2);
constexpr std::size_t kMostAnswer = 4 << 20;
constexpr std::size_t kMostLine = 300;

absl::Status CheckName(absl::string_view action) {
  const std::vector<absl::string_view> parts = absl::StrSplit(action, '/');
  const bool formed = parts.size() == 6 && parts[0] == "tenants" && parts[2] == "diagnoses" &&
                      parts[4] == "actions";
  const bool plain = std::all_of(action.begin(), action.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("/-_.", absl::string_view(&c, 1));
  });
  if (formed && plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", CleanText(action, 200),
                   "\": is not an action; one is named tenants/T/diagnoses/D/actions/A, as "
                   "GET /v1/DIAGNOSIS/actions lists them"));
}

absl::StatusCode CodeOf(absl::string_view name) {
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const auto one = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(one) == name) return one;
  }
  return absl::StatusCode::kUnknown;
}

// No text of a machine makes a line of its own.
std::string OneLine(absl::string_view text, std::size_t most = kMostLine) {
  return absl::StrReplaceAll(CleanText(text, most), {{"\n", " "}, {"\t", " "}});
}

absl::Status ErrorOf(const http::Reply& reply) {
  const auto json = ParseJson(reply.body);
  const auto error = json.is_object() ? json.find("error") : json.end();
  if (error == json.end() || !error->is_object() || !error->contains("message") ||
      !error->at("message").is_string()) {
    // A proxy before it, or another server.
    return absl::UnavailableError(
        absl::StrCat("HTTP ", reply.code, " and no error of Galen's came back (\"",
                     OneLine(absl::StripAsciiWhitespace(reply.body), 200),
                     "\"); see that --gateway names Galen's gateway, and what stands before it"));
  }
  const auto status = error->find("status");
  const bool named = status != error->end() && status->is_string();
  return absl::Status(CodeOf(named ? status->get_ref<const std::string&>() : ""),
                      CleanText(error->at("message").get_ref<const std::string&>(), 2000));
}

absl::StatusOr<http::Secret> ReadKey(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) {
    return absl::Status(text.status().code(), absl::StrCat("--key-file ", text.status().message()));
  }
  const absl::string_view key = absl::StripAsciiWhitespace(*text);
  if (key.empty())
    return absl::InvalidArgumentError(absl::StrCat("--key-file ", file, ": is empty"));
  return http::Secret(std::string(key));
}

std::string ValueOf(const Finding& finding) {
  if (finding.value_case() == Finding::VALUE_NOT_SET) return "unknown";
  const bool unit = !finding.unit().empty() && finding.unit() != "1";
  return absl::StrCat(knowledge::ValueText(finding), unit ? " " : "", unit ? finding.unit() : "");
}

// The result of a read-only command, on one line.
std::string Said(const DryRun::Look& look) {
  if (!look.error().empty()) return look.error();
  std::string said =
      look.output().empty() ? "nothing" : absl::StrJoin(absl::StrSplit(look.output(), '\n'), "; ");
  if (look.exit_code() != 0) absl::StrAppend(&said, " (exit code ", look.exit_code(), ")");
  return absl::StrCat("prints ", said);
}

void AddLine(std::string& text, absl::string_view line) {
  absl::StrAppend(&text, "  ", OneLine(line), "\n");
}

}  // namespace

absl::StatusOr<DryRun> AskForDryRun(http::Transport& transport, const http::Secret& key,
                                    const std::string& action) {
  GALEN_RETURN_IF_ERROR(CheckName(action));
  http::Request request;
  request.method = "POST";
  request.target = absl::StrCat("/v1/", action, ":dryRun");
  request.content_type = "application/json";
  request.body = "{}";
  request.deadline = SteadyNow() + kMostTime;
  request.most_bytes = kMostAnswer;
  GALEN_ASSIGN_OR_RETURN(const http::Reply reply, transport.Send(request, key));
  if (reply.code != 200) return ErrorOf(reply);
  DryRun dry_run;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a newer gateway
  if (!google::protobuf::util::JsonStringToMessage(reply.body, &dry_run, options).ok() ||
      dry_run.name() != action) {
    return absl::DataLossError("the gateway's answer is not a dry run of that action");
  }
  return dry_run;
}

absl::StatusOr<DryRun> AskForDryRun(const DryRunArguments& arguments, const std::string& action) {
  absl::string_view address = arguments.gateway;
  const bool plain = absl::ConsumePrefix(&address, "http://");
  if (!plain && !absl::StartsWith(address, "https://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gateway ", arguments.gateway, ": is not an https:// address"));
  }
  if (plain && !security::IsLoopback(absl::StripSuffix(address, "/"))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gateway ", arguments.gateway,
                     ": is plain HTTP and not loopback, and the key would cross the network in the "
                     "clear; name its https:// address"));
  }
  GALEN_ASSIGN_OR_RETURN(const http::Secret key, ReadKey(arguments.key_file));
  http::Options options;
  options.server = std::string(absl::StripSuffix(arguments.gateway, "/"));
  options.what = "gateway";
  options.ca_file = arguments.ca_file;
  http::CurlTransport transport(options);
  return AskForDryRun(transport, key, action);
}

std::string DryRunText(const DryRun& dry_run, const Terminal& terminal) {
  const absl::Time when = absl::FromUnixSeconds(dry_run.look_time().seconds());
  std::string text =
      absl::StrCat("a dry run of ", OneLine(dry_run.name()), ", ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%S", when, absl::UTCTimeZone()),
                   " UTC by the machine's clock\n",
                   Paint(terminal, dry_run.would_run() ? Colour::kGreen : Colour::kRed,
                         dry_run.would_run() ? "would run" : "would not run"),
                   ": ", OneLine(dry_run.text(), 2000), "\n");
  absl::StrAppend(&text, "plan, ",
                  dry_run.same_plan()
                      ? "the one that is proposed"
                      : Paint(terminal, Colour::kRed, "NOT the one that is proposed"),
                  " (", OneLine(dry_run.content_hash().substr(0, 16)), "):\n");
  for (const std::string& line : dry_run.plan()) AddLine(text, line);
  if (dry_run.looks().empty() && dry_run.checks().empty()) return text;
  absl::StrAppend(&text, "now:\n");
  for (const DryRun::Look& look : dry_run.looks()) {
    const char* const so = look.holds() ? "so" : look.afterwards() ? "not yet so" : "not so";
    AddLine(text, absl::StrCat(so, ": ", look.text(), " (", look.command(), " ", Said(look), ")"));
  }
  for (const CheckResult& check : dry_run.checks()) {
    AddLine(text, absl::StrCat(check.check(), " ", CheckResult::Status_Name(check.status()),
                               check.message().empty() ? "" : ": ", check.message()));
    for (const Finding& finding : check.findings()) {
      AddLine(text, absl::StrCat("  ", finding.name(), " ", ValueOf(finding)));
    }
  }
  return text;
}

}  // namespace galen::cli
