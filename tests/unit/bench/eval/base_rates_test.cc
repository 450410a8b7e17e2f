#include "bench/eval/metrics/base_rates.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace base_rates_test {

using testing::HasSubstr;
using testing::Pair;

// GPU.A asks whether the lamp is red, GPU.B has the message m.
knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Label& a = *base.add_labels();
  a.set_label("GPU.A");
  knowledge::v1::Rule& rule = *a.add_confirm();
  rule.set_check("lamp");
  rule.set_finding("red");
  rule.set_op(knowledge::v1::Rule::EQ);
  rule.set_value("true");
  base.add_labels()->set_label("GPU.B");
  knowledge::v1::SignalPattern& signal = *base.add_signals();
  signal.set_id("m");
  signal.add_labels("GPU.B");
  return base;
}
constexpr char kRed[] = "lamp red == true";
constexpr char kMessage[] = "message m";

class BaseRatesTest : public testing::Test {
 protected:
  void Add(const std::string& label, const std::map<std::string, bool>& observed,
           const std::string& source = "") {
    v1::Case& a_case = cases_.emplace_back();
    a_case.set_id(std::to_string(cases_.size()));
    a_case.set_source(source);
    if (!label.empty()) a_case.add_labels(label);
    v1::CaseResult& result = results_.emplace_back();
    for (const auto& [name, seen] : observed) {
      v1::Observed& each = *result.add_observed();
      each.set_name(name);
      each.set_seen(seen);
    }
  }
  BaseRates Rates() const { return BaseRates(knowledge_, cases_, results_); }

  // Seen and asked.
  static std::map<std::string, std::pair<int, int>> ByName(
      const std::vector<knowledge::v1::BaseRate>& rates) {
    std::map<std::string, std::pair<int, int>> by_name;
    for (const auto& rate : rates) by_name[rate.of()] = {rate.seen(), rate.asked()};
    return by_name;
  }

  const knowledge::Knowledge knowledge_{Base()};
  std::vector<v1::Case> cases_;
  std::vector<v1::CaseResult> results_;
};

TEST_F(BaseRatesTest, IncidentsOfTheOwnCauseDoNotCount) {
  Add("GPU.A", {{kRed, true}});
  Add("GPU.B", {{kRed, true}});
  Add("", {{kRed, false}});
  Add("GPU.B", {});  // unknown
  EXPECT_THAT(ByName(Rates().All())[kRed], Pair(1, 2));
}

TEST_F(BaseRatesTest, EveryIncidentWasReadForMessages) {
  Add("GPU.A", {{kMessage, true}});
  Add("GPU.B", {{kMessage, true}});
  Add("GPU.A", {});
  auto rates = ByName(Rates().All());
  EXPECT_THAT(rates[kMessage], Pair(1, 3));
  EXPECT_THAT(rates["message"], Pair(0, 3));
}

TEST_F(BaseRatesTest, WithoutACaseGoTheOthersOfItsSourceToo) {
  Add("GPU.B", {{kRed, true}}, "https://x/1");
  Add("GPU.B", {{kRed, true}}, "http://x/1#comment");
  Add("GPU.B", {{kRed, true}}, "https://x/2");
  EXPECT_THAT(ByName(Rates().Without(cases_[0]))[kRed], Pair(1, 1));
}

TEST_F(BaseRatesTest, AreWrittenAsKnowledge) {
  Add("GPU.B", {{"log it's", true}});
  EXPECT_THAT(BaseRatesYaml(Rates().All()), HasSubstr("{of: 'log it''s', seen: 1, asked: 1}"));
}

}  // namespace base_rates_test
}  // namespace galen::eval
