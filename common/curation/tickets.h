#ifndef COMMON_CURATION_TICKETS_H_
#define COMMON_CURATION_TICKETS_H_

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace galen::curation {

// A past ticket as a ticket system exports it.
struct Ticket {
  std::string id;
  std::string title;
  std::string description;
  std::vector<std::string> logs;
  std::map<std::string, std::string> environment;
  std::string date;   // YYYY-MM-DD; "" unknown
  std::string label;  // the cause in the ticket system's words; "" unknown
  // Later statements and actions of people; never searched, because a new ticket does not have
  // them.
  std::string resolution;
  std::vector<std::string> discussion;
  std::vector<std::string> verification;
  std::string reference;
  int line = 0;  // of the file, 1 and up
};

struct Tickets {
  std::vector<Ticket> tickets;
  // "tickets.jsonl:12: no JSON object: ..."; each is a ticket, or a field of one, that is left out.
  std::vector<std::string> problems;
};

// Limits of a file; everything beyond is cut or left out, and reported.
inline constexpr std::size_t kMaxTickets = 200'000;
inline constexpr std::size_t kMaxTicketBytes = 1 << 20;  // of one ticket in the file

// One JSON object a line. Members by any of these names (others are ignored): id, key, number,
// ticket · title, summary, subject, short_description · description, body, text · logs, log ·
// environment · date, created, created_at, opened, opened_at, reported · label, root_cause_label,
// category, cause_label · resolution, fix, close_notes, root_cause · discussion, comments,
// work_notes, notes · verification, steps · reference, url, link, source `name` is for messages.
Tickets ReadJsonLines(std::istream& in, const std::string& name);

// CSV (RFC 4180) with a header line of such names; spaces in them count as '_'.
Tickets ReadCsv(std::istream& in, const std::string& name);

// By the ending of the path: .csv, or else JSON lines. NOT_FOUND.
absl::StatusOr<Tickets> ReadTickets(const std::string& path);

}  // namespace galen::curation

#endif  // COMMON_CURATION_TICKETS_H_
