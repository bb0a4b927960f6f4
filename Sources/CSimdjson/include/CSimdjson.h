/// A C face over simdjson's first stage, which finds the tokens of a JSON text and checks its
/// UTF-8, and over a second stage of our own, which checks the grammar (RFC 8259) and writes a
/// tape. simdjson's own tape has no source positions; ours is made of them, so that any value can
/// be sent on byte for byte, numbers of any size pass, and no string is copied.
///
/// No exception crosses this face. A parser belongs to one thread at a time.
#ifndef HELIOGRAPH_CSIMDJSON_H
#define HELIOGRAPH_CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The kind of a tape entry, bits 56-59 of its second word.
enum {
    hg_json_null = 0,
    hg_json_false = 1,
    hg_json_true = 2,
    /// A number without fraction and exponent, of any size.
    hg_json_integer = 3,
    hg_json_number = 4,
    hg_json_string = 5,
    /// A string with at least one backslash.
    hg_json_escaped_string = 6,
    hg_json_array = 7,
    hg_json_object = 8,
};

enum {
    hg_json_ok = 0,
    hg_json_error_memory = 1,
    /// Longer than `max_byte_count`.
    hg_json_error_too_large = 2,
    hg_json_error_utf8 = 3,
    hg_json_error_empty = 4,
    hg_json_error_unclosed_string = 5,
    /// A byte below 0x20 inside a string.
    hg_json_error_control_character = 6,
    hg_json_error_syntax = 7,
    hg_json_error_depth = 8,
    hg_json_error_number = 9,
    /// An unknown escape, or half of a surrogate pair.
    hg_json_error_escape = 10,
    hg_json_error_trailing = 11,
    /// The tape is too short; `entry_count` says how many entries would do.
    hg_json_error_tape = 12,
    hg_json_error_internal = 13,
};

/// The longest text that any parser takes: counts and indexes must fit the tape's words.
enum { hg_json_longest_text = 0xFFFFFF };

/// The offset of an error that has none.
#define HG_JSON_NO_OFFSET UINT32_MAX

typedef struct hg_json_parser hg_json_parser;

typedef struct {
    int32_t status;
    /// Where in the text, in bytes, or `HG_JSON_NO_OFFSET`.
    uint32_t offset;
    uint32_t entry_count;
} hg_json_result;

/// NULL without memory, or if the CPU is not supported.
hg_json_parser *hg_json_parser_new(uint32_t max_byte_count, uint32_t max_depth);
void hg_json_parser_free(hg_json_parser *parser);

/// Parses one document and writes two words per value and per member name, in source order:
///
/// word 0: start of the source bytes (bits 0-31), their end (bits 32-63), quotes included;
/// word 1: for strings their content's hash, else the index of the entry behind the value's last
///         (bits 0-31); for containers the number of members or items (bits 32-55); the kind.
hg_json_result hg_json_parse(
    hg_json_parser *parser,
    const uint8_t *bytes,
    size_t byte_count,
    uint64_t *tape,
    size_t entry_capacity
);

/// The hash of a string's content as word 1 of its entry has it; another one in each process, so
/// that nobody can choose texts with the same.
uint32_t hg_json_hash(const uint8_t *bytes, size_t byte_count);

/// Whether two texts of 8 to 16 bytes are equal: two words, which overlap, cover each.
static inline bool hg_json_equal_words(const uint8_t *left, const uint8_t *right, size_t byte_count) {
    uint64_t first, other_first, last, other_last;
    memcpy(&first, left, sizeof first);
    memcpy(&other_first, right, sizeof other_first);
    memcpy(&last, left + byte_count - sizeof last, sizeof last);
    memcpy(&other_last, right + byte_count - sizeof other_last, sizeof other_last);
    return first == other_first && last == other_last;
}

/// Whether `byte_count` bytes are the same in two texts.
static inline bool hg_json_equal(
    const uint8_t *left,
    size_t left_start,
    const uint8_t *right,
    size_t right_start,
    size_t byte_count
) {
    left += left_start;
    right += right_start;
    // Most names are that long, and a call costs more than to compare them.
    if (byte_count >= 8 && byte_count <= 16) return hg_json_equal_words(left, right, byte_count);
    return byte_count == 0 || memcmp(left, right, byte_count) == 0;
}

/// How many bytes at the beginning of a text are members of a set: 256 bytes from `start` on, 1 for
/// each that is.
static inline size_t hg_json_member_count(
    const uint8_t *text,
    size_t byte_count,
    const uint8_t *members,
    size_t start
) {
    members += start;
    size_t count = 0;
    while (byte_count - count >= 4
           && (members[text[count]] & members[text[count + 1]] & members[text[count + 2]]
               & members[text[count + 3]])) {
        count += 4;
    }
    while (count < byte_count && members[text[count]]) count++;
    return count;
}

/// A document as `hg_json_parse` wrote it; the pointers are borrowed for one call.
typedef struct {
    const uint64_t *tape;
    size_t entry_count;
    const uint8_t *source;
    size_t byte_count;
} hg_json_view;

/// A name that is looked for: its hash, and where its bytes stand among those of all.
typedef struct {
    uint32_t hash;
    uint32_t start;
    uint32_t byte_count;
} hg_json_name;

/// At most 64 names. A slot holds the position of one, or -1; they are found by hash, with linear
/// probing, and at least one slot is free.
typedef struct {
    const hg_json_name *names;
    const uint8_t *bytes;
    const int8_t *slots;
    /// The number of slots, a power of two, less one.
    uint32_t mask;
} hg_json_names;

/// Finds which names an object has: a bit for each, and in `places`, which has room for all, the
/// tape index of its value.
///
/// Returns false where the answer is not that simple: a name stands twice, one that may be meant
/// has escapes, or there is no object at that index. Whatever the index, nothing outside of the
/// document is read.
bool hg_json_find_members(
    const hg_json_view *document,
    size_t object,
    const hg_json_names *names,
    uint32_t *places,
    uint64_t *found
);

/// The first object from entry `index` on and before `end`, of which two names may have the same hash;
/// `end` if there is none. Whatever the indexes, nothing outside of the document is read.
size_t hg_json_next_suspect(const hg_json_view *document, size_t index, size_t end);

/// Resolves the escapes between a string's quotes; `output` has room for `byte_count` bytes.
///
/// Returns the number of bytes written, or SIZE_MAX at a bad escape.
size_t hg_json_unescape(const uint8_t *bytes, size_t byte_count, uint8_t *output);

/// The nearest double to a JSON number's text; infinity beyond the range, zero below it.
double hg_json_double(const uint8_t *bytes, size_t byte_count);

#ifdef __cplusplus
}
#endif

#endif
