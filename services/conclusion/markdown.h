#ifndef SERVICES_CONCLUSION_MARKDOWN_H_
#define SERVICES_CONCLUSION_MARKDOWN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// Foreign text in Markdown that is ours: what customers, machines and logs said can open no
// heading, table, link or HTML. Pure.

// One line, cut.
std::string Inline(absl::string_view text, std::size_t max_bytes = 800);
// Quoted lines, at most so many bytes of the text; what is cut off is told.
std::string Quote(absl::string_view text, std::size_t max_bytes);
// "gpu:1 on node-92 (0000:8a:00.0)", at most `most` of them, and how many more. With `serials` also
// the serial number, which concerns the provider alone.
std::string TicketPlaces(const galen::v1::Cause& cause, std::size_t most, bool serials);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_MARKDOWN_H_
