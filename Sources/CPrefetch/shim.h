#ifndef HELIOGRAPH_CPREFETCH_SHIM_H
#define HELIOGRAPH_CPREFETCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

/// Prefetches the cache lines of `byte_count` bytes that will be read soon, at least one line.
///
/// It is only a hint to the CPU: nothing is read, and the addresses need not be valid.
static inline void hg_prefetch(const void *start, size_t byte_count) {
    const char *end = (const char *)start + byte_count;
    const char *line = (const char *)((uintptr_t)start & ~(uintptr_t)63);
    do {
        __builtin_prefetch(line);
        line += 64;
    } while (line < end);
}

#endif
