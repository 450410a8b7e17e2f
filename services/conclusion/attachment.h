#ifndef SERVICES_CONCLUSION_ATTACHMENT_H_
#define SERVICES_CONCLUSION_ATTACHMENT_H_

#include <string>

#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// The part of a report that tickets omit, in Markdown: effects, causes that were ruled out or are
// undecided with their reasons, suggestions and notes. Pure.
std::string WriteAttachment(const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_ATTACHMENT_H_
