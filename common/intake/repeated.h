#ifndef COMMON_INTAKE_REPEATED_H_
#define COMMON_INTAKE_REPEATED_H_

#include "common/intake/recognise.h"

namespace galen::intake {

// A message that a sentence or a title quotes, often cut, and that was given with its output is
// one message: this drops the quotations of those. Time is linear in what was given.
void DropRepeated(Recognised& recognised);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_REPEATED_H_
