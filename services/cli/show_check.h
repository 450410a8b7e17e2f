#ifndef SERVICES_CLI_SHOW_CHECK_H_
#define SERVICES_CLI_SHOW_CHECK_H_

#include <map>
#include <string>

#include <google/protobuf/duration.pb.h>

#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// A time as people read it: "12.5 s".
std::string SecondsText(const google::protobuf::Duration& time);

// `galen checks show NAME`: one check in full: what it reads, needs and costs, its parameters with
// their bounds, its findings with their limits, and the causes that a finding speaks for or
// against. kBadInput when the catalogue does not have it.
ExitCode ShowCheck(const knowledge::Knowledge& knowledge, const std::string& name, bool json,
                   Console& console);

// How far checks are, in one line of the terminal's standard error that is rewritten. Shows nothing
// elsewhere. Not thread-safe.
class CheckProgress {
 public:
  CheckProgress(Console& console, bool shown) : console_(console), shown_(shown) {}
  ~CheckProgress() { Clear(); }
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;

  // Takes a message of status RUNNING, or the result that ends it.
  void Take(const v1::CheckResult& result);
  void Clear();

 private:
  Console& console_;
  const bool shown_;
  std::map<std::string, std::string> running_;  // evidence id: its last progress
  bool drawn_ = false;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_SHOW_CHECK_H_
