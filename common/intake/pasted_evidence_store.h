#ifndef COMMON_INTAKE_PASTED_EVIDENCE_STORE_H_
#define COMMON_INTAKE_PASTED_EVIDENCE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/intake/kinds.h"
#include "galen/v1/incident.pb.h"

namespace galen::intake {

// Keeps what people pasted as bundles below one directory, for services that read bundles there.
// Thread-safe.
class PastedEvidenceStore {
 public:
  // `directory` is made when it is missing. Bundles older than `keep` are removed.
  PastedEvidenceStore(std::string directory, std::shared_ptr<const Kinds> kinds,
                      absl::Duration keep = absl::Hours(24 * 30));

  // The incident with its evidence in a bundle (AddEvidence): artefacts in its description, and
  // logs that travel with it. One that has a bundle already, or nothing to read, stays as it is.
  // `id` names the bundle, and the same id gives the same bundle. The errors of AddEvidence.
  absl::StatusOr<v1::Incident> Take(const v1::Incident& incident, const std::string& id,
                                    absl::Time now) const;

  // The same on top of a copy of the bundle `base`, so that a check reads the captured bundle and
  // later texts as one. If a command has two whole outputs the later one counts; a partial one is
  // appended to the existing output. The incident has the logs that came now, not those of the
  // base. Without anything to read, the incident stays as it is, without a bundle.
  absl::StatusOr<v1::Incident> AddTo(const std::string& base, const v1::Incident& incident,
                                     const std::string& id, absl::Time now) const;

 private:
  struct Given;
  Given TextsOf(const v1::Incident& incident) const;
  void RemoveOld(absl::Time now) const;

  const std::string directory_;
  const std::shared_ptr<const Kinds> kinds_;
  const absl::Duration keep_;
};

}  // namespace galen::intake

#endif  // COMMON_INTAKE_PASTED_EVIDENCE_STORE_H_
