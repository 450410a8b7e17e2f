#ifndef SERVICES_CONCLUSION_REPORT_WRITER_H_
#define SERVICES_CONCLUSION_REPORT_WRITER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/reasoner.h"
#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// Writes the report, the ticket and the reasoning graph of a diagnosis. The reasoner says which
// confirmed cause is the primary one and which are its effects; the rest is made from the
// hypotheses, the evidence and the knowledge. The same request gives the same report: it holds no
// times. Thread-safe. Errors: FAILED_PRECONDITION: the reasoner names a cause that is not
// confirmed, or cites evidence that does not exist; the reasoner's own.
class ReportWriter {
 public:
  // Both must outlive the writer.
  ReportWriter(const knowledge::Knowledge& knowledge, const reasoner::Reasoner& reasoner)
      : knowledge_(knowledge), reasoner_(reasoner) {}

  absl::StatusOr<v1::ConcludeResponse> Conclude(const v1::ConcludeRequest& request,
                                                absl::Time deadline) const;

 private:
  const knowledge::Knowledge& knowledge_;
  const reasoner::Reasoner& reasoner_;
};

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_REPORT_WRITER_H_
