#ifndef SERVICES_CONCLUSION_MARKDOWN_H_
#define SERVICES_CONCLUSION_MARKDOWN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// Foreign text in our Markdown: texts of customers, machines and logs cannot open a heading, table,
// link or HTML. Pure.

// One line, cut.
std::string Inline(absl::string_view text, std::size_t max_bytes = 800);
// `text` as quoted lines, at most `max_bytes` of it; a cut is marked.
std::string Quote(absl::string_view text, std::size_t max_bytes);
// "gpu:1 on node-92 (0000:8a:00.0)", at most `most` of them, and the number of the others. With
// `serials` also the serial number, which concerns the provider alone.
std::string TicketPlaces(const galen::v1::Cause& cause, std::size_t most, bool serials);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_MARKDOWN_H_
