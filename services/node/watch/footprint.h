#ifndef SERVICES_NODE_WATCH_FOOTPRINT_H_
#define SERVICES_NODE_WATCH_FOOTPRINT_H_

namespace galen::node {

// For a process that idles on a machine that others pay for. Both may be called from any thread.

// Call before threads are created: keeps allocation arenas few, so that freed memory can be
// returned.
void KeepMemorySmall();

// Releases memory that only the start, or a run of checks, needed: freed memory, and the pages of
// code and constants that are mapped from files. Pages that are used again come back from the
// kernel's cache, one by one. Costs a few milliseconds.
void ReleaseUnusedMemory();

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_FOOTPRINT_H_
