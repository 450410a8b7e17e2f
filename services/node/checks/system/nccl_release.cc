#include "services/node/checks/system/nccl_release.h"

#include "absl/strings/match.h"
#include "common/base/json_access.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

// "NCCL version 2.18.1+cuda12.1", "NCCL INFO NCCL_IB_GID_INDEX set by environment to 3."
constexpr char kVersion[] = R"(\bNCCL version:? ?(\d[\w.+-]*))";
constexpr char kIndex[] = R"(NCCL_IB_GID_INDEX set (?:by environment )?to (\d{1,4}))";

std::string OfPackages(const host::Host& host) {
  const auto text =
      Output(host, {"python3", "-m", "pip", "list", "--format=json"}, host::View::kJob);
  if (!text.ok()) return "";
  const nlohmann::json list = ParseJson(*text);
  if (!list.is_array()) return "";
  for (const auto& entry : list) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("name");
    const auto version = entry.find("version");
    if (name == entry.end() || version == entry.end() || !name->is_string() ||
        !version->is_string()) {
      continue;
    }
    if (absl::StartsWith(name->get_ref<const std::string&>(), "nvidia-nccl-cu")) return *version;
  }
  return "";
}

}  // namespace

const LogWant kNcclReleaseWant = {
    .name = "nccl release",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {kVersion, kIndex};
    }};

NcclRelease ReadNcclRelease(const CheckContext& context) {
  static const RE2 version(kVersion);
  static const RE2 index(kIndex);
  NcclRelease release;
  ForEachWantedLine(context, LogsOf::kAllNodes, kNcclReleaseWant, [&](const LogLine& line) {
    if (!absl::StrContains(line.text, "NCCL")) return;
    const re2::StringPiece piece(line.text.data(), line.text.size());
    if (release.version.empty()) RE2::PartialMatch(piece, version, &release.version);
    if (release.gid_index.empty()) RE2::PartialMatch(piece, index, &release.gid_index);
  }).IgnoreError();
  if (release.version.empty()) release.version = OfPackages(context.host);
  return release;
}

}  // namespace galen::node
