#include "services/conclusion/ticket.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "services/conclusion/markdown.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Change;
using galen::v1::Device;
using galen::v1::Evidence;
using galen::v1::Exchange;
using galen::v1::Question;
using galen::v1::Report;

constexpr std::size_t kMostNodes = 8;
constexpr std::size_t kMostRuledOut = 8;

// The room on a page for each part.
struct Room {
  std::size_t words = 1200;  // bytes of the report as it came in
  std::size_t answer = 400;  // of one answer
  int answers = 4;           // the newest ones
  std::size_t line = 300;    // bytes of an explanation, a step, a line of evidence
  std::size_t lines = 6;     // of evidence
  int steps = 5;
};

// The same page with less in it.
Room Smaller(const Room& room) {
  return {room.words * 2 / 3,
          room.answer * 2 / 3,
          std::max(room.answers - 1, 1),
          std::max<std::size_t>(room.line * 3 / 4, 80),
          std::max<std::size_t>(room.lines - 1, 2),
          std::max(room.steps - 1, 2)};
}

std::string Percent(double share) { return absl::StrFormat("%.0f %%", std::floor(share * 100)); }

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

class Ticket {
 public:
  Ticket(const v1::ConcludeRequest& request, const Report& report, Reader reader, const Room& room)
      : request_(request), report_(report), reader_(reader), room_(room) {}

  std::string Write() {
    absl::StrAppend(&out_, "# ", Inline(report_.headline(), room_.line), "\n\n");
    TellHead();
    absl::StrAppend(&out_, "\n## Reported\n\n",
                    Quote(request_.incident().description(), room_.words), "\n");
    TellDialogue();
    TellCauses();
    TellEvidence();
    TellQuestions();
    TellSteps();
    TellRest();
    return std::move(out_);
  }

 private:
  void Fact(absl::string_view name, absl::string_view text) {
    if (!text.empty()) absl::StrAppend(&out_, "- ", name, ": ", text, "\n");
  }

  void TellHead() {
    if (!request_.diagnosis().empty()) {
      Fact("Diagnosis", absl::StrCat("`", Inline(request_.diagnosis(), 200), "`"));
    }
    Fact("Handed over to a person", Inline(request_.escalation(), room_.line));
    std::string owner = report_.owner();
    if (owner.empty() && !report_.suspects().empty()) {
      std::set<std::string> owners;
      for (const Cause& suspect : report_.suspects()) {
        if (!suspect.owner().empty()) owners.insert(suspect.owner());
      }
      owner = absl::StrCat("not known yet; of the leading causes: ", absl::StrJoin(owners, ", "));
    }
    Fact("Owner", owner);
    if (report_.has_primary_cause()) Fact("Severity", report_.primary_cause().severity());
    Fact("Nodes", Nodes());
    Fact("Window", Window());
    Fact("Environment", Environment());
  }

  std::string Nodes() const {
    std::set<std::string> nodes(request_.incident().nodes().begin(),
                                request_.incident().nodes().end());
    for (const auto& result : request_.evidence().results()) nodes.insert(result.node());
    std::vector<std::string> told;
    for (const std::string& node : nodes) {
      if (told.size() == kMostNodes) {
        told.push_back(absl::StrCat(nodes.size() - kMostNodes, " more"));
        break;
      }
      told.push_back(Inline(node, 100));
    }
    return absl::StrJoin(told, ", ");
  }

  std::string Window() const {
    const galen::v1::Incident& incident = request_.incident();
    if (!incident.has_start_time() && !incident.has_end_time()) return "";
    if (!incident.has_end_time()) return absl::StrCat("from ", TimeText(incident.start_time()));
    if (!incident.has_start_time()) return absl::StrCat("until ", TimeText(incident.end_time()));
    return absl::StrCat(TimeText(incident.start_time()), " to ", TimeText(incident.end_time()));
  }

  std::string Environment() const {
    const auto& environment = request_.incident().environment();
    const auto& job = request_.incident().workload();
    std::vector<std::string> parts;
    for (const std::string* part :
         {&environment.gpu(), &environment.driver(), &environment.cuda(), &environment.os(),
          &environment.nic(), &job.name(), &job.framework(), &job.framework_version(),
          &job.launcher(), &job.image()}) {
      if (!part->empty()) parts.push_back(Inline(*part, 80));
    }
    if (job.world_size() > 0) parts.push_back(absl::StrCat(job.world_size(), " ranks"));
    return absl::StrJoin(parts, ", ");
  }

  void TellDialogue() {
    if (request_.dialogue().empty()) return;
    absl::StrAppend(&out_, "## Asked and answered\n\n");
    const int first = std::max(0, request_.dialogue_size() - room_.answers);
    if (first > 0) absl::StrAppend(&out_, first, " earlier answers are attached.\n\n");
    for (int i = first; i < request_.dialogue_size(); ++i) {
      const Exchange& exchange = request_.dialogue(i);
      for (const Question& question : exchange.questions()) {
        absl::StrAppend(&out_, "- Asked: ", Inline(Short(question), room_.line), "\n");
      }
      absl::StrAppend(&out_, "- Answered by ",
                      exchange.by().empty() ? "the customer" : Inline(exchange.by(), 100), ", ",
                      TimeText(exchange.time()), Given(exchange), "\n");
      if (!absl::StripAsciiWhitespace(exchange.text()).empty()) {
        absl::StrAppend(&out_, "\n", Quote(exchange.text(), room_.answer), "\n");
      }
      const auto& changes =
          i + 1 == request_.dialogue_size() ? request_.changes() : exchange.changes();
      int told = 0;
      for (const Change& change : changes) {
        if (told++ == 3) break;
        absl::StrAppend(&out_, "- ", Word(change.kind()), Inline(change.text(), room_.line), "\n");
      }
    }
    out_ += "\n";
  }

  static std::string Given(const Exchange& exchange) {
    if (exchange.look_again()) return ", asking to look again";
    if (exchange.artefacts().empty()) return "";
    std::vector<std::string> titles;
    for (const galen::v1::Artefact& artefact : exchange.artefacts()) {
      if (titles.size() == 4) break;
      titles.push_back(artefact.title().empty() ? "an output that was only searched"
                                                : Inline(artefact.title(), 80));
    }
    return absl::StrCat(", with ", absl::StrJoin(titles, ", "));
  }

  static absl::string_view Word(Change::Kind kind) {
    return kind == Change::CONTRADICTION ? "Contradiction: " : "It changed: ";
  }

  void TellCause(absl::string_view heading, const Cause& cause) {
    absl::StrAppend(&out_, "## ", heading, ": ", Inline(cause.title(), 200), "\n\n");
    absl::StrAppend(&out_, "- Label: `", Inline(cause.label(), 200), "`, ",
                    Percent(cause.probability()), "\n");
    Fact("Where", TicketPlaces(cause, 4, reader_ == Reader::kProvider));
    Fact("Why", Inline(cause.explanation(), room_.line));
    out_ += "\n";
  }

  void TellCauses() {
    if (report_.has_primary_cause()) {
      TellCause("Cause", report_.primary_cause());
      for (const Cause& cause : report_.other_causes()) TellCause("Independent cause", cause);
      return;
    }
    if (report_.has_presumed_cause()) {
      TellCause("Presumed cause, not verified", report_.presumed_cause());
    }
    if (report_.suspects().empty()) return;
    absl::StrAppend(&out_, "## Leading causes, none of them proven\n\n");
    int number = 0;
    for (const Cause& suspect : report_.suspects()) {
      absl::StrAppend(&out_, ++number, ". ", Inline(suspect.title(), 200), " (`",
                      Inline(suspect.label(), 200), "`, ", Percent(suspect.probability()),
                      "): ", Inline(suspect.explanation(), room_.line), "\n");
      if (const std::string decides = Decides(suspect.label()); !decides.empty()) {
        absl::StrAppend(&out_, "   - Decided by: ", decides, "\n");
      }
    }
    out_ += "\n";
  }

  // The question whose answers move the cause most.
  std::string Decides(const std::string& label) const {
    const Question* best = nullptr;
    double most = 0;
    for (const auto* questions : {&request_.questions(), &request_.tests()}) {
      for (const Question& question : *questions) {
        for (const Question::Answer& answer : question.answers()) {
          for (const Question::Answer::Effect& effect : answer.effects()) {
            const double moved = std::abs(effect.after() - effect.before());
            if (effect.label() != label || moved <= most) continue;
            most = moved;
            best = &question;
          }
        }
      }
    }
    return best == nullptr ? "" : Inline(Short(*best), room_.line);
  }

  // The commands of a question and their node, or its text if it has no commands.
  static std::string Short(const Question& question) {
    if (question.commands().empty()) return question.text();
    return absl::StrCat(absl::StrJoin(question.commands(), ", "),
                        question.node().empty() ? "" : " on ", question.node());
  }

  // Plain for a customer, exact for a provider.
  std::string Asked(const Question& question) const {
    if (reader_ == Reader::kCustomer || question.commands().empty()) return question.text();
    return absl::StrCat(question.loads() ? "test " : "check ", question.check(),
                        question.node().empty() ? "" : " on ", question.node(), ": ",
                        absl::StrJoin(question.commands(), ", "));
  }

  void TellEvidence() {
    std::vector<std::string> ids;
    const auto add = [&](const auto& those) {
      for (const std::string& id : those) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
    };
    const auto take = [&](const Cause& cause) { add(cause.evidence_ids()); };
    if (report_.has_primary_cause()) take(report_.primary_cause());
    for (const Cause& cause : report_.other_causes()) take(cause);
    if (report_.has_presumed_cause()) take(report_.presumed_cause());
    for (const Cause& suspect : report_.suspects()) take(suspect);
    TellEvidence("Evidence", ids);
    ids.clear();
    if (report_.has_presumed_cause()) add(report_.presumed_cause().opposing_ids());
    TellEvidence("Against the presumed cause", ids);
  }

  void TellEvidence(absl::string_view heading, const std::vector<std::string>& ids) {
    std::size_t told = 0;
    for (const std::string& id : ids) {
      const auto found =
          std::find_if(report_.evidence().begin(), report_.evidence().end(),
                       [&](const Evidence& evidence) { return evidence.id() == id; });
      if (found == report_.evidence().end()) continue;
      if (told == room_.lines) break;
      if (told++ == 0) absl::StrAppend(&out_, "## ", heading, "\n\n");
      absl::StrAppend(&out_, "`", Inline(id, 200), "`: ", Inline(found->text(), room_.line), "\n");
      if (!found->excerpt().empty()) {
        absl::StrAppend(&out_, "\n", Quote(found->excerpt(), room_.line));
      }
      out_ += "\n";
    }
  }

  void TellQuestions() {
    if (request_.questions().empty() && request_.tests().empty()) return;
    absl::StrAppend(&out_, "## Open questions\n\n");
    int number = 0;
    for (const Question& question : request_.questions()) {
      absl::StrAppend(&out_, ++number, ". ", Inline(Asked(question), room_.line), "\n");
      TellAnswers(question);
    }
    for (const Question& test : request_.tests()) {
      absl::StrAppend(&out_, ++number, ". ", Inline(Asked(test), room_.line), " (loads ",
                      test.occupies().empty() ? "the machine" : Inline(test.occupies(), 60),
                      " for ", test.cost().seconds(), " s; needs permission)\n");
      TellAnswers(test);
    }
    out_ += "\n";
  }

  void TellAnswers(const Question& question) {
    int told = 0;
    for (const Question::Answer& answer : question.answers()) {
      if (answer.effects().empty() || told++ == 2) break;
      std::vector<std::string> effects;
      for (const Question::Answer::Effect& effect : answer.effects()) {
        effects.push_back(absl::StrCat(effect.title(), " ", Percent(effect.before()), " -> ",
                                       Percent(effect.after())));
      }
      absl::StrAppend(&out_, "   - ", Inline(answer.text(), room_.line), ": ",
                      Inline(absl::StrJoin(effects, "; "), room_.line), "\n");
    }
  }

  void TellSteps() {
    if (report_.next_steps().empty()) return;
    absl::StrAppend(&out_, "## Next steps\n\n");
    for (int i = 0; i < std::min(report_.next_steps_size(), room_.steps); ++i) {
      absl::StrAppend(&out_, i + 1, ". ", Inline(report_.next_steps(i), room_.line), "\n");
    }
    out_ += "\n";
  }

  void TellRest() {
    absl::StrAppend(&out_, "## What was tried\n\n");
    const galen::v1::CheckCounts& checks = report_.checks();
    absl::StrAppend(
        &out_, absl::StrFormat("- %d checks passed, %d failed, %d were skipped, %d gave an "
                               "error\n",
                               checks.pass(), checks.fail(), checks.skipped(), checks.error()));
    if (!report_.secondary_effects().empty()) {
      std::vector<std::string> effects;
      for (const Cause& effect : report_.secondary_effects()) {
        if (effects.size() == kMostRuledOut) break;
        effects.push_back(absl::StrCat("`", Inline(effect.label(), 120), "`"));
      }
      Fact("Effects of the cause", absl::StrJoin(effects, ", "));
    }
    std::vector<std::string> out;
    for (const Cause& cause : report_.ruled_out()) {
      if (out.size() == kMostRuledOut) break;
      out.push_back(absl::StrCat("`", Inline(cause.label(), 120), "`"));
    }
    if (!out.empty()) {
      const auto more = static_cast<std::size_t>(report_.ruled_out_size()) - out.size();
      Fact("Ruled out", absl::StrCat(absl::StrJoin(out, ", "),
                                     more > 0 ? absl::StrCat(" and ", more, " more") : ""));
    }
    if (!report_.undecided().empty()) {
      Fact("Undecided", absl::StrCat(report_.undecided_size(), " causes"));
    }
    absl::StrAppend(&out_, "\nEach cause with its reasons, and every note: the attachment.\n");
  }

  const v1::ConcludeRequest& request_;
  const Report& report_;
  const Reader reader_;
  const Room room_;
  std::string out_;
};

}  // namespace

std::string WriteTicket(const v1::ConcludeRequest& request, const Report& report, Reader reader) {
  constexpr int kMostTries = 8;
  Room room;
  std::string ticket;
  for (int i = 0; i < kMostTries; ++i) {
    ticket = Ticket(request, report, reader, room).Write();
    if (ticket.size() <= kMostOfTicket) return ticket;
    room = Smaller(room);
  }
  // At the end of a line, so that nothing that was quoted is left open.
  constexpr absl::string_view kCut = "\nThe rest is attached.\n";
  ticket.resize(ticket.rfind('\n', kMostOfTicket - kCut.size()) + 1);
  return absl::StrCat(ticket, kCut);
}

}  // namespace galen::conclusion
