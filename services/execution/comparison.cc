#include "services/execution/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/median.h"
#include "common/knowledge/limits.h"
#include "common/knowledge/rules.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using knowledge::v1::Check;
using knowledge::v1::Comparison;
using knowledge::v1::FindingSpec;

// The values of one node, by device.
using Values = std::map<std::string, const Finding*>;

// A node that takes part.
struct Node {
  CheckResult* result;
  Values values;
};

bool Ran(const CheckResult& result) {
  return result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
}

Values ValuesOf(const CheckResult& result, const std::string& name) {
  Values values;
  for (const Finding& finding : result.findings()) {
    if (finding.name() != name || finding.value_case() == Finding::VALUE_NOT_SET) continue;
    values.emplace(finding.subject().device(), &finding);
  }
  return values;
}

std::optional<double> NumberOf(const Finding& finding) {
  if (finding.has_double_value()) return finding.double_value();
  if (finding.has_int_value()) return static_cast<double>(finding.int_value());
  return std::nullopt;
}

Finding& Add(CheckResult& result, const Check& spec, const std::string& name,
             const std::string& device) {
  Finding& finding = *result.add_findings();
  finding.set_name(name);
  finding.mutable_subject()->set_node(result.node());
  finding.mutable_subject()->set_device(device);
  for (const FindingSpec& declared : spec.findings()) {
    if (declared.name() == name) finding.set_unit(declared.unit());
  }
  return finding;
}

// No node can say how it compares.
void Remove(CheckResult& result, const std::string& name) {
  auto& findings = *result.mutable_findings();
  findings.erase(std::remove_if(findings.begin(), findings.end(),
                                [&](const Finding& finding) { return finding.name() == name; }),
                 findings.end());
}

std::string OfNodes(std::size_t count, std::size_t all) {
  return absl::StrCat(count, " of ", all, " nodes");
}

// The value that most nodes have for one device, and how many of the nodes with the device have it.
struct Majority {
  std::string value;
  std::size_t count = 0;
  std::size_t all = 0;
  bool clear() const { return 2 * count > all; }
};

std::map<std::string, Majority> MajorityByDevice(const std::vector<Node>& nodes) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;
  for (const Node& node : nodes) {
    for (const auto& [device, value] : node.values) ++counts[device][knowledge::ValueText(*value)];
  }
  std::map<std::string, Majority> majorities;
  for (const auto& [device, values] : counts) {
    Majority& majority = majorities[device];
    for (const auto& [value, count] : values) {
      majority.all += count;
      if (count > majority.count) {
        majority.count = count;
        majority.value = value;
      }
    }
  }
  return majorities;
}

void Differs(const Check& spec, const Comparison& comparison, const std::vector<Node>& nodes) {
  const std::map<std::string, Majority> majorities = MajorityByDevice(nodes);
  std::vector<std::string> expected(nodes.size());
  std::vector<bool> differs(nodes.size(), false);
  std::size_t outliers = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& [device, value] : nodes[i].values) {
      const Majority& majority = majorities.at(device);
      const std::string own = knowledge::ValueText(*value);
      if (majority.count == majority.all || (majority.clear() && own == majority.value)) continue;
      differs[i] = true;
      expected[i] = majority.clear() ? absl::StrCat(majority.value, ", as on ",
                                                    OfNodes(majority.count, majority.all))
                                     : "the same on all nodes; no value has a majority";
      if (!device.empty()) absl::StrAppend(&expected[i], " for ", device);
      break;
    }
    outliers += differs[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Finding& finding = Add(*nodes[i].result, spec, comparison.finding(), "");
    finding.set_bool_value(differs[i]);
    finding.set_expected(expected[i]);
    if (!differs[i]) continue;
    std::string& message = *nodes[i].result->mutable_message();
    absl::StrAppend(&message, message.empty() ? "" : "; ", comparison.of(), " differs on ",
                    OfNodes(outliers, nodes.size()));
  }
}

void SameOnAll(const Check& spec, const Comparison& comparison, const std::vector<Node>& nodes) {
  const auto texts = [](const Values& values) {
    std::map<std::string, std::string> shown;
    for (const auto& [device, value] : values) shown[device] = knowledge::ValueText(*value);
    return shown;
  };
  const auto first = texts(nodes.front().values);
  const bool same = std::all_of(nodes.begin(), nodes.end(),
                                [&](const Node& node) { return texts(node.values) == first; });
  for (const Node& node : nodes) {
    Finding& finding = Add(*node.result, spec, comparison.finding(), "");
    finding.set_bool_value(same);
    finding.set_expected(absl::StrCat("compared over ", nodes.size(), " nodes"));
  }
}

void FromMedian(const Check& spec, const Comparison& comparison, const std::vector<Node>& nodes,
                double sign) {
  std::map<std::string, std::vector<double>> by_device;
  for (const Node& node : nodes) {
    for (const auto& [device, value] : node.values) {
      if (const auto number = NumberOf(*value); number.has_value()) {
        by_device[device].push_back(*number);
      }
    }
  }
  for (const Node& node : nodes) {
    for (const auto& [device, value] : node.values) {
      const std::optional<double> number = NumberOf(*value);
      if (!number.has_value()) continue;
      const std::vector<double>& all = by_device[device];
      const double median = Median(all);
      Finding& finding = Add(*node.result, spec, comparison.finding(), device);
      if (static_cast<int>(all.size()) < std::max(2, comparison.min_nodes()) || median == 0) {
        continue;
      }
      finding.set_double_value(std::max(0.0, sign * (*number - median) / std::abs(median) * 100));
      finding.set_expected(absl::StrCat("the median of ", all.size(), " nodes is ", median));
    }
  }
}

void Compare(const Check& spec, const Comparison& comparison, const std::vector<Node>& nodes) {
  if (static_cast<int>(nodes.size()) < std::max(2, comparison.min_nodes())) {
    for (const Node& node : nodes) {
      Add(*node.result, spec, comparison.finding(), "")
          .set_expected(absl::StrCat("to be compared over ", std::max(2, comparison.min_nodes()),
                                     comparison.within().empty() ? "" : " alike",
                                     " nodes or more; ", nodes.size(), " told it"));
    }
  } else if (comparison.how() == "differs") {
    Differs(spec, comparison, nodes);
  } else if (comparison.how() == "same_on_all") {
    SameOnAll(spec, comparison, nodes);
  } else if (comparison.how() == "below_median_pct") {
    FromMedian(spec, comparison, nodes, -1);
  } else if (comparison.how() == "above_median_pct") {
    FromMedian(spec, comparison, nodes, +1);
  }
}

// The node's values of finding `name` as one key; "" without a value.
std::string KindOf(const CheckResult& result, const std::string& name) {
  std::string kind;
  for (const auto& [device, value] : ValuesOf(result, name)) {
    absl::StrAppend(&kind, device, "=", knowledge::ValueText(*value), ";");
  }
  return kind;
}

}  // namespace

void CompareNodes(const Check& spec, absl::Span<CheckResult* const> results) {
  for (const Comparison& comparison : spec.comparisons()) {
    for (CheckResult* result : results) Remove(*result, comparison.finding());
    std::map<std::string, std::vector<Node>> alike;
    for (CheckResult* result : results) {
      if (!Ran(*result)) continue;
      Values values = ValuesOf(*result, comparison.of());
      if (!values.empty()) {
        const std::string kind =
            comparison.within().empty() ? "" : KindOf(*result, comparison.within());
        alike[kind].push_back({result, std::move(values)});
      } else {
        Add(*result, spec, comparison.finding(), "");  // not told
      }
    }
    for (const auto& [kind, nodes] : alike) Compare(spec, comparison, nodes);
  }
  if (spec.comparisons().empty()) return;
  for (CheckResult* result : results) {
    if (Ran(*result)) knowledge::ApplyLimits(spec, *result);
  }
}

}  // namespace galen::execution
