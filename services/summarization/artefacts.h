#ifndef SERVICES_SUMMARIZATION_ARTEFACTS_H_
#define SERVICES_SUMMARIZATION_ARTEFACTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/host/bundle_files.h"
#include "galen/summarization/v1/summarization.pb.h"

namespace galen::summarization {

// A readable text: a text in memory, or a resolved file.
struct Artefact {
  std::string name;
  std::string node;
  std::string what;  // for the list
  std::optional<std::vector<std::string>> lines;
  std::string path;
  bool listed = true;  // by its own line
  std::string alias;   // another name of it
  std::string handle;  // a short name, if `name` is long
  // A log, which an overview shows; the job's logs come before those of its machines.
  enum class Log { kNone, kJob, kMachine } log = Log::kNone;
};

// Calls back with each line and its number, from 1. False ends the reading.
using OnLine = std::function<bool(std::int64_t number, absl::string_view line)>;

// The artefacts of an incident, listed and cited by name; a name is never a path. A long name has a
// short one beside it, which depends only on the incident: "#log2" is its second log, "#m1.3" the
// third output that was captured on its first machine.
class Artefacts {
 public:
  // Nothing is read after `read_until`. The request and the clock must outlive it.
  Artefacts(const v1::LookRequest& request, const Clock& clock, absl::Time read_until)
      : request_(request), clock_(clock), read_until_(read_until) {}

  // The errors of ResolveBundle.
  absl::Status Fill(absl::Span<const std::string> roots);

  const std::vector<Artefact>& all() const { return artefacts_; }
  // By its name or handle; a check's output also by the check alone.
  static bool IsCalled(const Artefact& artefact, const std::string& name);
  // Null: there is none of that name.
  const Artefact* Find(const std::string& name) const;

  bool OutOfTime() const { return clock_.Now() >= read_until_; }
  // False if it cannot be read, or not to its end in time.
  bool Each(const Artefact& artefact, const OnLine& on_line) const;

 private:
  void AddText(std::string name, std::string node, std::string what,
               std::vector<std::string> lines);
  void AddLogs(const std::string& bundle, absl::Span<const std::string> roots);
  void AddMachines(const std::string& bundle);
  // `machine`: "#m1."; `count`: the outputs of this machine so far.
  void AddCommands(const host::BundleFiles& files, const std::string& folder,
                   const std::string& owner, const std::string& node, const std::string& machine,
                   std::size_t& count);
  void AddFiles(const host::BundleFiles& files, const std::string& folder, const std::string& owner,
                const std::string& node);
  void NameCaptures(const std::string& bundle, const std::string& node);
  void KeepUsefulHandles();

  const v1::LookRequest& request_;
  const Clock& clock_;
  const absl::Time read_until_;
  std::vector<Artefact> artefacts_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_ARTEFACTS_H_
