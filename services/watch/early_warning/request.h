#ifndef SERVICES_WATCH_EARLY_WARNING_REQUEST_H_
#define SERVICES_WATCH_EARLY_WARNING_REQUEST_H_

#include <map>
#include <string>

#include "galen/v1/diagnosis_service.pb.h"
#include "services/watch/early_warning/detection/policy.h"
#include "services/watch/early_warning/detection/rules.h"

namespace galen::watch::early_warning {

// The diagnosis of an alarm, for `parent` ("tenants/t"): names the machines (for a job those that
// work for it, by `jobs`, node to job), and has the signs as a log. Its request id depends only on
// the alarm.
galen::v1::CreateDiagnosisRequest RequestOf(const watch::detection::Alarm& alarm,
                                            const watch::detection::RuleSet& rule_set,
                                            const std::map<std::string, std::string>& jobs,
                                            const std::string& parent);

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_REQUEST_H_
