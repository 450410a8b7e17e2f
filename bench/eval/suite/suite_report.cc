#include "bench/eval/suite/suite_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/eval/metrics/wilson.h"
#include "nlohmann/json.hpp"

namespace galen::eval {
namespace {

constexpr Metric kMetrics[] = {Metric::kTalk, Metric::kCheck, Metric::kCause};
constexpr Split kSplits[] = {Split::kDev, Split::kTest};

const char* SplitName(Split split) { return split == Split::kDev ? "dev" : "test"; }

struct Count {
  int right = 0;
  int all = 0;
  int gained = 0;  // right here and wrong with all parts
  int lost = 0;    // the other way round
};

Count CountOf(const SuiteResult& result, const SuiteRun& run, Metric metric, Split split) {
  Count count;
  for (std::size_t i = 0; i < result.questions.size(); ++i) {
    if (result.questions[i].metric != metric || result.questions[i].split != split) continue;
    ++count.all;
    const bool right = run.answers[i].right;
    const bool whole = result.runs.front().answers[i].right;
    count.right += right ? 1 : 0;
    count.gained += right && !whole ? 1 : 0;
    count.lost += !right && whole ? 1 : 0;
  }
  return count;
}

std::string Cell(const Count& count) {
  if (count.all == 0) return "-";
  const Share share = WilsonShare(count.right, count.all);
  return absl::StrFormat("%2d/%d  %.2f [%.2f, %.2f]", count.right, count.all, share.value,
                         share.low, share.high);
}

}  // namespace

std::vector<Table> SuiteTables(const SuiteResult& result) {
  Table scores;
  scores.title = "Suite of questions: right answers, share, 95 % interval (Wilson)";
  scores.headings = {"parts", "split", "A talk", "B checks", "C causes"};
  Table worth;
  worth.title = "What leaving a part out changed: answers gained +, lost -";
  worth.headings = {"left out", "split", "A talk", "B checks", "C causes"};
  std::string idle;
  for (const SuiteRun& run : result.runs) {
    for (const Split split : kSplits) {
      std::vector<std::string> row = {run.ablation.name, SplitName(split)};
      std::vector<std::string> changes = row;
      for (const Metric metric : kMetrics) {
        const Count count = CountOf(result, run, metric, split);
        row.push_back(Cell(count));
        changes.push_back(count.all == 0 ? "-" : absl::StrCat("+", count.gained, " -", count.lost));
        if (count.all > 0 && count.gained + count.lost == 0 && &run != &result.runs.front() &&
            split == Split::kTest) {
          absl::StrAppend(&idle, idle.empty() ? "" : "; ", run.ablation.name, " in ",
                          MetricName(metric));
        }
      }
      scores.rows.push_back(std::move(row));
      if (&run != &result.runs.front()) worth.rows.push_back(std::move(changes));
    }
  }
  worth.note = idle.empty() ? "" : absl::StrCat("No answer of the test split changed: ", idle, ".");
  return {std::move(scores), std::move(worth)};
}

std::string SuiteJson(const SuiteResult& result, const std::string& questions,
                      const std::string& knowledge_digest, const std::string& model) {
  nlohmann::ordered_json report;
  report["format"] = "galen.suite-report/v1";
  report["questions"] = questions;
  report["knowledge"] = knowledge_digest;
  report["model"] = model;
  for (const SuiteRun& run : result.runs) {
    nlohmann::ordered_json one;
    one["parts"] = run.ablation.name;
    one["retrieval"] = run.ablation.retrieval;
    one["diagram"] = run.ablation.diagram;
    one["selfPlay"] = run.ablation.selfplay;
    for (const Metric metric : kMetrics) {
      for (const Split split : kSplits) {
        const Count count = CountOf(result, run, metric, split);
        const Share share = WilsonShare(count.right, count.all);
        nlohmann::ordered_json score;
        score["metric"] = std::string(MetricName(metric));
        score["split"] = SplitName(split);
        score["right"] = count.right;
        score["questions"] = count.all;
        score["share"] = share.value;
        score["low"] = share.low;
        score["high"] = share.high;
        score["gained"] = count.gained;
        score["lost"] = count.lost;
        one["scores"].push_back(std::move(score));
      }
    }
    for (std::size_t i = 0; i < result.questions.size(); ++i) {
      nlohmann::ordered_json answer;
      answer["id"] = result.questions[i].id;
      answer["right"] = run.answers[i].right;
      if (result.questions[i].split == Split::kDev) answer["given"] = run.answers[i].given;
      one["answers"].push_back(std::move(answer));
    }
    report["runs"].push_back(std::move(one));
  }
  return report.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string DevFailures(const SuiteResult& result) {
  std::string text;
  int hidden = 0;
  const SuiteRun& run = result.runs.front();
  for (std::size_t i = 0; i < result.questions.size(); ++i) {
    if (run.answers[i].right) continue;
    if (result.questions[i].split == Split::kTest) {
      ++hidden;
      continue;
    }
    absl::StrAppend(&text, result.questions[i].id, ": ", run.answers[i].given, "\n");
  }
  absl::StrAppend(
      &text, hidden,
      " of the test split are not right; they are not shown, so that nothing is tuned to them\n");
  return text;
}

}  // namespace galen::eval
