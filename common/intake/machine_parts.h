#ifndef COMMON_INTAKE_MACHINE_PARTS_H_
#define COMMON_INTAKE_MACHINE_PARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::intake {

// The machines of a list as pdsh, clush and Slurm write it: "gpu[01-04,07],login1". None for any
// other text, and for more than 256. Pure.
std::vector<std::string> MachinesOf(absl::string_view list);

// A part of what a command printed on several machines.
struct MachinePart {
  // Several: dshbak and clush print equal outputs once. None: the lines above the first heading.
  std::vector<std::string> machines;
  std::vector<std::size_t> lines;
  std::size_t prefix = 0;  // bytes before what the program printed in each line, "gpu02: "
};

// The parts of an output of a command that ran on several machines: with the machine before each
// line, as pdsh prints it, or below headings, as a loop with `echo $host`, dshbak, clush -b and
// Ansible print them. `machines`: those that the command names; empty: any name with a digit is
// taken for a machine if at least two have a part. `echoes`: the command itself prints the names,
// without anything around them. Empty: nothing parts the output. Pure.
std::vector<MachinePart> PartsByMachine(absl::Span<const absl::string_view> lines,
                                        absl::Span<const std::string> machines, bool echoes);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_MACHINE_PARTS_H_
