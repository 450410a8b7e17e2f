#ifndef SERVICES_NODE_EXCERPT_WATCH_H_
#define SERVICES_NODE_EXCERPT_WATCH_H_

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/host.h"
#include "common/knowledge/make_result.h"
#include "galen/v1/evidence.pb.h"

namespace galen::node {

// A host that notes whether anything that was read of it is an excerpt. Thread-safe.
class ExcerptWatch final : public host::Host {
 public:
  // `host` must outlive this.
  explicit ExcerptWatch(const host::Host& host) : host_(host) {}

  bool saw_excerpt() const { return saw_excerpt_.load(); }

  const std::string& name() const override { return host_.name(); }
  bool live() const override { return host_.live(); }
  absl::StatusOr<host::CommandResult> Run(absl::Span<const std::string> argv,
                                          host::View view) const override {
    return Noted(host_.Run(argv, view));
  }
  absl::StatusOr<host::CommandResult> RunWithin(absl::Span<const std::string> argv,
                                                const host::ProcessLimits& limits,
                                                const Cancellation& cancelled,
                                                const host::OutputSink& on_output) const override {
    return Noted(host_.RunWithin(argv, limits, cancelled, on_output));
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view path, host::View view) const override {
    return host_.ReadFile(path, view);
  }
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                host::View view) const override {
    return host_.Glob(pattern, view);
  }
  absl::StatusOr<host::Space> SpaceAt(absl::string_view target, host::View view) const override {
    return host_.SpaceAt(target, view);
  }
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override {
    return host_.JobEnvironment();
  }
  absl::StatusOr<std::vector<host::JobLog>> JobLogs() const override { return host_.JobLogs(); }
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 host::View view) const override {
    return host_.Captured(prefix, view);
  }

 private:
  absl::StatusOr<host::CommandResult> Noted(absl::StatusOr<host::CommandResult> result) const {
    if (result.ok() && result->excerpt) saw_excerpt_.store(true);
    return result;
  }

  const host::Host& host_;
  mutable std::atomic<bool> saw_excerpt_ = false;
};

// Takes out of a check's output what an excerpt cannot tell: that something is not there, and how
// many there are. What it shows of a device, or that it shows an event, stays.
void DropWhatNoExcerptTells(knowledge::CheckOutput& output);

// A check that found no fault in an excerpt has not passed.
void NeverPassByExcerpt(galen::v1::CheckResult& result);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXCERPT_WATCH_H_
