/// A C interface to a JSON parser with two stages.
///
/// The first stage is simdjson's: it finds the tokens and checks the UTF-8. The second is our own:
/// it checks the grammar (RFC 8259) and writes a tape of source positions, which simdjson's tape
/// does not have. With them any value can be sent on byte for byte, numbers may have any size, and
/// no string is copied.
///
/// No exception leaves these functions. A parser belongs to one thread at a time.
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
    /// A number of any size, without fraction and exponent.
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
    /// The tape is too short; `entry_count` is the number of entries needed.
    hg_json_error_tape = 12,
    hg_json_error_internal = 13,
};

/// The longest text that a parser accepts: counts and indexes must fit the tape's words.
enum { hg_json_longest_text = 0xFFFFFF };

/// The `offset` of an error without a position.
#define HG_JSON_NO_OFFSET UINT32_MAX

typedef struct hg_json_parser hg_json_parser;

typedef struct {
    int32_t status;
    /// The byte offset of the error in the text, or `HG_JSON_NO_OFFSET`.
    uint32_t offset;
    uint32_t entry_count;
} hg_json_result;

/// Makes a parser; NULL without memory, or if the CPU is not supported.
hg_json_parser *hg_json_parser_new(uint32_t max_byte_count, uint32_t max_depth);
void hg_json_parser_free(hg_json_parser *parser);

/// Parses one document and writes two words per value and per member name, in source order:
///
/// word 0: start of the source bytes (bits 0-31), their end (bits 32-63), quotes included;
/// word 1: for strings the hash of their content, else the index after the value's last entry
///         (bits 0-31); for containers the number of members or items (bits 32-55); the kind.
hg_json_result hg_json_parse(
    hg_json_parser *parser,
    const uint8_t *bytes,
    size_t byte_count,
    uint64_t *tape,
    size_t entry_capacity
);

/// The hash of a string's content, as in word 1 of its entry.
///
/// It differs in each process, so that nobody can choose texts with the same hash.
uint32_t hg_json_hash(const uint8_t *bytes, size_t byte_count);

/// Whether two texts of 8 to 16 bytes are equal; two overlapping words cover each text.
static inline bool hg_json_equal_words(const uint8_t *left, const uint8_t *right, size_t byte_count) {
    uint64_t first, other_first, last, other_last;
    memcpy(&first, left, sizeof first);
    memcpy(&other_first, right, sizeof other_first);
    memcpy(&last, left + byte_count - sizeof last, sizeof last);
    memcpy(&other_last, right + byte_count - sizeof other_last, sizeof other_last);
    return first == other_first && last == other_last;
}

/// Whether `byte_count` bytes are equal in two texts.
static inline bool hg_json_equal(
    const uint8_t *left,
    size_t left_start,
    const uint8_t *right,
    size_t right_start,
    size_t byte_count
) {
    left += left_start;
    right += right_start;
    // Most names have this length, and a call of memcmp costs more than this comparison.
    if (byte_count >= 8 && byte_count <= 16) return hg_json_equal_words(left, right, byte_count);
    return byte_count == 0 || memcmp(left, right, byte_count) == 0;
}

/// The number of bytes at the start of a text that are all members of a set.
///
/// The set is 256 bytes from `start` in `members`: 1 for each member.
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

/// A document written by `hg_json_parse`; the pointers are borrowed for one call.
typedef struct {
    const uint64_t *tape;
    size_t entry_count;
    const uint8_t *source;
    size_t byte_count;
} hg_json_view;

/// A name to look up: its hash, and the position of its bytes in `hg_json_names.bytes`.
typedef struct {
    uint32_t hash;
    uint32_t start;
    uint32_t byte_count;
} hg_json_name;

/// A hash table of at most 64 names with linear probing.
///
/// A slot holds the index of a name, or -1; at least one slot is free.
typedef struct {
    const hg_json_name *names;
    const uint8_t *bytes;
    const int8_t *slots;
    /// The number of slots, a power of two, minus 1.
    uint32_t mask;
} hg_json_names;

/// Finds which of the names an object has: a bit for each in `found`, its tape index in `places`.
///
/// `places` must have room for all names. Returns false if the answer is not that simple: a name
/// occurs twice, a possible match has escapes, or there is no object at that index. With any index,
/// nothing outside the document is read.
bool hg_json_find_members(
    const hg_json_view *document,
    size_t object,
    const hg_json_names *names,
    uint32_t *places,
    uint64_t *found
);

/// The first object from `index` to before `end` in which two names may have the same hash.
///
/// Returns `end` if there is none. With any indexes, nothing outside the document is read.
size_t hg_json_next_suspect(const hg_json_view *document, size_t index, size_t end);

/// Resolves the escapes between a string's quotes; `output` needs room for `byte_count` bytes.
///
/// Returns the number of bytes written, or SIZE_MAX at a bad escape.
size_t hg_json_unescape(const uint8_t *bytes, size_t byte_count, uint8_t *output);

/// The double nearest to a JSON number; infinity if it is too large, zero if it is too small.
double hg_json_double(const uint8_t *bytes, size_t byte_count);

#ifdef __cplusplus
}
#endif

#endif
