#include "bench/warning/scoring.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::bench {
namespace {

std::string Spread(std::vector<double> values) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  return absl::StrFormat("%.0f / %.0f / %.0f", values.front(), values[values.size() / 2],
                         values.back());
}

std::string Share(int part, int all) {
  return all == 0 ? "-" : absl::StrFormat("%d of %d (%.1f %%)", part, all, 100.0 * part / all);
}

}  // namespace

bool IsRight(const Told& told, const testing::PlantedFault& fault) {
  if (told.minute < fault.begin || told.minute > fault.end + 180) return false;
  const bool of_job = std::find(fault.jobs.begin(), fault.jobs.end(), told.job) != fault.jobs.end();
  if (told.node < 0 || fault.kind == testing::FaultKind::kSlowStorage) return of_job;
  return told.node == fault.node;
}

void AddScore(const Telling& telling, Score& score) {
  score.weeks += telling.minutes / (7.0 * 1440);
  for (const Told& told : telling.told) {
    ++score.told;
    const bool right =
        std::any_of(telling.faults.begin(), telling.faults.end(),
                    [&](const testing::PlantedFault& fault) { return IsRight(told, fault); });
    if (right) continue;
    ++score.false_alarms;
    score.wrong.push_back(told);
  }
  for (const testing::PlantedFault& fault : telling.faults) {
    Score::Kind& kind = score.kinds[static_cast<std::size_t>(fault.kind)];
    int first = -1;
    for (const Told& told : telling.told) {
      if (IsRight(told, fault) && (first < 0 || told.minute < first)) first = told.minute;
    }
    if (first >= 0) {
      ++kind.found;
      kind.delays.push_back(first - fault.begin);
    }
    if (fault.visible30 < 0) {
      ++kind.hidden;
      continue;
    }
    ++kind.visible;
    if (first < 0) continue;
    kind.leads.push_back(fault.visible30 - first);
    kind.before += first < fault.visible30 ? 1 : 0;
    kind.before10 += first < fault.visible10 ? 1 : 0;
  }
}

Score::Kind Score::All() const {
  Kind all;
  for (const Kind& kind : kinds) {
    all.visible += kind.visible;
    all.before += kind.before;
    all.before10 += kind.before10;
    all.found += kind.found;
    all.hidden += kind.hidden;
    all.delays.insert(all.delays.end(), kind.delays.begin(), kind.delays.end());
    all.leads.insert(all.leads.end(), kind.leads.begin(), kind.leads.end());
  }
  return all;
}

std::string Row(const std::string& name, const Score& score) {
  const Score::Kind all = score.All();
  return absl::StrFormat(
      "%-22s before 30 min %-20s before 10 min %-20s false alarms %d, a week %.2f\n", name,
      Share(all.before, all.visible), Share(all.before10, all.visible), score.false_alarms,
      score.false_alarms / score.weeks);
}

std::string Table(const Score& score) {
  std::string table =
      absl::StrFormat("  %-20s %-20s %-20s %-18s %-24s %s\n", "kind", "before 30 min",
                      "before 10 min", "never showed, told", "delay, min", "lead on 30 min, min");
  const auto line = [&](const std::string& name, const Score::Kind& kind) {
    absl::StrAppend(
        &table,
        absl::StrFormat(
            "  %-20s %-20s %-20s %-18s %-24s %s\n", name, Share(kind.before, kind.visible),
            Share(kind.before10, kind.visible),
            absl::StrCat(kind.hidden, ", ", kind.found - static_cast<int>(kind.leads.size())),
            Spread(kind.delays), Spread(kind.leads)));
  };
  for (std::size_t kind = 0; kind < testing::kFaultKinds; ++kind) {
    line(testing::NameOf(static_cast<testing::FaultKind>(kind)), score.kinds[kind]);
  }
  line("all", score.All());
  return table;
}

}  // namespace galen::bench
