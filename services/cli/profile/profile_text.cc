#include "services/cli/profile/profile_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/profile/profile_table.h"

namespace galen::cli {
namespace {

using profile::DeviceReport;
using profile::JobProfile;
using profile::Kind;
using profile::Lateness;
using profile::RankTimes;
using profile::Split;
using profile::TraceReport;

constexpr std::size_t kName = 12;
constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kMostRemarks = 16;

class Page {
 public:
  Page(const ProfilePage& page, const Terminal& terminal)
      : page_(page), job_(page.job), terminal_(terminal) {}

  std::string Make() {
    Status();
    for (const profile::Hang& hang : job_.hangs) HangOf(hang);
    for (const profile::RasAnswer& answer : job_.answers) Answer(answer);
    if (!job_.ranks.ranks.empty()) {
      SplitTable();
      Stragglers();
      Families();
      Kernels();
      Mfu();
    }
    Remarks();
    return std::move(text_);
  }

 private:
  void Raw(absl::string_view name, absl::string_view line) {
    absl::StrAppend(&text_, Paint(terminal_, Colour::kBold, Pad(name, kName)), line, "\n");
  }

  void Line(absl::string_view name, absl::string_view text) {
    const std::size_t room = static_cast<std::size_t>(std::max(40, terminal_.width)) - kName;
    bool first = true;
    for (const std::string& part : Wrap(text, room)) {
      Raw(first ? name : "", part);
      first = false;
    }
  }

  void Rows(absl::string_view name, const Table& table) {
    bool first = true;
    for (const std::string& line : table.Lines()) {
      Raw(first ? name : "", first ? Paint(terminal_, Colour::kDim, line) : line);
      first = false;
    }
  }

  const DeviceReport& DeviceOf(const RankTimes& rank) const {
    return job_.traces[rank.trace].devices[rank.device];
  }

  Split Whole() const {
    Split whole;
    for (const RankTimes& rank : job_.ranks.ranks) whole += DeviceOf(rank).total;
    return whole;
  }

  void Status() {
    std::set<int> missing;
    for (const profile::Hang& hang : job_.hangs) {
      missing.insert(hang.verdict.missing.begin(), hang.verdict.missing.end());
    }
    std::size_t wrong = 0;
    for (const profile::RasAnswer& answer : job_.answers) {
      wrong += answer.report.Sentences().empty() ? 0 : 1;
    }
    std::vector<std::string> parts;
    Colour colour = Colour::kGreen;
    if (!missing.empty()) {
      parts.push_back(absl::StrCat("hangs: ranks ", absl::StrJoin(missing, ","),
                                   " did not come to a collective"));
      colour = Colour::kRed;
    }
    if (wrong > 0) {
      parts.push_back(absl::StrCat(wrong, wrong == 1 ? " answer" : " answers", " of NCCL's RAS ",
                                   wrong == 1 ? "tells" : "tell", " of trouble"));
      colour = Colour::kRed;
    }
    const Split whole = Whole();
    if (whole.wall > 0) {
      struct Part {
        const char* text;
        std::int64_t time;
      };
      const std::array<Part, 5> kinds = {{{"computes", whole.compute},
                                          {"waits for communication", whole.exposed},
                                          {"only copies memory", whole.memory},
                                          {"waits for its host", whole.host},
                                          {"does nothing", whole.idle}}};
      const auto most = std::max_element(
          kinds.begin(), kinds.end(), [](const Part& a, const Part& b) { return a.time < b.time; });
      parts.push_back(absl::StrFormat("the GPU %s for %s of %s", most->text,
                                      Percent(Share(most->time, whole.wall)),
                                      AnyMarked() ? "a step" : "the trace"));
      if (most != kinds.begin() && colour == Colour::kGreen) colour = Colour::kYellow;
    }
    if (parts.empty()) parts.emplace_back("nothing is wrong by what was read");
    Raw("status", Paint(terminal_, colour, parts.front()));
    for (std::size_t i = 1; i < parts.size(); ++i) Line("", parts[i]);
  }

  bool AnyMarked() const {
    return std::any_of(job_.ranks.ranks.begin(), job_.ranks.ranks.end(),
                       [&](const RankTimes& rank) { return DeviceOf(rank).marked; });
  }

  void HangOf(const profile::Hang& hang) {
    const hangs::TraceVerdict& verdict = hang.verdict;
    std::string head = absl::StrCat(hang.ranks.size(), " dumps of the flight recorder in ",
                                    hang.directory.empty() ? "." : hang.directory);
    if (hang.ranks.size() < 2) head += ": one alone cannot be compared";
    Line("hang", head);
    std::size_t later = 0;
    for (const hangs::MissedCollective& missed : verdict.missed) {
      if (!missed.first) {
        ++later;
        continue;
      }
      Line("", absl::StrCat(missed.op, " ", missed.sizes, " of group ", missed.group,
                            missed.description.empty() ? "" : " ", missed.description, ", number ",
                            missed.sequence, ": ranks ", absl::StrJoin(missed.waiting, ","),
                            " wait, ranks ", absl::StrJoin(missed.missing, ","), " did not come"));
    }
    if (later > 0) {
      Line("", absl::StrCat(later, " more collectives miss the same ranks, enqueued later"));
    }
    if (verdict.sequence_mismatch) Line("", "ranks of one group run different collectives:");
    if (verdict.shape_mismatch)
      Line("", "ranks of one group run a collective with different sizes:");
    if (verdict.sequence_mismatch || verdict.shape_mismatch) {
      for (const std::string& reason : verdict.reasons) Line("", reason);
    }
    if (!verdict.without_dump.empty()) {
      Line("", absl::StrCat("no dump of ranks ", absl::StrJoin(verdict.without_dump, ","),
                            ": dead, or not asked"));
    }
    if (verdict.missed.empty() && !verdict.sequence_mismatch && !verdict.shape_mismatch &&
        hang.ranks.size() > 1) {
      Line("", "no rank is behind another");
    }
  }

  void Answer(const profile::RasAnswer& answer) {
    const std::vector<std::string> sentences = answer.report.Sentences();
    if (sentences.empty()) {
      Line("ras", absl::StrCat(answer.file, ": ", answer.report.communicators_read,
                               " communicators, nothing wrong"));
    }
    bool first = true;
    for (const std::string& sentence : sentences) {
      Line(first ? "ras" : "", absl::StrCat(first ? answer.file : "", first ? ": " : "", sentence));
      first = false;
    }
  }

  void SplitTable() {
    Table table;
    table.Add({"", "steps", "step", "compute", "comm. alone", "copies", "host", "idle", "overlap"});
    std::size_t rows = 0;
    for (const RankTimes& rank : job_.ranks.ranks) {
      if (rows++ == kMostRanks) break;
      const DeviceReport& device = DeviceOf(rank);
      const Split& total = device.total;
      const auto share = [&](std::int64_t part) { return Percent(Share(part, total.wall)); };
      table.Add(
          {rank.who, device.marked ? absl::StrCat(rank.steps) : "-", Time(rank.wall),
           share(total.compute), share(total.exposed), share(total.memory),
           job_.traces[rank.trace].host_known ? share(total.host) : "?", share(total.idle),
           total.communication > 0 ? Percent(Share(total.Hidden(), total.communication)) : "-"});
    }
    Rows("split", table);
    if (job_.ranks.ranks.size() > kMostRanks) {
      Line("", absl::StrCat(job_.ranks.ranks.size() - kMostRanks, " more; --json has them all"));
    }
    const Split whole = Whole();
    if (whole.communication > 0) {
      Line("overlap", absl::StrCat(Percent(Share(whole.Hidden(), whole.communication)),
                                   " of the communication is covered by compute"));
    }
  }

  void Stragglers() {
    const profile::RankComparison& ranks = job_.ranks;
    if (ranks.ranks.size() < 2) return;
    if (ranks.slowest.has_value()) {
      const RankTimes& slow = ranks.ranks[*ranks.slowest];
      const std::string sure =
          ranks.certain ? "" : " (of so few ranks none is the odd one: it is the slower)";
      if (ranks.lateness == Lateness::kComputes) {
        Line("straggler",
             absl::StrCat(slow.who, ": computes ", Time(slow.compute), " a step, ",
                          Percent(ranks.ahead), " more than the median of the others", sure));
      } else {
        Line("straggler",
             absl::StrCat(slow.who, ": came last to ", slow.last, " of ", ranks.matched,
                          " collectives, and computes no longer than the others: look at its host "
                          "and its input",
                          sure));
      }
    } else {
      Line("straggler", "none stands out from the others");
    }
    if (ranks.matched == 0) {
      Line("", absl::StrCat("arrival at collectives is not known: ", ranks.not_matched));
      return;
    }
    Table table;
    table.Add({"", "compute", "communication", "waited", "came last"});
    std::size_t rows = 0;
    for (const RankTimes& rank : ranks.ranks) {
      if (rows++ == kMostRanks) break;
      table.Add({rank.who, Time(rank.compute), Time(rank.communication), Time(rank.waited),
                 absl::StrCat(rank.last, " of ", ranks.matched)});
    }
    Rows("arrival", table);
  }

  void Families() {
    std::map<std::size_t, profile::FamilyTime> sums;
    std::int64_t all = 0;
    for (const RankTimes& rank : job_.ranks.ranks) {
      for (const profile::FamilyTime& family : DeviceOf(rank).families) {
        profile::FamilyTime& sum = sums[family.family];
        sum.family = family.family;
        sum.count += family.count;
        sum.time = profile::Sum(sum.time, family.time);
        all = profile::Sum(all, family.time);
      }
    }
    std::vector<profile::FamilyTime> order;
    for (const auto& [index, family] : sums) order.push_back(family);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    Table table;
    table.Add({"", "GPU time", "share", "count", "kind"});
    for (const profile::FamilyTime& family : order) {
      const profile::Family& known = page_.families.all()[family.family];
      table.Add({known.title, Time(static_cast<double>(family.time) * 1e-9),
                 Percent(Share(family.time, all)), absl::StrCat(family.count),
                 std::string(profile::ToString(known.kind))});
    }
    Rows("kernels", table);
  }

  void Kernels() {
    const RankTimes& rank = job_.ranks.ranks[job_.ranks.slowest.value_or(0)];
    const DeviceReport& device = DeviceOf(rank);
    std::int64_t all = 0;
    for (const profile::FamilyTime& family : device.families) {
      all = profile::Sum(all, family.time);
    }
    const std::size_t room =
        std::max<std::size_t>(30, static_cast<std::size_t>(std::max(40, terminal_.width)) - 62);
    Table table;
    table.Add({"", "GPU time", "share", "calls", "mean", "longest"});
    std::size_t rows = 0;
    for (const profile::KernelTime& kernel : device.kernels) {
      if (rows++ == page_.operators) break;
      table.Add({Shorten(kernel.name, room), Time(static_cast<double>(kernel.time) * 1e-9),
                 Percent(Share(kernel.time, all)), absl::StrCat(kernel.count),
                 Time(static_cast<double>(kernel.time) /
                      static_cast<double>(std::max<std::int64_t>(kernel.count, 1)) * 1e-9),
                 Time(static_cast<double>(kernel.longest) * 1e-9)});
    }
    Rows("longest", table);
    Line("", absl::StrCat("of ", rank.who, ", ", device.kernels_in_all, " names in all"));
  }

  void Mfu() {
    const Utilization& mfu = page_.utilization;
    if (!mfu.share.has_value()) {
      Line("mfu", absl::StrCat("not known: ", mfu.unknown));
      return;
    }
    Line("mfu",
         absl::StrCat(Percent(*mfu.share), ": ",
                      absl::StrFormat("%.4g TFLOP a step over %g GPUs of %.4g TFLOP/s (%s) and %s",
                                      mfu.flops_per_step * 1e-12, mfu.gpus, mfu.peak * 1e-12,
                                      mfu.gpu, Time(mfu.step))));
  }

  void Remarks() {
    std::vector<std::string> lines;
    for (const TraceReport& trace : job_.traces) {
      for (const std::string& remark : trace.remarks) {
        lines.push_back(absl::StrCat(trace.file, ": ", remark));
      }
      for (const DeviceReport& device : trace.devices) {
        if (!device.marked) {
          lines.push_back(absl::StrCat(trace.file, ": ", device.name,
                                       ": no marks of steps: it is split from its first GPU "
                                       "operation to its last"));
        } else if (device.outside > 0) {
          lines.push_back(absl::StrCat(trace.file, ": ", device.name, ": ",
                                       Time(static_cast<double>(device.outside) * 1e-9),
                                       " of GPU time lie outside of the steps and do not count"));
        }
      }
    }
    for (const std::string& trouble : job_.troubles) lines.push_back(trouble);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == kMostRemarks) {
        Line("", absl::StrCat(lines.size() - kMostRemarks, " more notes; --json has them all"));
        break;
      }
      Line(i == 0 ? "notes" : "", lines[i]);
    }
  }

  const ProfilePage& page_;
  const JobProfile& job_;
  const Terminal& terminal_;
  std::string text_;
};

}  // namespace

std::string ProfileText(const ProfilePage& page, const Terminal& terminal) {
  return Page(page, terminal).Make();
}

}  // namespace galen::cli
