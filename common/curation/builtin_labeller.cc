#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/curation/ingest.h"
#include "common/curation/similar_texts.h"
#include "common/log_analysis/scan/scanner.h"

namespace galen::curation {
namespace {

// Known messages count more than similarity of words: tickets of one cause are worded in many ways
// (the paper counts 5 to 8 distinct wordings among 10 tickets of one cause, its Table 2).
constexpr double kOfSignals = 0.6;
constexpr double kOfWords = 0.4;
// The weight of one message; the sum is at most 1.
constexpr double kDecisive = 1;
constexpr double kStrong = 0.5;
constexpr double kWeak = 0.1;
// A further leaf that shares a message; a message that is a consequence.
constexpr double kSecondary = 0.5;
// Below this no leaf is supported. Chosen so that one strong message, or the usual word similarity
// of two tickets of one cause, is enough for a proposal that a person reviews.
constexpr double kLeast = 0.2;

double WeightOf(const knowledge::v1::SignalPattern& signal) {
  double weight = kWeak;
  if (signal.strength() == galen::v1::STRONG) weight = kStrong;
  if (signal.strength() == galen::v1::DECISIVE) weight = kDecisive;
  if (signal.role() != galen::v1::PRIMARY) weight *= kSecondary;
  return weight / std::max(1, signal.labels_size());
}

class BuiltinLabeller final : public Labeller {
 public:
  BuiltinLabeller(const knowledge::Knowledge& knowledge,
                  std::unique_ptr<const log_scan::Scanner> scanner, std::vector<std::string> labels,
                  const std::vector<std::string>& texts)
      : knowledge_(knowledge),
        scanner_(std::move(scanner)),
        labels_(std::move(labels)),
        texts_(texts) {}

  absl::StatusOr<Labelling> Label(const Ticket& ticket) const override {
    struct Support {
      double signals = 0;
      double words = 0;
      std::string message;
    };
    std::map<std::string, Support> leaves;
    const auto scan = [&](const std::string& text, log_scan::TextKind kind) {
      log_scan::LogScan log(*scanner_, {.kind = kind});
      log.Feed(text);
      for (const log_scan::Hit& hit : log.Finish().hits) {
        const auto& signal = scanner_->patterns().Get(static_cast<int>(hit.pattern));
        for (const std::string& label : signal.labels()) {
          const knowledge::v1::Label* leaf = knowledge_.FindLabel(label);
          if (leaf == nullptr || !knowledge::IsLeaf(*leaf)) continue;
          Support& support = leaves[label];
          support.signals = std::min(1.0, support.signals + WeightOf(signal));
          if (support.message.empty()) support.message = hit.excerpt;
        }
      }
    };
    scan(absl::StrCat(ticket.title, "\n", ticket.description), log_scan::TextKind::kDescription);
    scan(absl::StrJoin(ticket.logs, "\n"), log_scan::TextKind::kLog);
    const auto query = texts_.Embed(absl::StrCat(ticket.title, "\n", ticket.description, "\n",
                                                 absl::StrJoin(ticket.logs, "\n")));
    for (const auto& [text, similarity] : texts_.Near(query)) {
      Support& support = leaves[labels_[text]];
      support.words = std::max(support.words, similarity);
    }
    Labelling best;
    double best_score = 0;
    double all = 0;
    for (const auto& [label, support] : leaves) {
      const double score = kOfSignals * support.signals + kOfWords * support.words;
      all += score * score;
      if (score <= best_score) continue;
      best_score = score;
      best.label = label;
      best.reason =
          support.message.empty()
              ? absl::StrFormat("its words are like those known of it (%.2f)", support.words)
              : absl::StrFormat("it holds \"%s\", and its words are like those known of it (%.2f)",
                                support.message.substr(0, 80), support.words);
    }
    best.confidence = all > 0 ? best_score * best_score / all : 0;
    best.how = best_score >= kLeast ? Labelling::How::kJudged : Labelling::How::kNew;
    return best;
  }

 private:
  const knowledge::Knowledge& knowledge_;
  const std::unique_ptr<const log_scan::Scanner> scanner_;
  const std::vector<std::string> labels_;  // of each text
  const SimilarTexts texts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Labeller>> MakeBuiltinLabeller(
    const knowledge::Knowledge& knowledge) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<const log_scan::Scanner> scanner,
                         log_scan::Scanner::Create(knowledge.base().signals(), ""));
  std::vector<std::string> labels;
  std::vector<std::string> texts;
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    labels.push_back(label.label());
    texts.push_back(absl::StrCat(label.title(), "\n", label.description(), "\n",
                                 absl::StrJoin(label.symptoms(), "\n"), "\n",
                                 absl::StrJoin(label.aliases(), "\n")));
  }
  for (const knowledge::v1::PastIncident& incident : knowledge.base().incidents()) {
    labels.push_back(incident.label());
    texts.push_back(absl::StrCat(incident.title(), "\n", incident.description(), "\n",
                                 absl::StrJoin(incident.logs(), "\n")));
  }
  return std::make_unique<const BuiltinLabeller>(knowledge, std::move(scanner), std::move(labels),
                                                 texts);
}

}  // namespace galen::curation
