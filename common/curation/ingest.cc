#include "common/curation/ingest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/curation/past_incident.h"
#include "common/curation/similar_texts.h"
#include "common/curation/verification.h"
#include "common/knowledge/write_yaml.h"

namespace galen::curation {
namespace {

using How = Labelling::How;

// Cosine from which two tickets are of one kind, two groups of one kind, and two texts the same
// ticket reported again. Proposals err towards too few groups: a person splits a group more easily
// than finding its parts.
constexpr double kSameKind = 0.25;
constexpr double kSameGroup = 0.35;
constexpr double kSameTicket = 0.97;
// Comparing every ticket with every other one takes time; further tickets wait for the next file.
constexpr std::size_t kMaxGrouped = 5000;
constexpr std::size_t kMaxIncidentsOfProposal = 20;
constexpr std::size_t kNameWords = 3;

std::string TextOf(const Ticket& ticket) {
  return absl::StrCat(ticket.title, "\n", ticket.description, "\n",
                      absl::StrJoin(ticket.logs, "\n"));
}

bool IsLabelName(absl::string_view name) {
  return absl::StrContains(name, '.') && name.size() <= 200 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.';
         });
}

std::string OneSpaced(absl::string_view raw) {
  std::string text(raw);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &text);
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

// Tickets that fit no leaf and are of one kind.
struct Group {
  std::vector<std::size_t> members;  // indexes of tickets, in order
  std::string name;                  // given by the tickets themselves; "" none
  CommonCause words;                 // of a labeller with words of its own
};

class Ingestion {
 public:
  Ingestion(const std::vector<Ticket>& tickets, const knowledge::Knowledge& knowledge,
            const Labeller& labeller, const IngestOptions& options)
      : tickets_(tickets),
        knowledge_(knowledge),
        labeller_(labeller),
        options_(options),
        verifier_(knowledge.base()),
        texts_(AllTexts(tickets)) {}

  absl::StatusOr<Ingested> Run() {
    GALEN_RETURN_IF_ERROR(LabelEach());
    DropRepeated();
    std::vector<Group> groups = GroupNew();
    MergeGroups(groups);
    GALEN_RETURN_IF_ERROR(CompareAgain(groups));
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      const Labelling& labelling = result_.labellings[i];
      if (labelling.how == How::kNamed || labelling.how == How::kJudged) ProposeIncident(i);
    }
    for (const Group& group : groups) {
      if (!group.members.empty()) ProposeLabel(group);
    }
    return std::move(result_);
  }

 private:
  static std::vector<std::string> AllTexts(const std::vector<Ticket>& tickets) {
    std::vector<std::string> texts;
    texts.reserve(tickets.size());
    for (const Ticket& ticket : tickets) texts.push_back(TextOf(ticket));
    return texts;
  }

  bool NamesNewLabel(const Ticket& ticket) const {
    return IsLabelName(ticket.label) && knowledge_.FindLabel(ticket.label) == nullptr;
  }

  // First pass: each ticket by itself.
  absl::Status LabelEach() {
    std::set<std::string> known;
    for (const auto& incident : knowledge_.base().incidents()) known.insert(incident.id());
    for (const Ticket& ticket : tickets_) {
      const knowledge::v1::Label* named = knowledge_.FindLabel(ticket.label);
      if (known.count(ticket.id) > 0) {
        result_.labellings.push_back(
            {How::kKnown, "", 1, absl::StrCat("the history has ", ticket.id, " already")});
      } else if (named != nullptr && knowledge::IsLeaf(*named)) {
        result_.labellings.push_back({How::kNamed, ticket.label, 1, "the ticket names it"});
      } else {
        GALEN_ASSIGN_OR_RETURN(Labelling labelling, labeller_.Label(ticket));
        // A name that is not in the taxonomy is deliberate: no other label replaces it.
        if (NamesNewLabel(ticket)) labelling.how = How::kNew;
        result_.labellings.push_back(std::move(labelling));
      }
    }
    return absl::OkStatus();
  }

  // A ticket that was reported twice is one incident.
  void DropRepeated() {
    std::map<std::string, std::vector<std::size_t>> of_label;
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      Labelling& labelling = result_.labellings[i];
      if (labelling.how != How::kNamed && labelling.how != How::kJudged) continue;
      std::vector<std::size_t>& earlier = of_label[labelling.label];
      const auto same = std::find_if(earlier.begin(), earlier.end(), [&](std::size_t other) {
        return SimilarTexts::Cosine(texts_.vector(i), texts_.vector(other)) >= kSameTicket;
      });
      if (same == earlier.end()) {
        earlier.push_back(i);
        continue;
      }
      labelling.how = How::kKnown;
      labelling.reason = absl::StrCat("it says the same as ", tickets_[*same].id);
    }
  }

  // Second pass: new tickets, grouped.
  std::vector<Group> GroupNew() {
    std::vector<Group> groups;
    std::map<std::string, std::size_t> by_name;
    std::size_t compared = 0;
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      if (result_.labellings[i].how != How::kNew) continue;
      const std::string name = NamesNewLabel(tickets_[i]) ? tickets_[i].label : std::string();
      if (!name.empty()) {
        const auto [place, added] = by_name.emplace(name, groups.size());
        if (added) groups.push_back({{}, name});
        groups[place->second].members.push_back(i);
        continue;
      }
      if (++compared > kMaxGrouped) continue;
      std::size_t nearest = groups.size();
      double best = kSameKind;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!groups[g].name.empty()) continue;
        const double likeness =
            SimilarTexts::Cosine(texts_.vector(groups[g].members.front()), texts_.vector(i));
        if (likeness >= best) {
          best = likeness;
          nearest = g;
        }
      }
      if (nearest == groups.size()) groups.push_back({});
      groups[nearest].members.push_back(i);
    }
    if (compared > kMaxGrouped) {
      result_.remarks.push_back(absl::StrCat(
          compared - kMaxGrouped, " tickets that fit no label were not looked at: more than ",
          kMaxGrouped, " at once; ingest them again when these are reviewed"));
    }
    return groups;
  }

  void MergeGroups(std::vector<Group>& groups) {
    std::vector<SimilarTexts::Vector> centres;
    centres.reserve(groups.size());
    for (const Group& group : groups) centres.push_back(texts_.Centroid(group.members));
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = a + 1; b < groups.size(); ++b) {
        Group& into = groups[a];
        Group& from = groups[b];
        // Names given by people are kept: two names are two labels.
        if (into.members.empty() || from.members.empty() || !from.name.empty() ||
            SimilarTexts::Cosine(centres[a], centres[b]) < kSameGroup) {
          continue;
        }
        into.members.insert(into.members.end(), from.members.begin(), from.members.end());
        std::sort(into.members.begin(), into.members.end());
        from.members.clear();
        centres[a] = texts_.Centroid(into.members);
      }
    }
  }

  // A group has more evidence than each of its tickets: together they may be a known leaf.
  absl::Status CompareAgain(std::vector<Group>& groups) {
    for (Group& group : groups) {
      if (group.members.empty() || !group.name.empty()) continue;
      if (group.members.size() < 2) {
        // A single ticket was labelled as a whole already; it may still get better words.
        Labelling labelling;
        if (Described(group, labelling)) {
          result_.labellings[group.members.front()] = std::move(labelling);
          group.members.clear();
        }
        continue;
      }
      Ticket whole;
      for (const std::size_t member : group.members) {
        const Ticket& ticket = tickets_[member];
        absl::StrAppend(&whole.description, ticket.title, "\n", ticket.description, "\n");
        whole.logs.insert(whole.logs.end(), ticket.logs.begin(), ticket.logs.end());
      }
      GALEN_ASSIGN_OR_RETURN(Labelling labelling, labeller_.Label(whole));
      if (labelling.how != How::kJudged && !Described(group, labelling)) continue;
      for (const std::size_t member : group.members) {
        result_.labellings[member] = labelling;
        result_.labellings[member].reason = absl::StrCat("together with ", group.members.size() - 1,
                                                         " like it: ", labelling.reason);
      }
      group.members.clear();
    }
    return absl::OkStatus();
  }

  // Has the group described; true if it turns out to be a known leaf.
  bool Described(Group& group, Labelling& labelling) const {
    std::vector<const Ticket*> members;
    for (const std::size_t member : group.members) members.push_back(&tickets_[member]);
    group.words = labeller_.Describe(members);
    const knowledge::v1::Label* known = knowledge_.FindLabel(group.words.known);
    if (known == nullptr || !knowledge::IsLeaf(*known)) return false;
    labelling = {How::kJudged, known->label(), labelling.confidence,
                 absl::StrCat(group.words.by, " takes them for it")};
    return true;
  }

  // The steps that the ticket's words show, and those of the labeller that occur in the ticket.
  std::vector<std::string> StepsOf(const Ticket& ticket) const {
    constexpr std::size_t kMostSteps = 12;
    std::vector<std::string> steps = verifier_.StepsOf(ticket);
    const std::string all = OneSpaced(absl::StrCat(
        ticket.description, "\n", ticket.resolution, "\n", absl::StrJoin(ticket.discussion, "\n"),
        "\n", absl::StrJoin(ticket.verification, "\n"), "\n", absl::StrJoin(ticket.logs, "\n")));
    for (std::string& step : labeller_.Steps(ticket)) {
      step = OneSpaced(step);
      if (steps.size() >= kMostSteps || step.empty() || !absl::StrContains(all, step)) continue;
      const bool have = std::any_of(steps.begin(), steps.end(), [&](const std::string& each) {
        return absl::StrContains(OneSpaced(each), step);
      });
      if (!have) steps.push_back(std::move(step));
    }
    return steps;
  }

  std::string UniqueId(std::string id) {
    if (id.empty()) id = "ticket";
    std::string unique = id;
    for (int n = 2; !ids_.insert(unique).second; ++n) unique = absl::StrCat(id, "-", n);
    return unique;
  }

  Proposal Begin(const std::string& id, const std::string& kind, int line) {
    Proposal proposal;
    proposal.id = UniqueId(id);
    proposal.kind = kind;
    proposal.made = options_.today;
    proposal.origin = absl::StrCat(options_.file, ":", line);
    return proposal;
  }

  void ProposeIncident(std::size_t index) {
    const Ticket& ticket = tickets_[index];
    const Labelling& labelling = result_.labellings[index];
    Proposal proposal = Begin(absl::StrCat("incident-", Slug(ticket.id)), "incident", ticket.line);
    proposal.reason = labelling.how == How::kNamed
                          ? labelling.reason
                          : absl::StrCat(labelling.reason, "; share of belief ",
                                         static_cast<int>(100 * labelling.confidence), " %");
    knowledge::v1::KnowledgeBase base;
    *base.add_incidents() = PastIncidentOf(ticket, labelling.label, StepsOf(ticket));
    proposal.knowledge = knowledge::ToYaml(base);
    result_.proposals.push_back(std::move(proposal));
  }

  // The sub-category of the leaf nearest to most of the group.
  std::string ParentFor(const Group& group) const {
    std::map<std::string, double> votes;
    for (const std::size_t member : group.members) {
      const knowledge::v1::Label* leaf = knowledge_.FindLabel(result_.labellings[member].label);
      if (leaf != nullptr) votes[leaf->parent()] += 1;
    }
    std::string parent;
    double most = 0;
    for (const auto& [name, count] : votes) {
      if (count > most) parent = name;
      most = std::max(most, count);
    }
    if (!parent.empty()) return parent;
    // None is near: the first place that may have leaves.
    for (const knowledge::v1::Label& label : knowledge_.base().labels()) {
      if (knowledge::IsLeaf(label)) parent = label.parent();
    }
    return parent;
  }

  std::string NameFor(const Group& group) {
    if (!group.name.empty()) return group.name;
    std::vector<std::string> words = texts_.Distinctive(group.members, kNameWords);
    if (words.empty()) words = {"unnamed"};
    const std::string stem =
        absl::StrCat(ParentFor(group), ".", absl::AsciiStrToUpper(absl::StrJoin(words, "_")));
    std::string name = stem;
    for (int n = 2; knowledge_.FindLabel(name) != nullptr || !names_.insert(name).second; ++n) {
      name = absl::StrCat(stem, "_", n);
    }
    return name;
  }

  void ProposeLabel(const Group& group) {
    const Ticket& first = tickets_[group.members.front()];
    knowledge::v1::KnowledgeBase base;
    knowledge::v1::Label& label = *base.add_labels();
    label.set_label(NameFor(group));
    label.set_title(first.title.empty() ? "Not yet named" : first.title);
    // The clearest description of a cause is by the person who resolved it.
    for (const std::size_t member : group.members) {
      if (tickets_[member].resolution.size() > label.description().size()) {
        label.set_description(CleanText(tickets_[member].resolution, 1000));
      }
    }
    if (label.description().empty()) label.set_description(CleanText(first.description, 1000));
    for (std::size_t i = 0; i < std::min<std::size_t>(5, group.members.size()); ++i) {
      const std::string& title = tickets_[group.members[i]].title;
      if (!title.empty()) label.add_symptoms(title);
    }
    if (!group.words.title.empty()) label.set_title(CleanText(group.words.title, 200));
    if (!group.words.description.empty()) {
      label.set_description(CleanText(group.words.description, 1000));
    }
    if (!group.words.symptoms.empty()) label.clear_symptoms();
    for (std::size_t i = 0; i < std::min<std::size_t>(5, group.words.symptoms.size()); ++i) {
      label.add_symptoms(CleanText(group.words.symptoms[i], 200));
    }
    label.set_owner("either");
    label.set_severity("medium");
    label.set_prior("low");
    label.set_added(options_.today);
    const std::string& nearest = result_.labellings[group.members.front()].label;
    if (!nearest.empty() && nearest != label.label()) label.add_confused_with(nearest);

    const std::string detail = label.label().substr(label.label().rfind('.') + 1);
    Proposal proposal = Begin(absl::StrCat("label-", Slug(detail)), "label", first.line);
    proposal.reason = absl::StrCat(
        group.members.size(), group.members.size() == 1 ? " ticket fits" : " tickets fit",
        " no label of the taxonomy",
        nearest.empty() ? "" : absl::StrCat("; the nearest is ", nearest),
        group.words.by.empty() ? "" : absl::StrCat("; put into words by ", group.words.by));
    for (const std::size_t member : group.members) {
      const std::vector<std::string> steps = StepsOf(tickets_[member]);
      for (const std::string& step : steps) {
        const auto& have = proposal.verification;
        if (have.size() < 12 && std::find(have.begin(), have.end(), step) == have.end()) {
          proposal.verification.push_back(step);
        }
      }
      if (static_cast<std::size_t>(base.incidents_size()) < kMaxIncidentsOfProposal) {
        *base.add_incidents() = PastIncidentOf(tickets_[member], label.label(), steps);
      }
    }
    for (knowledge::v1::Rule& rule : verifier_.RulesFor(proposal.verification)) {
      *label.add_confirm() = std::move(rule);
    }
    proposal.knowledge = knowledge::ToYaml(base);
    // Lint refuses a leaf without it, so nobody can forget.
    if (label.confirm().empty()) proposal.knowledge = WithRuleNote(std::move(proposal.knowledge));
    result_.proposals.push_back(std::move(proposal));
  }

  const std::vector<Ticket>& tickets_;
  const knowledge::Knowledge& knowledge_;
  const Labeller& labeller_;
  const IngestOptions& options_;
  const Verifier verifier_;
  const SimilarTexts texts_;
  std::set<std::string> ids_;    // of proposals
  std::set<std::string> names_;  // of proposed labels
  Ingested result_;
};

}  // namespace

absl::StatusOr<Ingested> Ingest(const std::vector<Ticket>& tickets,
                                const knowledge::Knowledge& knowledge, const Labeller& labeller,
                                const IngestOptions& options) {
  return Ingestion(tickets, knowledge, labeller, options).Run();
}

}  // namespace galen::curation
