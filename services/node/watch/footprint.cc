#include "services/node/watch/footprint.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace galen::node {
namespace {

// True when the loader had to write into segments that are not writable, which must stay then.
bool HasTextRelocations(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

int DropReadOnlyPages(dl_phdr_info* object, std::size_t, void*) {
  if (HasTextRelocations(*object)) return 0;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    // Segments that are writable, if only until relocated, hold what is in no file.
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    const std::uintptr_t first = begin & ~(page - 1);
    const std::uintptr_t last = (begin + header.p_memsz + page - 1) & ~(page - 1);
    // The kernel's own object (vdso) refuses, and so much the better.
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void KeepMemorySmall() {
  mallopt(M_ARENA_MAX, 2);
  // The default grows with what was freed once; from then on large blocks come from the heap.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

void ReleaseUnusedMemory() {
  malloc_trim(0);
  dl_iterate_phdr(DropReadOnlyPages, nullptr);
}

}  // namespace galen::node
