#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_RDMA_FAKE_VERBS_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_RDMA_FAKE_VERBS_H_

#include <cstddef>

// The faults of the adapter in the scripted libibverbs. It has one device, "fake0", whose queue
// pairs reach each other within the process.
struct FakeVerbsScript {
  bool port_down = false;
  bool datagrams_only = false;  // has no reliable connected queue pairs, as EFA
  bool corrupts = false;        // flips a bit of the data written to the beginning of the target
  bool swallows = false;        // takes writes and never answers
  int fails_after = -1;         // writes until one fails with "transport retry counter exceeded"
  // Bytes that may be locked at a time: registered memory, and a page for each queue.
  std::size_t most_locked = ~std::size_t{0};
};

extern "C" {
// Sets the script; thread-safe.
void fake_verbs_set(const FakeVerbsScript* script);
// The number of open contexts, domains, regions and queues.
int fake_verbs_open();
}

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_RDMA_FAKE_VERBS_H_
