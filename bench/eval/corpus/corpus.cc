#include "bench/eval/corpus/corpus.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/node_name.h"
#include "nlohmann/json.hpp"

namespace galen::eval {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxCases = 100'000;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 30;
constexpr std::size_t kMaxLineBytes = 16 << 20;
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxValues = std::size_t{1} << 23;

// One line of a file that holds an object a line.
struct Record {
  std::string where;  // "answers.jsonl:3"
  json object;

  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
  }

  // The text of a field; "" when it is missing or null.
  absl::StatusOr<std::string> Text(const char* name) const {
    const auto field = object.find(name);
    if (field == object.end() || field->is_null()) return std::string();
    if (!field->is_string()) return Wrong(absl::StrCat(name, " is no text; put it in quotes"));
    return field->get<std::string>();
  }

  // The texts of a field; empty when it is missing.
  absl::StatusOr<std::vector<std::string>> Texts(const char* name) const {
    std::vector<std::string> texts;
    const auto field = object.find(name);
    if (field == object.end() || field->is_null()) return texts;
    const absl::Status wrong = Wrong(absl::StrCat(name, " is no list of texts; write [\"...\"]"));
    if (!field->is_array()) return wrong;
    for (const json& text : *field) {
      if (!text.is_string()) return wrong;
      texts.push_back(text.get<std::string>());
    }
    return texts;
  }
};

// True when `id` may name a file: letters, digits, ".", "_" and "-", no dot first.
bool IsCaseId(absl::string_view id) {
  if (id.empty() || id.size() > 128 || id[0] == '.') return false;
  for (const char c : id) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') {
      return false;
    }
  }
  return true;
}

absl::StatusOr<json> ParseObject(const std::string& where, const std::string& line) {
  if (JsonNestsDeeperThan(line, kMaxDepth)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": nested deeper than ", kMaxDepth, " levels; no case needs that"));
  }
  const json object = ParseJson(line, {.depth = kMaxDepth, .values = kMaxValues});
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": is no JSON object; write one case a line"));
  }
  return object;
}

// The records of a file by id, in its order.
absl::StatusOr<std::vector<std::pair<std::string, Record>>> ReadRecords(const fs::path& path) {
  const std::string name = path.filename().string();
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": no such file"));
  }
  if (fs::file_size(path, error) > kMaxFileBytes || error) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path.string(), ": larger than 1 GiB; split the corpus"));
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<std::pair<std::string, Record>> records;
  std::map<std::string, int> lines;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    Record record;
    record.where = absl::StrCat(name, ":", number);
    if (line.size() > kMaxLineBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(record.where, ": a line of more than 16 MiB; shorten its logs"));
    }
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (!IsUtf8(line)) return record.Wrong("is not UTF-8; convert the file");
    GALEN_ASSIGN_OR_RETURN(record.object, ParseObject(record.where, line));
    GALEN_ASSIGN_OR_RETURN(std::string id, record.Text("id"));
    if (!IsCaseId(id)) {
      return record.Wrong(
          "id is missing or cannot name a file; use up to 128 letters, digits, \".\", \"_\", "
          "\"-\", no dot first");
    }
    const auto [seen, added] = lines.emplace(id, number);
    if (!added) {
      return record.Wrong(absl::StrCat("id \"", id, "\" stands on line ", seen->second,
                                       " already; remove one of them"));
    }
    if (records.size() == kMaxCases) {
      return absl::ResourceExhaustedError(
          absl::StrCat(record.where, ": more than ", kMaxCases, " cases; split the corpus"));
    }
    records.emplace_back(std::move(id), std::move(record));
  }
  if (file.bad()) return absl::DataLossError(absl::StrCat(path.string(), ": cannot be read"));
  return records;
}

template <typename Field>
absl::Status TakeTexts(const Record& record, const char* name, Field* field) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, record.Texts(name));
  field->Assign(texts.begin(), texts.end());
  return absl::OkStatus();
}

absl::Status TakeAnswer(const Record& record, v1::Case& a_case) {
  if (!record.object.contains("labels")) {
    return record.Wrong("has no labels; write [] when there is no cause to find");
  }
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "labels", a_case.mutable_labels()));
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "labels_secondary", a_case.mutable_labels_secondary()));
  const char* acceptable =
      record.object.contains("acceptable") ? "acceptable" : "labels_acceptable";
  GALEN_RETURN_IF_ERROR(TakeTexts(record, acceptable, a_case.mutable_labels_acceptable()));
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "never", a_case.mutable_never()));
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "faulty", a_case.mutable_faulty()));
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "hosts", a_case.mutable_hosts()));
  GALEN_ASSIGN_OR_RETURN(*a_case.mutable_source(), record.Text("source"));
  for (const char* name : {"host", "device"}) {
    GALEN_ASSIGN_OR_RETURN(const std::string place, record.Text(name));
    if (place.empty()) continue;
    a_case.add_faulty(place);
    if (name == std::string("host")) a_case.add_hosts(place);
  }
  return absl::OkStatus();
}

// The nodes of a case without a bundle: results as `galen checks run --json` prints them.
absl::Status TakeNodes(const Record& record, v1::Case& a_case) {
  const auto field = record.object.find("nodes");
  if (field == record.object.end()) return absl::OkStatus();
  absl::Status wrong = record.Wrong("nodes is no list of {\"name\": ..., \"results\": [...]}");
  if (!field->is_array()) return wrong;
  std::set<std::string> names;
  for (const json& entry : *field) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) return wrong;
    v1::DeclaredNode& node = *a_case.add_nodes();
    node.set_name(entry["name"].get<std::string>());
    if (!host::IsNodeName(node.name()) || !names.insert(node.name()).second) {
      return record.Wrong(
          absl::StrCat("node \"", node.name(), "\" is no host name, or stands twice"));
    }
    if (!entry.contains("results")) continue;
    if (!entry["results"].is_array()) return wrong;
    for (const json& result : entry["results"]) {
      const auto read =
          google::protobuf::util::JsonStringToMessage(result.dump(), node.add_results());
      if (!read.ok()) {
        return record.Wrong(absl::StrCat("node \"", node.name(), "\", result ", node.results_size(),
                                         ": ", read.ToString(),
                                         "; write it as `galen checks run --json` does"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TakeIncident(const Record& record, v1::Case& a_case) {
  GALEN_ASSIGN_OR_RETURN(*a_case.mutable_title(), record.Text("title"));
  if (record.object.contains("source")) {
    GALEN_ASSIGN_OR_RETURN(*a_case.mutable_source(), record.Text("source"));
  }
  GALEN_ASSIGN_OR_RETURN(*a_case.mutable_description(), record.Text("description"));
  GALEN_RETURN_IF_ERROR(TakeTexts(record, "logs", a_case.mutable_logs()));
  if (const auto field = record.object.find("environment"); field != record.object.end()) {
    if (!field->is_object()) {
      return record.Wrong("environment is no object; write {\"driver\": \"...\"}");
    }
    for (const auto& [name, value] : field->items()) {
      (*a_case.mutable_environment())[name] =
          value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  if (const auto field = record.object.find("misleading"); field != record.object.end()) {
    if (!field->is_boolean()) return record.Wrong("misleading is neither true nor false");
    a_case.set_misleading(field->get<bool>());
  }
  return TakeNodes(record, a_case);
}

// The directory or archive of that case; "" when there is none.
std::string FindBundle(const fs::path& bundles, const std::string& id) {
  for (const char* ending : {"", ".tar.gz", ".tgz", ".tar.zst", ".tar", ".zip"}) {
    std::error_code ignored;
    fs::path path = bundles / absl::StrCat(id, ending);
    if (fs::exists(path, ignored)) return path.string();
  }
  return "";
}

// ID/report.md and what lies in ID/files, in the order of the names; empty without a report.
std::vector<std::string> FindTexts(const fs::path& directory) {
  std::vector<std::string> texts;
  std::error_code error;
  const fs::path report = directory / "report.md";
  if (!fs::is_regular_file(report, error)) return texts;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "files", error)) {
    if (entry.is_regular_file(error)) texts.push_back(entry.path().string());
  }
  std::sort(texts.begin(), texts.end());
  texts.insert(texts.begin(), report.string());
  return texts;
}

absl::StatusOr<Corpus> ReadOne(const std::string& directory) {
  Corpus corpus;
  std::error_code error;
  const fs::path root = fs::absolute(directory, error).lexically_normal();
  if (!fs::is_directory(root, error)) {
    return absl::NotFoundError(absl::StrCat("--cases ", directory, ": no such directory"));
  }
  corpus.directories.push_back(root.string());
  GALEN_ASSIGN_OR_RETURN(const auto answers, ReadRecords(root / "answers.jsonl"));
  std::map<std::string, Record> incidents;
  if (const fs::path path = root / "incidents.jsonl"; fs::exists(path, error)) {
    GALEN_ASSIGN_OR_RETURN(auto records, ReadRecords(path));
    for (auto& [id, record] : records) incidents.emplace(id, std::move(record));
  }
  for (const auto& [id, answer] : answers) {
    v1::Case& a_case = corpus.cases.emplace_back();
    a_case.set_id(id);
    a_case.set_corpus((root.filename().empty() ? root.parent_path() : root).filename().string());
    GALEN_RETURN_IF_ERROR(TakeAnswer(answer, a_case));
    const auto incident = incidents.find(id);
    if (incident != incidents.end()) {
      GALEN_RETURN_IF_ERROR(TakeIncident(incident->second, a_case));
      incidents.erase(incident);
    }
    a_case.set_bundle(FindBundle(root / "bundles", id));
    const std::vector<std::string> texts = FindTexts(root / id);
    a_case.mutable_texts()->Assign(texts.begin(), texts.end());
    if (a_case.bundle().empty() && a_case.texts().empty() && a_case.description().empty()) {
      return absl::NotFoundError(
          absl::StrCat(answer.where, ": case \"", id, "\" has neither bundles/", id,
                       ".tar.gz (or a directory of that name) nor ", id,
                       "/report.md nor a description in incidents.jsonl; add one"));
    }
  }
  if (corpus.cases.empty()) {
    return absl::InvalidArgumentError("answers.jsonl: holds no case; write one a line");
  }
  if (!incidents.empty()) {
    corpus.remarks.push_back(absl::StrCat(incidents.size(),
                                          " records of incidents.jsonl have no "
                                          "answer and are not judged, ",
                                          incidents.begin()->first, " first"));
  }
  return corpus;
}

}  // namespace

absl::StatusOr<Corpus> ReadCorpora(const std::vector<std::string>& directories) {
  Corpus all;
  std::map<std::string, std::string> owners;
  for (const std::string& directory : directories) {
    GALEN_ASSIGN_OR_RETURN(const Corpus corpus, ReadOne(directory));
    for (const v1::Case& a_case : corpus.cases) {
      const auto [owner, added] = owners.emplace(a_case.id(), directory);
      if (!added) {
        return absl::InvalidArgumentError(absl::StrCat("--cases ", directory, ": case \"",
                                                       a_case.id(), "\" is in ", owner->second,
                                                       " already; name one of them"));
      }
      all.cases.push_back(a_case);
    }
    all.directories.insert(all.directories.end(), corpus.directories.begin(),
                           corpus.directories.end());
    all.remarks.insert(all.remarks.end(), corpus.remarks.begin(), corpus.remarks.end());
  }
  return all;
}

}  // namespace galen::eval
