#include "services/node/checks/log/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/log/safetensors.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxKeys = 10'000;
constexpr std::size_t kMaxFiles = 4096;
// An end of central directory may have a comment of 64 KiB.
constexpr char kZipTail[] = "65558";
// The first opcode of a pickle since its second protocol, which torch.save has always written.
constexpr char kPickle[] = "\x80";

// Counts over the files of a checkpoint.
struct FilesSeen {
  int files = 0;
  int unreadable = 0;
  int untold = 0;  // that may be whole: this process could not look, or not at all of it
  std::set<std::string> missing_keys;  // that the index promises
  std::vector<std::string> remarks;
};

void Remark(absl::string_view path, absl::string_view what, FilesSeen* seen) {
  if (seen->remarks.size() < 16) {
    seen->remarks.push_back(absl::StrCat(CleanText(BaseName(path), 128), ": ", what));
  }
}

void NoteFault(absl::string_view path, absl::string_view fault, FilesSeen* seen) {
  ++seen->unreadable;
  Remark(path, fault, seen);
}

// Notes a file that could not be read by this process, for example because a server squashes root,
// or in time. The file itself may be sound.
void NoteUntold(absl::string_view path, absl::string_view why, FilesSeen* seen) {
  ++seen->untold;
  Remark(path, absl::StrCat("not told (", why, ")"), seen);
}

void NoteUnread(absl::string_view path, const absl::Status& why, FilesSeen* seen) {
  if (IsAbsent(why)) {
    NoteFault(path, "is missing", seen);
  } else {
    NoteUntold(path, why.message(), seen);
  }
}

// A table of norms begins with it.
bool IsHeadingOfNorms(absl::string_view line) {
  return absl::StrContains(line, "norm") && absl::StrContains(line, "before") &&
         absl::StrContains(line, "after");
}

std::optional<std::int64_t> SizeOf(const host::Host& host, const std::string& path) {
  const auto text = Output(host, {"stat", "-L", "-c", "%s", "--", path});
  return text.ok() ? LeadingInt(*text) : std::nullopt;
}

// Keys of the tensors, if the file has them.
std::set<std::string> ReadShard(const host::Host& host, const std::string& path, FilesSeen* seen) {
  ++seen->files;
  const std::optional<std::int64_t> size = SizeOf(host, path);
  if (size.has_value() && *size == 0) {
    NoteFault(path, "is empty", seen);
    return {};
  }
  if (absl::EndsWith(path, ".safetensors")) {
    const auto start = host.ReadFile(path);
    if (!start.ok()) {
      NoteUnread(path, start.status(), seen);
      return {};
    }
    const auto header = ParseSafetensors(*start);
    if (!header.ok()) {
      if (absl::IsOutOfRange(header.status()) && start->size() >= host::kFileBytes) {
        NoteUntold(path, "its header is larger than what is read of a file", seen);
      } else {
        NoteFault(path, header.status().message(), seen);
      }
      return {};
    }
    if (!size.has_value()) {
      NoteUntold(path, "its size is not known", seen);
    } else if (*size != header->file_bytes) {
      NoteFault(
          path,
          absl::StrCat("has ", *size, " bytes where its header promises ", header->file_bytes),
          seen);
    }
    return header->tensors;
  }
  // torch.save: a ZIP archive since 1.6, before that pickles that say nothing of their length.
  const auto tail = Output(host, {"tail", "-c", kZipTail, "--", path});
  if (!tail.ok() || !size.has_value()) {
    NoteUntold(path, tail.ok() ? "its size is not known" : tail.status().message(), seen);
    return {};
  }
  const absl::Status end = CheckZipEnd(*tail, *size);
  if (end.ok()) return {};
  const auto start = host.ReadFile(path);
  if (!start.ok()) {
    NoteUntold(path, start.status().message(), seen);
  } else if (absl::StartsWith(*start, kPickle)) {
    NoteUntold(path, "a pickle, which does not say how long it has to be", seen);
  } else {
    NoteFault(path, end.message(), seen);
  }
  return {};
}

absl::StatusOr<FilesSeen> ReadFiles(const host::Host& host, const std::string& folder,
                                    const CheckContext& context) {
  if (!absl::StartsWith(folder, "/") || absl::StrContains(folder, "..") ||
      folder.find_first_of("*?[") != std::string::npos) {
    return absl::InvalidArgumentError("path: has to be absolute, without \"..\" or patterns");
  }
  FilesSeen seen;
  std::set<std::string> shards;
  std::map<std::string, std::string> promised;
  if (const auto indices = host.Glob(absl::StrCat(folder, "/*.index.json")); indices.ok()) {
    for (const std::string& path : *indices) {
      ++seen.files;
      const auto text = host.ReadFile(path);
      if (!text.ok()) {
        NoteUnread(path, text.status(), &seen);
        continue;
      }
      const auto index = ParseShardIndex(*text);
      if (!index.ok()) {
        // Only the beginning of a large file is read.
        if (SizeOf(host, path).value_or(0) > static_cast<std::int64_t>(text->size())) {
          NoteUntold(path, "it is larger than what is read of a file", &seen);
        } else {
          NoteFault(path, index.status().message(), &seen);
        }
        continue;
      }
      for (const auto& [tensor, file] : *index) {
        shards.insert(absl::StrCat(folder, "/", file));
        promised[tensor] = file;
      }
    }
  }
  for (const char* pattern : {"/*.safetensors", "/*.pt", "/*.pth", "/*.bin", "/*.ckpt"}) {
    const auto found = host.Glob(absl::StrCat(folder, pattern));
    if (found.ok()) shards.insert(found->begin(), found->end());
  }
  if (shards.empty()) {
    return absl::NotFoundError(absl::StrCat(folder, ": holds no checkpoint that is known"));
  }
  std::set<std::string> tensors;
  bool all_told = true;
  std::size_t done = 0;
  for (const std::string& path : shards) {
    if (context.cancelled.cancelled()) return absl::CancelledError("job.checkpoint was cancelled");
    if (++done > kMaxFiles) break;
    if (context.progress) {
      context.progress(static_cast<double>(done) / static_cast<double>(shards.size()), path);
    }
    if (const auto there = host.Glob(path); !there.ok()) {
      ++seen.files;
      // A folder that may be listed and not searched hides what it holds.
      const absl::Status closer = host.ReadFile(path).status();
      const bool hidden = absl::IsPermissionDenied(closer) || absl::IsDeadlineExceeded(closer);
      NoteUnread(path, hidden ? closer : there.status(), &seen);
      continue;
    }
    const std::set<std::string> keys = ReadShard(host, path, &seen);
    all_told = all_told && absl::EndsWith(path, ".safetensors");
    tensors.insert(keys.begin(), keys.end());
  }
  if (all_told && seen.untold == 0) {
    for (const auto& [tensor, file] : promised) {
      if (!tensors.contains(tensor)) seen.missing_keys.insert(tensor);
    }
  }
  return seen;
}

}  // namespace

const LogWant kCheckpointWant = {
    .name = "checkpoint", .expressions = [](const knowledge::Knowledge& knowledge) {
      std::vector<std::string> wanted = TextsOf(PatternsOf(knowledge, "job.checkpoint"));
      wanted.insert(wanted.end(), {"norm.*before", "before.*norm"});
      return wanted;
    }};

std::vector<std::string> QuotedKeys(absl::string_view line) {
  static const RE2 key(R"re(["']([A-Za-z_][\w.\-/]{0,255})["'])re");
  std::vector<std::string> keys;
  re2::StringPiece rest = Piece(line);
  std::string name;
  while (keys.size() < kMaxKeys && RE2::FindAndConsume(&rest, key, &name)) keys.push_back(name);
  return keys;
}

std::optional<NormRow> ParseNormRow(absl::string_view line) {
  const std::vector<absl::string_view> words = Words(line);
  NormRow row;
  if (words.size() != 3 || !absl::StrContains(words[0], ".") ||
      !absl::SimpleAtod(words[1], &row.before) || !absl::SimpleAtod(words[2], &row.after)) {
    return std::nullopt;
  }
  return row;
}

absl::StatusOr<CheckOutput> CheckCheckpoint(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "job.checkpoint"));
  CheckOutput output;
  std::optional<FilesSeen> files;
  if (const std::string& path = context.parameters.Text("path"); !path.empty()) {
    GALEN_ASSIGN_OR_RETURN(files, ReadFiles(host, path, context));
  }
  const auto patterns = data.Patterns();
  std::set<std::string> missing;
  std::set<std::string> unexpected;
  std::map<std::string, int> said;
  bool norms = false;
  int rows = 0;
  int changed = 0;
  const auto look = [&](const LogLine& line) {
    if (IsHeadingOfNorms(line.text)) {
      norms = true;
      return;
    }
    if (norms) {
      if (const auto row = ParseNormRow(line.text); row.has_value()) {
        ++rows;
        if (!(std::abs(row->after - row->before) <= 1e-3 * std::abs(row->before))) {
          if (++changed == 1) absl::StrAppend(&output.excerpt, CleanText(line.text, 300), "\n");
        }
        return;
      }
    }
    const std::string match = CheckData::FirstMatch(patterns, line.text);
    if (match.empty()) return;
    if (said[match]++ == 0) absl::StrAppend(&output.excerpt, CleanText(line.text, 300), "\n");
    std::set<std::string>* keys = match == "missing_keys"      ? &missing
                                  : match == "unexpected_keys" ? &unexpected
                                                               : nullptr;
    if (keys == nullptr || keys->size() >= kMaxKeys) return;
    const std::vector<std::string> found = QuotedKeys(line.text);
    keys->insert(found.begin(), found.end());
    if (found.empty()) keys->insert("(not listed)");
  };
  bool has_table = false;
  auto lines = ForEachWantedLine(
      context, LogsOf::kAllNodes, kCheckpointWant,
      [&](const LogLine& line) { has_table = has_table || IsHeadingOfNorms(line.text); });
  // The rows of a table have no fixed text to search for.
  if (has_table) {
    lines = ForEachLogLine(host, LogsOf::kAllNodes, look);
  } else {
    lines = ForEachWantedLine(context, LogsOf::kAllNodes, kCheckpointWant, look);
  }
  if (!files.has_value() && said.empty() && rows == 0) {
    if (!lines.ok()) return lines.status();
    return absl::FailedPreconditionError(
        "the job's logs say nothing of a checkpoint; name its folder with the parameter path");
  }
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  std::vector<std::string> remarks;
  std::optional<int> unreadable;
  if (files.has_value()) {
    if (files->unreadable > 0 || files->untold == 0) unreadable = files->unreadable;
    missing.insert(files->missing_keys.begin(), files->missing_keys.end());
    remarks = files->remarks;
  }
  if (said["unreadable"] > 0) unreadable = std::max(unreadable.value_or(0), 1);
  add(unreadable.has_value() ? IntFinding("unreadable_shards", node, "", *unreadable)
                             : UnknownFinding("unreadable_shards", node, ""));
  // A load that went well says that all keys fit; silence does not.
  const bool fits = said["keys_match"] > 0;
  const auto count = [&](const char* name, const std::set<std::string>& keys, bool known) {
    add(!keys.empty() || known ? IntFinding(name, node, "", static_cast<std::int64_t>(keys.size()))
                               : UnknownFinding(name, node, ""));
  };
  count("missing_keys", missing, fits || (files.has_value() && unreadable == 0));
  count("unexpected_keys", unexpected, fits);
  std::optional<bool> extra_only;
  if (!missing.empty() || !unexpected.empty()) {
    const auto extra = [](const std::string& key) {
      return absl::EndsWith(key, "_extra_state") || absl::StrContains(key, "._extra_state");
    };
    extra_only = std::all_of(missing.begin(), missing.end(), extra) &&
                 std::all_of(unexpected.begin(), unexpected.end(), extra);
  }
  add(extra_only.has_value() ? BoolFinding("extra_state_only", node, "", *extra_only)
                             : UnknownFinding("extra_state_only", node, ""));
  add(rows > 0 ? BoolFinding("norms_changed_on_load", node, "", changed > 0)
               : UnknownFinding("norms_changed_on_load", node, ""));
  // One of several runs may have started fresh and another one restored: the restored one counts.
  const bool restored = said["restored"] > 0 || fits;
  add(restored || said["fresh"] > 0 ? BoolFinding("restored_from_checkpoint", node, "", restored)
                                    : UnknownFinding("restored_from_checkpoint", node, ""));
  if (!missing.empty()) remarks.push_back(absl::StrCat(missing.size(), " keys are missing"));
  if (!unexpected.empty()) {
    remarks.push_back(absl::StrCat(unexpected.size(), " keys are not expected"));
  }
  if (changed > 0) {
    remarks.push_back(absl::StrCat(changed, " of ", rows, " norms changed by saving and loading"));
  }
  if (unreadable.value_or(0) > 0) remarks.push_back("a shard cannot be read");
  output.message = absl::StrCat(
      files.has_value() ? absl::StrCat(files->files, " files read") : "from the job's logs",
      remarks.empty() ? ": nothing wrong with the checkpoint"
                      : absl::StrCat(": ", absl::StrJoin(remarks, "; ")));
  return output;
}

}  // namespace galen::node
