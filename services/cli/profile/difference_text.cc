#include "services/cli/profile/difference_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/profile/compare.h"
#include "services/cli/profile/profile_table.h"

namespace galen::cli {
namespace {

using Json = nlohmann::ordered_json;
using profile::Pair;

constexpr std::size_t kHead = 12;
// Less is not a difference of two measurements.
constexpr double kSame = 0.005;

std::string Signed(double seconds) {
  return absl::StrCat(seconds < 0 ? "-" : "+", Time(std::abs(seconds)));
}

// "+12.3 %"; "new" and "gone" where one of the two has none.
std::string Change(const Pair& pair) {
  if (pair.against <= 0) return pair.here > 0 ? "new" : "";
  if (pair.here <= 0) return "gone";
  return absl::StrFormat("%+.1f %%", 100 * pair.Difference() / pair.against);
}

std::string Count(double calls) {
  return calls == std::floor(calls) ? absl::StrFormat("%.0f", calls)
                                    : absl::StrFormat("%.1f", calls);
}

class DifferencePage {
 public:
  DifferencePage(const ProfilePage& page, const Terminal& terminal)
      : page_(page), difference_(*page.difference), terminal_(terminal) {}

  std::string Make() {
    Status();
    const auto size = [](double gpus, double steps) {
      return absl::StrFormat("%g GPU%s with %g step%s", gpus, gpus == 1 ? "" : "s", steps,
                             steps == 1 ? "" : "s");
    };
    const std::string sizes = absl::StrCat(
        size(difference_.gpus.here, difference_.steps.here), ", beside ",
        size(difference_.gpus.against, difference_.steps.against), "; means of a GPU and a step");
    Line("compared", sizes);
    Parts();
    Families();
    Operators();
    bool first = true;
    for (const std::string& note : difference_.notes) {
      Line(std::exchange(first, false) ? "notes" : "", note);
    }
    for (const std::string& trouble : page_.job.troubles) {
      Line(std::exchange(first, false) ? "notes" : "", trouble);
    }
    return std::move(text_);
  }

 private:
  void Raw(absl::string_view name, absl::string_view line) {
    absl::StrAppend(&text_, Paint(terminal_, Colour::kBold, Pad(name, kHead)), line, "\n");
  }

  void Line(absl::string_view name, absl::string_view text) {
    const std::size_t room = static_cast<std::size_t>(std::max(40, terminal_.width)) - kHead;
    bool first = true;
    for (const std::string& part : Wrap(text, room))
      Raw(std::exchange(first, false) ? name : "", part);
  }

  void Rows(absl::string_view name, const Table& table) {
    bool first = true;
    for (const std::string& line : table.Lines()) {
      Raw(first ? name : "", first ? Paint(terminal_, Colour::kDim, line) : line);
      first = false;
    }
  }

  void Status() {
    const Pair& step = difference_.step;
    const double change = step.against > 0 ? step.Difference() / step.against : 0;
    if (std::abs(change) < kSame) {
      Raw("status", Paint(terminal_, Colour::kGreen,
                          absl::StrCat("a step takes as long as before: ", Time(step.here),
                                       " beside ", Time(step.against))));
      return;
    }
    Raw("status",
        Paint(terminal_, change > 0 ? Colour::kYellow : Colour::kGreen,
              absl::StrFormat("a step takes %s instead of %s (%s, %+.1f %%)", Time(step.here),
                              Time(step.against), Signed(step.Difference()), 100 * change)));
    const profile::PartDifference& most = difference_.parts.front();
    Line("", absl::StrCat("most of it in ", most.title, ": ", Signed(most.time.Difference())));
  }

  static std::vector<std::string> Heads(const char* name) {
    return {name, "here", "against", "difference", "change"};
  }
  static std::vector<std::string> Row(std::string name, const Pair& time) {
    return {std::move(name), Time(time.here), Time(time.against), Signed(time.Difference()),
            Change(time)};
  }

  void Parts() {
    Table table;
    table.Add(Heads(""));
    for (const profile::PartDifference& part : difference_.parts) {
      table.Add(Row(part.title, part.time));
    }
    table.Add(Row("step", difference_.step));
    Rows("parts", table);
  }

  void Families() {
    Table table;
    std::vector<std::string> heads = Heads("");
    heads.insert(heads.end(), {"calls", "against"});
    table.Add(std::move(heads));
    for (const profile::FamilyDifference& family : difference_.families) {
      std::vector<std::string> row = Row(page_.families.all()[family.family].title, family.time);
      row.insert(row.end(), {Count(family.calls.here), Count(family.calls.against)});
      table.Add(std::move(row));
    }
    Rows("families", table);
  }

  void Operators() {
    const std::size_t room =
        std::max<std::size_t>(30, static_cast<std::size_t>(std::max(40, terminal_.width)) - 90);
    Table table;
    table.Add(
        {"", "here", "against", "difference", "change", "calls", "against", "mean", "against"});
    std::size_t rows = 0;
    for (const profile::OperatorDifference& one : difference_.operators) {
      if (rows++ == page_.operators) break;
      std::vector<std::string> row = Row(Shorten(one.name, room), one.time);
      row.insert(row.end(), {Count(one.calls.here), Count(one.calls.against),
                             one.calls.here > 0 ? Time(one.MeanHere()) : "-",
                             one.calls.against > 0 ? Time(one.MeanAgainst()) : "-"});
      table.Add(std::move(row));
    }
    Rows("operators", table);
    if (difference_.operators.size() > page_.operators) {
      Line("", absl::StrCat(difference_.operators.size() - page_.operators,
                            " more; --operators N shows more of them"));
    }
  }

  const ProfilePage& page_;
  const profile::Difference& difference_;
  const Terminal& terminal_;
  std::string text_;
};

Json PairJson(const Pair& pair) {
  return {{"here", pair.here}, {"against", pair.against}, {"difference", pair.Difference()}};
}

}  // namespace

std::string DifferenceText(const ProfilePage& page, const Terminal& terminal) {
  return DifferencePage(page, terminal).Make();
}

nlohmann::ordered_json DifferenceJson(const ProfilePage& page) {
  const profile::Difference& difference = *page.difference;
  Json object = {{"step", PairJson(difference.step)},
                 {"gpus", PairJson(difference.gpus)},
                 {"steps", PairJson(difference.steps)}};
  object["parts"] = Json::array();
  for (const profile::PartDifference& part : difference.parts) {
    Json one = PairJson(part.time);
    one["name"] = part.name;
    object["parts"].push_back(std::move(one));
  }
  object["families"] = Json::array();
  for (const profile::FamilyDifference& family : difference.families) {
    Json one = PairJson(family.time);
    one["name"] = page.families.all()[family.family].name;
    one["calls"] = PairJson(family.calls);
    object["families"].push_back(std::move(one));
  }
  object["operators"] = Json::array();
  std::size_t count = 0;
  for (const profile::OperatorDifference& each : difference.operators) {
    if (count++ == page.operators) break;
    Json one = PairJson(each.time);
    one["name"] = each.name;
    one["family"] = page.families.all()[each.family].name;
    one["calls"] = PairJson(each.calls);
    object["operators"].push_back(std::move(one));
  }
  object["operators_in_all"] = difference.operators.size();
  if (!difference.notes.empty()) object["notes"] = difference.notes;
  return object;
}

}  // namespace galen::cli
