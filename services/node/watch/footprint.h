#ifndef SERVICES_NODE_WATCH_FOOTPRINT_H_
#define SERVICES_NODE_WATCH_FOOTPRINT_H_

namespace galen::node {

// For a process that idles on a machine that others pay for. Both may be called from any thread.

// Before threads are made: few allocation arenas, so that freed memory can be given back.
void KeepMemorySmall();

// Gives memory back that only the start, or a run of checks, needed: what was freed, and the pages
// of code and constants that are mapped from files. What is used again comes back from the kernel's
// cache, page by page. Costs a few milliseconds.
void ReleaseUnusedMemory();

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_FOOTPRINT_H_
