#ifndef SERVICES_CONCLUSION_TICKET_H_
#define SERVICES_CONCLUSION_TICKET_H_

#include <string>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// The report as a ticket in Markdown: what was reported, the cause and where it sits, the evidence,
// every hypothesis that was tested and how it was ruled out, the steps to take. What customers and
// logs said is quoted, so that it cannot pass for a part of the ticket. Pure.
std::string WriteTicket(const v1::ConcludeRequest& request, const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_TICKET_H_
