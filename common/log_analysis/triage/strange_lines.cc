#include "common/log_analysis/triage/strange_lines.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::triage {
namespace {

constexpr std::size_t kMostWriters = 64;
constexpr std::size_t kMostLineText = 512;
// Distance in lines from the failure, or from the end, that counts as close and as near; in a short
// log an eighth and a quarter of the log.
constexpr std::int64_t kClose = 20;
constexpr std::int64_t kNear = 100;
// This number of lines of one kind within twice as many lines is a burst.
constexpr std::int64_t kBurst = 8;
// A lead with a lower score is not shown.
constexpr int kLeastScore = 3;

}  // namespace

StrangeLines::StrangeLines() : miner_(log_templates::MinerOptions{}) {}

void StrangeLines::Add(const Line& line) {
  const std::uint64_t id = miner_.Add(line.text);
  if (seen_.size() > 2 * log_templates::MinerOptions{}.most_templates) {
    absl::erase_if(seen_, [&](const auto& entry) { return !miner_.Has(entry.first); });
  }
  Seen& seen = seen_[id];
  if (IsSample(line.place)) {
    if (!seen.sampled.has_value()) {
      seen.sampled = line.place;
      sampled_.push_back(id);
    }
  }
  if (++seen.count == 1) {
    seen.log = line.log;
    seen.first.line = line.number;
    seen.first.time = line.time;
    seen.first.writer = line.writer;
    seen.first.text = CleanText(line.text.substr(0, kMostLineText), kMostLineText);
  }
  if (line.log == seen.log) seen.last = line.number;
  if (line.writer.empty()) return;
  if (seen.writers.size() < kMostWriters) seen.writers.insert(line.writer);
  if (writers_.size() < kMostWriters) writers_.insert(line.writer);
}

void StrangeLines::EndLog(std::uint64_t bytes) {
  for (const std::uint64_t id : sampled_) {
    const auto found = seen_.find(id);
    if (found == seen_.end() || !found->second.sampled.has_value()) continue;
    if (*found->second.sampled + kEnd < bytes) found->second.ordinary = true;
    found->second.sampled.reset();
  }
  sampled_.clear();
}

std::vector<Lead> StrangeLines::Leads(const std::vector<LogRead>& logs,
                                      const Source* failure) const {
  struct Scored {
    int score = 0;
    std::int64_t distance = 0;
    Lead lead;
  };
  std::vector<Scored> scored;
  for (const log_templates::Miner::Template& one : miner_.Templates()) {
    const auto found = seen_.find(one.id);
    if (found == seen_.end() || found->second.ordinary || found->second.count == 0) continue;
    const Seen& seen = found->second;
    if (seen.log >= logs.size()) continue;
    const LogRead& log = logs[seen.log];
    Scored entry;
    entry.lead.text = CleanText(one.text.substr(0, kMostLineText), kMostLineText);
    entry.lead.first = seen.first;
    entry.lead.first.log = log.name;
    entry.lead.count = seen.count;
    entry.lead.writers = static_cast<std::int64_t>(seen.writers.size());
    const auto why = [&](int score, std::string text) {
      entry.score += score;
      entry.lead.why.push_back(std::move(text));
    };
    const bool of_failure = failure != nullptr && failure->log == log.name && failure->line > 0;
    const std::int64_t at = of_failure ? failure->line : log.lines;
    entry.distance = std::abs(at - seen.first.line);
    const std::int64_t close = std::min(kClose, log.lines / 8 + 1);
    if (entry.distance <= std::min(kNear, log.lines / 4 + 1)) {
      const absl::string_view of = of_failure ? "the failure" : "the end of its log";
      why(entry.distance <= close ? 3 : 2,
          entry.distance == 0
              ? absl::StrCat("at ", of)
              : absl::StrCat(entry.distance, entry.distance == 1 ? " line" : " lines",
                             seen.first.line < at ? " before " : " behind ", of));
    }
    if (writers_.size() > 1 && seen.writers.size() == 1) {
      why(2, absl::StrCat("only ", *seen.writers.begin()));
    }
    if (seen.count >= kBurst && seen.last - seen.first.line < 2 * seen.count) {
      why(1, absl::StrCat(seen.count, " lines within ", seen.last - seen.first.line + 1));
    }
    if (seen.count == 1) why(1, "once");
    if (entry.score >= kLeastScore) scored.push_back(std::move(entry));
  }
  std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.distance < b.distance;
  });
  if (scored.size() > JobReport::kMostLeads) scored.resize(JobReport::kMostLeads);
  std::vector<Lead> leads;
  leads.reserve(scored.size());
  for (Scored& entry : scored) leads.push_back(std::move(entry.lead));
  return leads;
}

}  // namespace galen::triage
