#include "services/watch/early_warning/job_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/host/live_files.h"

namespace galen::watch::early_warning {
namespace {

// Names that are read, to bound the memory for a directory of millions.
constexpr std::size_t kMostNames = 100'000;
constexpr char kSuffix[] = ".yaml";

absl::StatusOr<std::set<std::string>> NamesIn(const std::string& directory) {
  std::set<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator each(directory, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (!absl::StartsWith(name, ".") && names.size() < kMostNames) names.insert(name);
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--early_jobs: ", directory, ": cannot be read: ", error.message()));
  }
  return names;
}

}  // namespace

JobFiles::JobFiles(Options options, HardwareFacts facts, perfmodel::Calibration calibration)
    : options_(std::move(options)),
      facts_(std::move(facts)),
      calibration_(std::move(calibration)),
      read_(std::make_shared<const Read>()) {}

absl::StatusOr<std::unique_ptr<JobFiles>> JobFiles::Open(Options options, HardwareFacts facts,
                                                         perfmodel::Calibration calibration) {
  GALEN_RETURN_IF_ERROR(NamesIn(options.directory).status());
  return std::unique_ptr<JobFiles>(
      new JobFiles(std::move(options), std::move(facts), std::move(calibration)));
}

absl::StatusOr<PredictedJob> JobFiles::ReadOne(const std::string& name) const {
  if (!absl::EndsWith(name, kSuffix) || name == kSuffix) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is not a job's description; name it LABEL.yaml"));
  }
  const std::string path = absl::StrCat(options_.directory, "/", name);
  GALEN_ASSIGN_OR_RETURN(const std::string text, host::ReadLiveFile(path, options_.most_bytes + 1));
  if (text.size() > options_.most_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is larger than ", options_.most_bytes, " bytes"));
  }
  return PredictJob(text, name, facts_, calibration_);
}

std::vector<std::string> JobFiles::Refresh() {
  auto next = std::make_shared<Read>();
  const std::shared_ptr<const Read> before = read_.Get();
  const absl::StatusOr<std::set<std::string>> names = NamesIn(options_.directory);
  if (!names.ok()) {
    known_.clear();
    next->problems["."] = std::string(names.status().message());
  } else {
    std::map<std::string, Known> known;
    for (const std::string& name : *names) {
      if (known.size() == options_.most_files) {
        next->problems[name] =
            absl::StrCat(name, ": ", names->size(), " files are more than the ",
                         options_.most_files, " that are read; this one and what follows is not");
        break;
      }
      Look look;
      struct stat seen {};
      if (stat(absl::StrCat(options_.directory, "/", name).c_str(), &seen) == 0) {
        look = {
            static_cast<std::uint64_t>(seen.st_ino), static_cast<std::int64_t>(seen.st_size),
            static_cast<std::int64_t>(seen.st_mtim.tv_sec) * 1'000'000'000 + seen.st_mtim.tv_nsec};
      }
      const auto old = known_.find(name);
      // A file that could not be read is tried again.
      if (old != known_.end() && old->second.look == look && old->second.job.ok()) {
        known.emplace(name, old->second);
      } else {
        known.emplace(name, Known{look, ReadOne(name)});
      }
    }
    known_ = std::move(known);
  }
  for (const auto& [name, file] : known_) {
    if (file.job.ok()) {
      next->jobs[std::string(absl::StripSuffix(name, kSuffix))] = *file.job;
    } else {
      next->problems[name] = std::string(file.job.status().message());
    }
  }
  std::vector<std::string> news;
  for (const auto& [name, problem] : next->problems) {
    const auto old = before->problems.find(name);
    if (old == before->problems.end() || old->second != problem) news.push_back(problem);
  }
  read_.Set(std::move(next));
  return news;
}

}  // namespace galen::watch::early_warning
