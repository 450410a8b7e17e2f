#ifndef SERVICES_NODE_EXEC_OUTPUT_PARSERS_H_
#define SERVICES_NODE_EXEC_OUTPUT_PARSERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The input of a parser: a program that ended with an exit code that its declaration allows.
struct ProgramOutput {
  const knowledge::v1::Check& check;
  const CheckContext& context;
  const host::CommandResult& result;
};

// Makes findings of what a program printed. FAILED_PRECONDITION and UNAVAILABLE: the program says
// that it cannot apply here (the check is SKIPPED); DATA_LOSS: the text is not what the program is
// known to print. Output is hostile: it may be cut, and need not be UTF-8. Pure.
using OutputParser = absl::StatusOr<CheckOutput> (*)(const ProgramOutput& output);

// The parser of that name (ExecSpec.output); nullptr when there is none.
OutputParser FindOutputParser(absl::string_view name);

// All names, sorted.
std::vector<std::string> OutputParserNames();

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_OUTPUT_PARSERS_H_
