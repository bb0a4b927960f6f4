/// SHA-1 (FIPS 180-4, section 6.1), with the CPU's SHA instructions if it has them.
///
/// It is only for name-based UUIDs, not for security. No memory is allocated, and no state is
/// shared.
#ifndef HELIOGRAPH_CSHA1_H
#define HELIOGRAPH_CSHA1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How blocks are hashed; all ways give the same digest.
typedef enum {
    /// In plain C.
    hg_sha1_portable = 0,
    /// With the x86 SHA extensions (Intel SDM, volume 2, SHA1RNDS4 and related instructions).
    hg_sha1_x86 = 1,
} hg_sha1_way;

/// The fastest way that this CPU supports.
hg_sha1_way hg_sha1_fastest_way(void);

/// A message that is being hashed.
typedef struct {
    uint32_t state[5];
    hg_sha1_way way;
    uint64_t byte_count;
    /// The bytes of the block that is not full yet.
    uint8_t block[64];
} hg_sha1;

/// Starts an empty message; the CPU must support `way`.
void hg_sha1_begin(hg_sha1 *message, hg_sha1_way way);

/// Appends bytes; `bytes` may be NULL if there are none.
void hg_sha1_append(hg_sha1 *message, const uint8_t *bytes, size_t byte_count);

/// Appends bytes, with ASCII A-Z converted to a-z.
void hg_sha1_append_lowercased(hg_sha1 *message, const uint8_t *bytes, size_t byte_count);

/// Ends the message; `state` then holds the words of its digest.
void hg_sha1_end(hg_sha1 *message);

#endif
