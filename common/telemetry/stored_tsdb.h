#ifndef COMMON_TELEMETRY_STORED_TSDB_H_
#define COMMON_TELEMETRY_STORED_TSDB_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/telemetry/prometheus_client.h"
#include "common/telemetry/source.h"
#include "common/telemetry/tsdb_view.h"

namespace galen::telemetry {

struct StoredOptions {
  std::string program = "prometheus";
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";
  absl::Duration start = absl::Minutes(1);    // until it answers
  absl::Duration most_time = absl::Hours(1);  // then it is stopped, even with queries in flight
  std::int64_t memory = std::int64_t{2}
                        << 30;  // beyond which its collector works harder (GOMEMLIMIT)
};

// The data folder of a stopped or running Prometheus, read through a Prometheus of our own: on a
// free port of the loopback interface, over a view of links (tsdb_view.h), without targets to
// scrape and without compaction. It ends with this object, and with the process that holds it,
// however that ends. (Its port can be reached by all users of this machine while it runs.)
class StoredTsdb final : public Source {
 public:
  // NOT_FOUND: no data there, or no program; UNAVAILABLE: it does not start; DEADLINE_EXCEEDED,
  // CANCELLED: of `call`; and the errors of TsdbView::Make.
  static absl::StatusOr<std::unique_ptr<StoredTsdb>> Open(const std::string& directory,
                                                          const StoredOptions& options,
                                                          const Call& call);
  ~StoredTsdb() override;

  // Range of its samples. INFINITE without any.
  absl::Time first() const { return first_; }
  absl::Time last() const { return last_; }
  int port() const { return port_; }

  std::string name() const override { return name_; }
  bool evaluates() const override { return true; }
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                 const Call& call) override;
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                 const Call& call) override;
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start, absl::Time end,
                                 const Call& call) override;
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start, absl::Time end,
                                  const Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const Call& call, bool* complete) override;

 private:
  StoredTsdb(TsdbView view, std::string name) : view_(std::move(view)), name_(std::move(name)) {}

  absl::Status Start(const StoredOptions& options, const Call& call);
  absl::Status Await(const StoredOptions& options, const Call& call);
  // The exit status of its process as an error; OK while it runs.
  absl::Status Ended();

  TsdbView view_;
  const std::string name_;
  int port_ = 0;
  absl::Time first_;
  absl::Time last_;
  std::unique_ptr<PrometheusClient> client_;
  Cancellation stop_;
  Mutex mu_;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
  std::thread process_;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_STORED_TSDB_H_
