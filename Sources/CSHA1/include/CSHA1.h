/// SHA-1 (FIPS 180-4, 6.1), by the CPU's own instructions where it has them.
///
/// It is for name-based UUIDs alone and guards nothing. No memory is allocated, and no state is
/// shared.
#ifndef HELIOGRAPH_CSHA1_H
#define HELIOGRAPH_CSHA1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How blocks are hashed; every way gives the same digest.
typedef enum {
    /// In plain C.
    hg_sha1_portable = 0,
    /// By the x86 SHA extensions (Intel SDM, volume 2, SHA1RNDS4 and its kin).
    hg_sha1_x86 = 1,
} hg_sha1_way;

/// The fastest way that this CPU knows.
hg_sha1_way hg_sha1_fastest_way(void);

/// A message that is being hashed.
typedef struct {
    uint32_t state[5];
    hg_sha1_way way;
    uint64_t byte_count;
    /// The bytes of the block that is not yet full.
    uint8_t block[64];
} hg_sha1;

/// An empty message; `way` must be one that the CPU knows.
void hg_sha1_begin(hg_sha1 *message, hg_sha1_way way);

/// Appends bytes; `bytes` may be NULL where there are none.
void hg_sha1_append(hg_sha1 *message, const uint8_t *bytes, size_t byte_count);

/// Appends bytes, A-Z of ASCII as a-z.
void hg_sha1_append_lowercased(hg_sha1 *message, const uint8_t *bytes, size_t byte_count);

/// Ends the message; its digest is `state`, a word at a time.
void hg_sha1_end(hg_sha1 *message);

#endif
