#ifndef SERVICES_EXECUTION_PLAYBOOK_MEASURER_H_
#define SERVICES_EXECUTION_PLAYBOOK_MEASURER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"
#include "services/execution/playbook/playbook_catalogue.h"
#include "services/execution/playbook/rows.h"

namespace galen::playbook {

// "node-5" and "node-5.cluster.local" are one.
bool SameNode(absl::string_view one, absl::string_view other);

// Everything that one examination asks, each once.
class Measurer {
 public:
  struct Of {
    absl::StatusOr<std::shared_ptr<const Rows>> rows;
    std::vector<telemetry::Answer> answers;
    std::vector<std::string> remarks;
    bool complete = true;
  };

  // All references must outlive it. `nodes`: the machines of the job; empty: all. `named`: series
  // without a machine, or with another spelling of its name, are left out.
  Measurer(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules,
           telemetry::Source& source, telemetry::Range range, std::vector<std::string> nodes,
           bool named, const telemetry::Call& call);

  const telemetry::Range& range() const { return range_; }

  bool IsOurs(const telemetry::Place& place) const;
  // As the incident names it.
  telemetry::Place Ours(telemetry::Place place) const;

  // A quantity or query of the catalogue. Errors but NOT_FOUND and UNIMPLEMENTED, which are part of
  // what is known, end the examination.
  absl::StatusOr<const Of*> Get(const std::string& name);

 private:
  Of Ask(const std::string& name);
  // The names of others are not told: they may be another customer's.
  absl::StatusOr<std::shared_ptr<const Rows>> Keep(const std::string& name, Rows all) const;
  absl::StatusOr<std::shared_ptr<const Rows>> Quantity(const std::string& name, Of& of);
  absl::StatusOr<std::shared_ptr<const Rows>> Evaluated(const Query& query, Of& of);

  const PlaybookCatalogue& catalogue_;
  const telemetry::Rules& rules_;
  telemetry::Source& source_;
  const telemetry::Range range_;
  const std::vector<std::string> nodes_;
  const bool named_;
  const telemetry::Call& call_;
  std::map<std::string, Of> known_;
};

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_MEASURER_H_
