#ifndef SERVICES_CONCLUSION_ATTACHMENT_H_
#define SERVICES_CONCLUSION_ATTACHMENT_H_

#include <string>

#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// What the tickets leave out, in Markdown: each effect, each cause that was ruled out or is
// undecided with its reasons, the ideas and the notes. Pure.
std::string WriteAttachment(const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_ATTACHMENT_H_
