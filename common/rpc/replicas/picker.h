#ifndef COMMON_RPC_REPLICAS_PICKER_H_
#define COMMON_RPC_REPLICAS_PICKER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::rpc {

// Chooses the replica of a service for the next call: among healthy ones the one with the fewest
// calls in flight, among equals each in its turn. A replica whose health is unknown gets a call
// only when none is healthy, and an unhealthy one only when there is no other: an answer is worth a
// try.
//
// A replica is put aside when a call or a health check does not reach it, or when it says that it
// does not serve. It comes back when a health check that began after that finds it serving. One
// that calls put aside n times in a row, without an answer between them, needs n passed checks in a
// row (8 at most): a replica that passes checks and drops calls gets few calls. Without health
// checks (one replica alone), an answered call brings it back.
//
// Pure: no time, no threads, no network. Not thread-safe.
class Picker {
 public:
  enum class Health {
    kUnknown,      // not heard of yet
    kServing,      //
    kUnreachable,  // put aside
    kNotServing,   // it said so: it starts up, or drains
  };
  // Passed from the begin of a call or a check to its end, so that an older observation does not
  // override a newer one.
  using Ticket = std::int64_t;

  // These are the replicas now. Those that stay keep what is known of them.
  void Set(const std::vector<std::string>& addresses);

  // The replica for the next call, but not `not_this`, where a first attempt failed; nothing when
  // there is no other.
  std::optional<std::string> Pick(absl::string_view not_this = "");

  // A call to it begins, and ends; `reached`: the replica answered, even with an error.
  Ticket Began(absl::string_view address);
  void Ended(absl::string_view address, Ticket ticket, bool reached);

  // A health check begins, and ends.
  Ticket CheckBegan(absl::string_view address) const;
  void CheckEnded(absl::string_view address, Ticket ticket, Health found);

  Health HealthOf(absl::string_view address) const;
  std::size_t size() const { return replicas_.size(); }
  // Whether any is put aside.
  bool AnyAside() const;

 private:
  struct Replica {
    Health health = Health::kUnknown;
    std::int64_t put_aside = 0;  // how often
    int dropped_calls = 0;       // how often by calls, in a row
    int passed_checks = 0;       // since it was put aside, in a row
    std::int64_t calls = 0;      // under way
    std::int64_t last_turn = 0;
  };
  void PutAside(Replica& replica, Health health);

  std::map<std::string, Replica, std::less<>> replicas_;
  std::int64_t turn_ = 0;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_REPLICAS_PICKER_H_
