#ifndef SERVICES_WATCH_EARLY_REQUEST_H_
#define SERVICES_WATCH_EARLY_REQUEST_H_

#include <map>
#include <string>

#include "common/warning/policy.h"
#include "common/warning/rules.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::watch::early {

// The diagnosis of an alarm, for `parent` ("tenants/t"): names the machines (for a job those that
// work for it, by `jobs`, node to job), and has the signs as a log. Its request id depends only on
// the alarm.
galen::v1::CreateDiagnosisRequest RequestOf(const warning::Alarm& alarm, const warning::Book& book,
                                            const std::map<std::string, std::string>& jobs,
                                            const std::string& parent);

}  // namespace galen::watch::early

#endif  // SERVICES_WATCH_EARLY_REQUEST_H_
