#ifndef HELIOGRAPH_CPREFETCH_SHIM_H
#define HELIOGRAPH_CPREFETCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

/// Asks the CPU to fetch the cache lines of so many bytes, which will be read soon.
///
/// A hint: it reads nothing, and the addresses need not be anybody's memory. At least one line is
/// asked for.
static inline void hg_prefetch(const void *start, size_t byte_count) {
    const char *end = (const char *)start + byte_count;
    const char *line = (const char *)((uintptr_t)start & ~(uintptr_t)63);
    do {
        __builtin_prefetch(line);
        line += 64;
    } while (line < end);
}

#endif
