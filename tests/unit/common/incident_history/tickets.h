#ifndef TESTS_UNIT_COMMON_INCIDENT_HISTORY_TICKETS_H_
#define TESTS_UNIT_COMMON_INCIDENT_HISTORY_TICKETS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/incident_history/document.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history::testing {

// A ticket of words drawn from a small vocabulary, common ones often: the same number gives the
// same ticket.
inline std::string Words(std::uint64_t number, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const std::uint64_t dice = Mix(number * 1000 + i + 1);
    absl::StrAppend(&text, "word", (dice % 97) * ((dice >> 20) % 13), " ");
  }
  return text;
}

inline Document Ticket(std::uint64_t number) {
  return {.id = absl::StrCat("t-", number),
          .label = absl::StrCat("MAIN.SUB.L", number % 7),
          .text = Words(number, 10 + number % 40),
          .payload = absl::StrCat("payload of ", number)};
}

inline std::vector<Document> Tickets(std::uint64_t count) {
  std::vector<Document> tickets;
  for (std::uint64_t i = 0; i < count; ++i) tickets.push_back(Ticket(i));
  return tickets;
}

}  // namespace galen::incident_history::testing

#endif  // TESTS_UNIT_COMMON_INCIDENT_HISTORY_TICKETS_H_
