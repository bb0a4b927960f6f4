#include "CSHA1.h"

#include <string.h>

// MARK: Plain C

static uint32_t rotated(uint32_t value, int count) {
    return value << count | value >> (32 - count);
}

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8
        | (uint32_t)bytes[3];
}

/// The function and the constant of a round (FIPS 180-4, sections 4.1.1 and 4.2.1).
static uint32_t mixed(int round, uint32_t b, uint32_t c, uint32_t d) {
    if (round < 20) return ((b & c) | (~b & d)) + 0x5A827999;
    if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
    return (b ^ c ^ d) + 0xCA62C1D6;
}

static void hash_portable(uint32_t state[5], const uint8_t *bytes) {
    uint32_t words[80];
    for (int index = 0; index < 16; index++) words[index] = big_endian(bytes + 4 * index);
    for (int index = 16; index < 80; index++) {
        const uint32_t sum =
            words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
        words[index] = rotated(sum, 1);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int round = 0; round < 80; round++) {
        const uint32_t next = rotated(a, 5) + mixed(round, b, c, d) + e + words[round];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

// MARK: x86

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

/// Four rounds; each vector holds four words, with the first in the highest lane.
///
/// `group` counts from 0 to 19. `words` is the message schedule's last 16 words, in a ring; `e` is
/// the vector `abcd` of four rounds ago, from which the instruction takes what `e` has become.
#define FOUR_ROUNDS(group)                                                                         \
    do {                                                                                           \
        __m128i *const word = &words[(group) % 4];                                                 \
        if ((group) >= 4) {                                                                        \
            const __m128i sum = _mm_xor_si128(                                                     \
                _mm_sha1msg1_epu32(*word, words[((group) + 1) % 4]),                               \
                words[((group) + 2) % 4]                                                           \
            );                                                                                     \
            *word = _mm_sha1msg2_epu32(sum, words[((group) + 3) % 4]);                             \
        }                                                                                          \
        const __m128i input =                                                                      \
            (group) == 0 ? _mm_add_epi32(e, *word) : _mm_sha1nexte_epu32(e, *word);                \
        e = abcd;                                                                                  \
        abcd = _mm_sha1rnds4_epu32(abcd, input, (group) / 5);                                      \
    } while (0)

__attribute__((target("sha,ssse3"))) static void
hash_x86(uint32_t state[5], const uint8_t *bytes) {
    const __m128i reversed = _mm_set_epi64x(0x0001020304050607, 0x08090A0B0C0D0E0F);
    const __m128i first_abcd =
        _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0x1B);
    const __m128i first_e = _mm_set_epi32((int)state[4], 0, 0, 0);
    __m128i abcd = first_abcd;
    __m128i e = first_e;
    __m128i words[4];
    for (int index = 0; index < 4; index++) {
        const __m128i loaded = _mm_loadu_si128((const __m128i *)(bytes + 16 * index));
        words[index] = _mm_shuffle_epi8(loaded, reversed);
    }
    FOUR_ROUNDS(0);
    FOUR_ROUNDS(1);
    FOUR_ROUNDS(2);
    FOUR_ROUNDS(3);
    FOUR_ROUNDS(4);
    FOUR_ROUNDS(5);
    FOUR_ROUNDS(6);
    FOUR_ROUNDS(7);
    FOUR_ROUNDS(8);
    FOUR_ROUNDS(9);
    FOUR_ROUNDS(10);
    FOUR_ROUNDS(11);
    FOUR_ROUNDS(12);
    FOUR_ROUNDS(13);
    FOUR_ROUNDS(14);
    FOUR_ROUNDS(15);
    FOUR_ROUNDS(16);
    FOUR_ROUNDS(17);
    FOUR_ROUNDS(18);
    FOUR_ROUNDS(19);
    // `nexte` leaves the sum with the first `e` in the highest lane.
    e = _mm_sha1nexte_epu32(e, first_e);
    abcd = _mm_add_epi32(abcd, first_abcd);
    _mm_storeu_si128((__m128i *)state, _mm_shuffle_epi32(abcd, 0x1B));
    state[4] = (uint32_t)_mm_cvtsi128_si32(_mm_shuffle_epi32(e, 0xFF));
}

static bool has_sha_extensions(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

#else

static void hash_x86(uint32_t state[5], const uint8_t *bytes) { hash_portable(state, bytes); }
static bool has_sha_extensions(void) { return false; }

#endif

hg_sha1_way hg_sha1_fastest_way(void) {
    return has_sha_extensions() ? hg_sha1_x86 : hg_sha1_portable;
}

// MARK: Messages

static void hash(hg_sha1 *message) {
    if (message->way == hg_sha1_x86) {
        hash_x86(message->state, message->block);
    } else {
        hash_portable(message->state, message->block);
    }
}

void hg_sha1_begin(hg_sha1 *message, hg_sha1_way way) {
    static const uint32_t first[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    memcpy(message->state, first, sizeof first);
    message->way = way;
    message->byte_count = 0;
}

/// The free bytes of the current block, but no more than wanted; always at least one.
static size_t room(const hg_sha1 *message, size_t wanted) {
    const size_t room = 64 - message->byte_count % 64;
    return room < wanted ? room : wanted;
}

/// Counts bytes that were written into the current block, and hashes it once it is full.
static void wrote(hg_sha1 *message, size_t count) {
    message->byte_count += count;
    if (message->byte_count % 64 == 0) hash(message);
}

void hg_sha1_append(hg_sha1 *message, const uint8_t *bytes, size_t byte_count) {
    while (byte_count > 0) {
        const size_t count = room(message, byte_count);
        memcpy(message->block + message->byte_count % 64, bytes, count);
        wrote(message, count);
        bytes += count;
        byte_count -= count;
    }
}

void hg_sha1_append_lowercased(hg_sha1 *message, const uint8_t *bytes, size_t byte_count) {
    while (byte_count > 0) {
        const size_t count = room(message, byte_count);
        uint8_t *const block = message->block + message->byte_count % 64;
        for (size_t index = 0; index < count; index++) {
            const uint8_t byte = bytes[index];
            block[index] = byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
        }
        wrote(message, count);
        bytes += count;
        byte_count -= count;
    }
}

void hg_sha1_end(hg_sha1 *message) {
    static const uint8_t padding[64] = {0x80};
    const uint64_t bit_count = message->byte_count * 8;
    // The last eight bytes of a block hold the length, after at least one byte of padding.
    const size_t padding_count = 64 - (message->byte_count + 8) % 64;
    hg_sha1_append(message, padding, padding_count);
    uint8_t length[8];
    for (int index = 0; index < 8; index++) {
        length[index] = (uint8_t)(bit_count >> (56 - 8 * index));
    }
    hg_sha1_append(message, length, sizeof length);
}
