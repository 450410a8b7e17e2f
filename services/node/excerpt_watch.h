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
#include "services/node/truncation.h"

namespace galen::node {

// A host that notes whether any data read from it was an excerpt, and whether any of it had
// content. A capture that ends within a line is an excerpt. Thread-safe.
class ExcerptWatch final : public host::Host {
 public:
  // `host` must outlive this.
  explicit ExcerptWatch(const host::Host& host) : host_(host) {}

  bool saw_excerpt() const { return saw_excerpt_.load(); }
  // All data read was empty or unreadable. False if nothing was read.
  bool told_nothing() const { return read_.load() && !told_.load(); }

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
    absl::StatusOr<std::string> content = host_.ReadFile(path, view);
    if (content.ok()) {
      if (!live() && IsTruncatedFile(path, *content)) saw_excerpt_.store(true);
      Note(*content);
    }
    return content;
  }
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                host::View view) const override {
    return Told(host_.Glob(pattern, view));
  }
  absl::StatusOr<host::Space> SpaceAt(absl::string_view target, host::View view) const override {
    return Told(host_.SpaceAt(target, view));
  }
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override {
    return Told(host_.JobEnvironment());
  }
  absl::StatusOr<std::vector<host::JobLog>> JobLogs() const override;
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 host::View view) const override {
    return host_.Captured(prefix, view);
  }

 private:
  absl::StatusOr<host::CommandResult> Noted(absl::StatusOr<host::CommandResult> result) const {
    if (!result.ok()) return result;
    if (result->excerpt || (!live() && IsTruncated(result->out))) saw_excerpt_.store(true);
    // A nonzero exit code counts as content.
    if (result->exit_code != 0) told_.store(true);
    Note(result->out);
    Note(result->err);
    return result;
  }

  template <typename Answer>
  absl::StatusOr<Answer> Told(absl::StatusOr<Answer> answer) const {
    if (answer.ok()) told_.store(true);
    return answer;
  }

  void Note(absl::string_view text) const {
    read_.store(true);
    if (TellsSomething(text)) told_.store(true);
  }

  static bool TellsSomething(absl::string_view text);

  const host::Host& host_;
  mutable std::atomic<bool> saw_excerpt_ = false;
  mutable std::atomic<bool> read_ = false;
  mutable std::atomic<bool> told_ = false;
};

// Removes from a check's output what an excerpt cannot show: that something is missing, and the
// total number of things. Findings on a device, and events, stay.
void DropWhatNoExcerptTells(knowledge::CheckOutput& output);

// A check that found no fault in an excerpt has not passed.
void NeverPassByExcerpt(galen::v1::CheckResult& result);
// Nor has one that saw nothing.
void NeverPassByNothing(galen::v1::CheckResult& result);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXCERPT_WATCH_H_
