#ifndef COMMON_TELEMETRY_NAMED_SOURCE_H_
#define COMMON_TELEMETRY_NAMED_SOURCE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

// Which names and addresses are one machine's. A name that two series give to two machines says
// nothing, and stays what it is.
class MachineNames {
 public:
  // Records `alias` as a name of machine `name`. Earlier sources take precedence: calls with
  // another `source` only add missing aliases.
  void Learn(const std::string& alias, const std::string& name, int source);
  // The machine's name; `name` itself where nothing is known of it.
  std::string Of(const std::string& name) const;

 private:
  struct Known {
    std::string name;  // "": two machines claim it
    int source = 0;
  };
  std::map<std::string, Known, std::less<>> known_;
};

// A source whose series all name their machine alike (the label kMachine), whichever name, address
// or pod the exporter uses. It also knows the existing metrics, and asks for no other ones.
class NamedSource final : public Source {
 public:
  // Asks what `rules.names` say between two times. `source` and `rules` must outlive it.
  static absl::StatusOr<std::unique_ptr<NamedSource>> Open(Source& source, const Rules& rules,
                                                           absl::Time start, absl::Time end,
                                                           const Call& call);

  // Names of metrics, sorted; whether these are all.
  const std::set<std::string, std::less<>>& metrics() const { return metrics_; }
  bool all_metrics() const { return all_metrics_; }

  std::string name() const override { return source_.name(); }
  bool evaluates() const override { return source_.evaluates(); }
  bool has_job_logs() const override { return source_.has_job_logs(); }
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                 const Call& call) override;
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                 const Call& call) override;
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start, absl::Time end,
                                 const Call& call) override;
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start, absl::Time end,
                                  const Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const Call& call, bool* complete) override;

 private:
  NamedSource(Source& source, const Rules& rules) : source_(source), rules_(rules) {}
  // Whether the selector asks for one metric, which is known not to be there.
  bool IsAbsent(absl::string_view selector) const;
  absl::StatusOr<Answer> Named(absl::StatusOr<Answer> answer) const;

  Source& source_;
  const Rules& rules_;
  std::set<std::string, std::less<>> metrics_;
  bool all_metrics_ = false;
  MachineNames names_;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_NAMED_SOURCE_H_
