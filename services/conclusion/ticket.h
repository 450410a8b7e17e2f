#ifndef SERVICES_CONCLUSION_TICKET_H_
#define SERVICES_CONCLUSION_TICKET_H_

#include <cstddef>
#include <string>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// Who reads a ticket: the customer whose job it is, or whoever runs the machines.
enum class Reader { kCustomer, kProvider };

// So many bytes a ticket has at most: one page. The rest is attached (attachment.h).
inline constexpr std::size_t kMostOfTicket = 6000;

// The report as a ticket in Markdown, on one page: what was reported, asked and answered; the cause
// and where it sits, or the leading causes and what would decide each; the lines that show it; the
// machines, the window, the environment; what was ruled out; the steps to take, and whose they are.
// What people and logs said is quoted, so that it cannot pass for a part of the ticket. A customer
// is asked in plain words; a provider gets commands, tests and serial numbers. Pure.
std::string WriteTicket(const v1::ConcludeRequest& request, const galen::v1::Report& report,
                        Reader reader);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_TICKET_H_
