#ifndef SERVICES_CONCLUSION_TICKET_H_
#define SERVICES_CONCLUSION_TICKET_H_

#include <cstddef>
#include <string>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// The reader of a ticket: the customer who owns the job, or the provider, who runs the machines.
enum class Reader { kCustomer, kProvider };

// The size of a ticket in bytes, at most: one page. The rest is attached (attachment.h).
inline constexpr std::size_t kMostOfTicket = 6000;

// The report as a ticket in Markdown, on one page: the incident, the questions and their answers;
// the cause and its location, or the leading causes and what would decide each; the log lines that
// show it; the machines, the window, the environment; the causes that were ruled out; the next
// steps and who takes each. Text from people and logs is quoted, so that it cannot pass for a part
// of the ticket. A customer is asked in plain words; a provider gets commands, tests and serial
// numbers. Pure.
std::string WriteTicket(const v1::ConcludeRequest& request, const galen::v1::Report& report,
                        Reader reader);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_TICKET_H_
