#ifndef COMMON_OBSERVABILITY_TRACE_TRACE_H_
#define COMMON_OBSERVABILITY_TRACE_TRACE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::trace {

// The metadata that carry it between processes: W3C Trace Context level 1
// (https://www.w3.org/TR/trace-context/), and beside it the name of the diagnosis, for logs alone.
inline constexpr char kTraceparent[] = "traceparent";
inline constexpr char kDiagnosis[] = "galen-diagnosis";

// A place in a trace: the trace, and one piece of work (a span) in it.
struct Context {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};
  std::uint8_t flags = 0;  // bit 0: the caller records this trace

  // False if an id is all zeros.
  bool valid() const;
};

// Parses a `traceparent` strictly by the standard: nothing for upper case, for ids of zeros, for
// version ff, and for version 00 with anything behind it; of a later version only the part it
// shares with 00. At most 512 bytes are read. Hostile input is fine. Pure.
std::optional<Context> Parse(absl::string_view traceparent);
// Version 00. Pure.
std::string Format(const Context& context);

// 32 lowercase hexadecimal digits, "" for a context that is not valid. Pure.
std::string TraceIdOf(const Context& context);

// A new trace with its first span. Its flags say that it is recorded: events and logs are.
Context NewTrace();
// The next piece of work of the same trace.
Context ChildOf(const Context& parent);
// A new span in the trace of this id; nothing when the id is not a trace id.
std::optional<Context> InTrace(absl::string_view trace_id);

// The work of the calling thread; an invalid context and no name outside of every Scope. The
// reference stays valid until the thread's next Scope begins or ends.
struct Work {
  Context context;
  std::string diagnosis;  // "tenants/t/diagnoses/d"
  // The credential of whose request it is part, as a gateway states it: "key/ID (ROLE)". For audit
  // logs; grants nothing.
  std::string asker = {};
};
const Work& Current();

// Says what the thread works on, until it ends; scopes nest.
class Scope {
 public:
  explicit Scope(Work work);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Work outer_;
};

// `name` when it has the form of a diagnosis's name, "tenants/{tenant}/diagnoses/{id}" with at most
// 63 of a-z, 0-9 and "-" each, else "". For untrusted names. Pure.
absl::string_view DiagnosisName(absl::string_view name);

}  // namespace galen::trace

#endif  // COMMON_OBSERVABILITY_TRACE_TRACE_H_
