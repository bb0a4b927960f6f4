#include "CSimdjson.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <simdjson.h>
#include <system_error>
#include <unistd.h>

namespace {

using Stage1 = simdjson::internal::dom_parser_implementation;

/// An object or array whose end has not been read yet.
struct Frame {
    uint32_t entry;
    uint32_t count;
    bool is_object;
};

uint64_t load(const uint8_t *bytes) noexcept {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// Nonzero if any of the eight bytes is a backslash.
uint64_t has_backslash(uint64_t word) noexcept {
    const uint64_t zeroed = word ^ 0x5C5C5C5C5C5C5C5CULL;
    return (zeroed - 0x0101010101010101ULL) & ~zeroed & 0x8080808080808080ULL;
}

__extension__ typedef unsigned __int128 Wide;

/// Both halves of a product, mixed.
uint64_t folded(uint64_t left, uint64_t right) noexcept {
    const Wide product = static_cast<Wide>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// This process's secret for hashing: without it, nobody can choose texts with the same hash.
struct HashKey {
    uint64_t even, odd, end;

    HashKey() noexcept {
        uint64_t random[3];
        if (getentropy(random, sizeof random) != 0) std::abort();
        even = random[0];
        odd = random[1];
        end = random[2];
    }
};

const HashKey key;

/// Hashes `count` bytes; reads up to 7 bytes past the end if `padded`, and looks for backslashes if
/// there may be any.
///
/// Sixteen bytes at a time, each half with a secret before the halves are multiplied, as Go's maps
/// and many others have it (wyhash). Two rows of products do not wait for each other.
template <bool padded, bool looks_for_escapes>
uint32_t scan(const uint8_t *bytes, size_t count, bool &escaped) noexcept {
    uint64_t hash = count;
    uint64_t backslashes = 0;
    size_t position = 0;
    const auto next = [&]() noexcept {
        const uint64_t word = load(bytes + position);
        position += 8;
        if (looks_for_escapes) backslashes |= has_backslash(word);
        return word;
    };
    if (count >= 32) {
        uint64_t other = count;
        do {
            const uint64_t first = next() ^ key.even, second = next() ^ key.odd;
            hash = folded(first ^ hash, second);
            const uint64_t third = next() ^ key.odd, fourth = next() ^ key.end;
            other = folded(third ^ other, fourth);
        } while (count - position >= 32);
        hash ^= other;
    }
    while (count - position >= 8) hash = folded(next() ^ key.even ^ hash, key.odd);
    const size_t rest = count - position;
    if (rest > 0) {
        uint64_t word = 0;
        if (padded) {
            word = load(bytes + position) & (~0ULL >> (64 - 8 * rest));
        } else {
            std::memcpy(&word, bytes + position, rest);
        }
        if (looks_for_escapes) backslashes |= has_backslash(word);
        hash = folded(word ^ key.even ^ hash, key.end);
    }
    escaped = backslashes != 0;
    return static_cast<uint32_t>(hash ^ hash >> 32);
}

bool is_digit(uint8_t byte) noexcept { return static_cast<uint8_t>(byte - '0') < 10; }

bool is_space(uint8_t byte) noexcept {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/// Whether the byte may follow a number, `true`, `false` or `null`.
bool ends_scalar(uint8_t byte) noexcept {
    return is_space(byte) || byte == ',' || byte == ']' || byte == '}' || byte == ':'
        || byte == '[' || byte == '{';
}

/// Four hexadecimal digits, or -1.
int32_t code_unit(const uint8_t *digits) noexcept {
    int32_t value = 0;
    for (int index = 0; index < 4; index++) {
        const uint8_t digit = digits[index];
        int32_t nibble;
        if (is_digit(digit)) {
            nibble = digit - '0';
        } else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') {
            nibble = (digit | 0x20) - 'a' + 10;
        } else {
            return -1;
        }
        value = value << 4 | nibble;
    }
    return value;
}

uint8_t *append_scalar(uint8_t *output, uint32_t scalar) noexcept {
    if (scalar < 0x80) {
        *output++ = static_cast<uint8_t>(scalar);
    } else if (scalar < 0x800) {
        *output++ = static_cast<uint8_t>(0xC0 | scalar >> 6);
        *output++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    } else if (scalar < 0x10000) {
        *output++ = static_cast<uint8_t>(0xE0 | scalar >> 12);
        *output++ = static_cast<uint8_t>(0x80 | (scalar >> 6 & 0x3F));
        *output++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    } else {
        *output++ = static_cast<uint8_t>(0xF0 | scalar >> 18);
        *output++ = static_cast<uint8_t>(0x80 | (scalar >> 12 & 0x3F));
        *output++ = static_cast<uint8_t>(0x80 | (scalar >> 6 & 0x3F));
        *output++ = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    }
    return output;
}

/// The character of a one-letter escape (RFC 8259, section 7), or 0.
uint8_t short_escape(uint8_t letter) noexcept {
    switch (letter) {
    case '"': case '\\': case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/// Reads the digits after `\u`, and a second escape if the first is half of a surrogate pair.
///
/// Returns the position after them, or NULL if they are not valid.
const uint8_t *
read_unicode(const uint8_t *digits, const uint8_t *end, uint32_t &scalar) noexcept {
    if (end - digits < 4) return nullptr;
    const int32_t first = code_unit(digits);
    digits += 4;
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF)) return nullptr;
    scalar = static_cast<uint32_t>(first);
    if (first < 0xD800 || first > 0xDBFF) return digits;
    if (end - digits < 6 || digits[0] != '\\' || digits[1] != 'u') return nullptr;
    const int32_t second = code_unit(digits + 2);
    if (second < 0xDC00 || second > 0xDFFF) return nullptr;
    scalar = 0x10000 + ((scalar - 0xD800) << 10 | (static_cast<uint32_t>(second) - 0xDC00));
    return digits + 6;
}

/// The offset of the first byte that is not UTF-8 (RFC 3629); call it only if there is one.
uint32_t first_bad_utf8(const uint8_t *bytes, size_t count) noexcept {
    size_t position = 0;
    while (position < count) {
        const uint8_t lead = bytes[position];
        size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (length == 0 || lead > 0xF4 || position + length > count) break;
        const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (length > 1 && (bytes[position + 1] < low || bytes[position + 1] > high)) break;
        if (length > 2 && (bytes[position + 2] & 0xC0) != 0x80) break;
        if (length > 3 && (bytes[position + 3] & 0xC0) != 0x80) break;
        position += length;
    }
    return position < count ? static_cast<uint32_t>(position) : HG_JSON_NO_OFFSET;
}

}  // namespace

struct hg_json_parser {
    std::unique_ptr<Stage1> stage1;
    /// The text, followed by `SIMDJSON_PADDING` spaces, because simdjson reads past the end.
    std::unique_ptr<uint8_t[]> text;
    std::unique_ptr<Frame[]> frames;
    /// The buffer in which escapes are resolved before a string is hashed.
    std::unique_ptr<uint8_t[]> scratch;
    size_t capacity = 0;
    uint32_t max_byte_count = 0;
    uint32_t max_depth = 0;

    bool reserve(size_t byte_count) noexcept;
};

bool hg_json_parser::reserve(size_t byte_count) noexcept {
    if (byte_count <= capacity) return true;
    size_t wanted = 4096;
    while (wanted < byte_count) wanted *= 2;
    std::unique_ptr<uint8_t[]> new_text(
        new (std::nothrow) uint8_t[wanted + simdjson::SIMDJSON_PADDING]
    );
    std::unique_ptr<uint8_t[]> new_scratch(new (std::nothrow) uint8_t[wanted]);
    if (!new_text || !new_scratch) return false;
    capacity = 0;
    if (stage1->set_capacity(wanted) != simdjson::SUCCESS) return false;
    text = std::move(new_text);
    scratch = std::move(new_scratch);
    capacity = wanted;
    return true;
}

namespace {

/// The second stage: one pass over the token positions that the first stage found.
class Grammar {
public:
    Grammar(const hg_json_parser &parser, size_t count, uint64_t *tape) noexcept
        : text(parser.text.get()), text_end(static_cast<uint32_t>(count)),
          tokens(parser.stage1->structural_indexes.get()),
          token_count(parser.stage1->n_structural_indexes), frames(parser.frames.get()),
          max_depth(parser.max_depth), scratch(parser.scratch.get()), tape(tape),
          may_have_escapes(std::memchr(text, '\\', count) != nullptr) {}

    hg_json_result run() noexcept {
        bool going = value();
        while (going && depth > 0) going = behind_value();
        if (going && token < token_count) fail(hg_json_error_trailing, position());
        return {status, offset, entries};
    }

private:
    const uint8_t *text;
    const uint32_t text_end;
    const uint32_t *tokens;
    const uint32_t token_count;
    Frame *frames;
    const uint32_t max_depth;
    uint8_t *scratch;
    uint64_t *tape;
    /// Most documents have no backslash at all, and one scan of the whole text is cheap.
    const bool may_have_escapes;
    uint32_t token = 0;
    uint32_t depth = 0;
    uint32_t entries = 0;
    int32_t status = hg_json_ok;
    uint32_t offset = HG_JSON_NO_OFFSET;

    uint32_t position() const noexcept {
        return token < token_count ? tokens[token] : text_end;
    }

    /// The first byte of the current token; at the end a space, which no rule accepts.
    uint8_t current() const noexcept { return text[position()]; }

    bool fail(int32_t error, uint32_t where) noexcept {
        status = error;
        offset = where;
        return false;
    }

    void write(uint32_t start, uint32_t end, uint32_t low, uint64_t kind) noexcept {
        tape[2 * size_t(entries)] = uint64_t(end) << 32 | start;
        tape[2 * size_t(entries) + 1] = kind << 56 | low;
        entries += 1;
    }

    /// Reads the value at the current token; containers stay open after their first value.
    bool value() noexcept {
        for (;;) {
            const uint32_t start = position();
            switch (current()) {
            case '"': return string();
            case '{':
                if (!open(start, true)) return false;
                if (current() == '}') return close();
                if (!name()) return false;
                continue;
            case '[':
                if (!open(start, false)) return false;
                if (current() == ']') return close();
                continue;
            case 't': return word(start, "true", 4, hg_json_true);
            case 'f': return word(start, "false", 5, hg_json_false);
            case 'n': return word(start, "null", 4, hg_json_null);
            case '-': case '0': case '1': case '2': case '3': case '4':
            case '5': case '6': case '7': case '8': case '9': return number(start);
            default: return fail(hg_json_error_syntax, start);
            }
        }
    }

    /// A value inside a container has ended: another one, or the container's end.
    bool behind_value() noexcept {
        Frame &frame = frames[depth - 1];
        frame.count += 1;
        const uint8_t byte = current();
        if (byte == ',') {
            token += 1;
            if (frame.is_object && !name()) return false;
            return value();
        }
        if (byte == (frame.is_object ? '}' : ']')) return close();
        return fail(hg_json_error_syntax, position());
    }

    bool open(uint32_t start, bool is_object) noexcept {
        if (depth == max_depth) return fail(hg_json_error_depth, start);
        frames[depth] = {entries, 0, is_object};
        depth += 1;
        token += 1;
        write(start, 0, 0, is_object ? hg_json_object : hg_json_array);
        return true;
    }

    bool close() noexcept {
        depth -= 1;
        const Frame &frame = frames[depth];
        uint64_t *words = tape + 2 * size_t(frame.entry);
        words[0] |= uint64_t(position() + 1) << 32;
        words[1] |= uint64_t(frame.count) << 32 | entries;
        token += 1;
        return true;
    }

    bool name() noexcept {
        if (current() != '"') return fail(hg_json_error_syntax, position());
        if (!string()) return false;
        if (current() != ':') return fail(hg_json_error_syntax, position());
        token += 1;
        return true;
    }

    /// Stage 1 found every string closed, and nothing but space is left before the next token:
    /// the closing quote is found from behind.
    bool string() noexcept {
        const uint32_t start = position();
        token += 1;
        uint32_t end = position();
        while (text[end - 1] != '"') end -= 1;
        bool escaped = false;
        const uint8_t *content = text + start + 1;
        const size_t count = end - start - 2;
        uint32_t hash = may_have_escapes ? scan<true, true>(content, count, escaped)
                                         : scan<true, false>(content, count, escaped);
        if (escaped) {
            const size_t resolved = hg_json_unescape(content, count, scratch);
            if (resolved == SIZE_MAX) return fail(hg_json_error_escape, start);
            hash = hg_json_hash(scratch, resolved);
        }
        write(start, end, hash, escaped ? hg_json_escaped_string : hg_json_string);
        return true;
    }

    bool word(uint32_t start, const char *word, uint32_t count, uint64_t kind) noexcept {
        if (std::memcmp(text + start, word, count) != 0 || !ends_scalar(text[start + count])) {
            return fail(hg_json_error_syntax, start);
        }
        token += 1;
        write(start, start + count, entries + 1, kind);
        return true;
    }

    bool number(uint32_t start) noexcept {
        const uint8_t *byte = text + start;
        if (*byte == '-') byte += 1;
        if (!is_digit(*byte)) return fail(hg_json_error_number, start);
        if (*byte == '0') {
            byte += 1;
        } else {
            while (is_digit(*byte)) byte += 1;
        }
        uint64_t kind = hg_json_integer;
        if (*byte == '.') {
            kind = hg_json_number;
            byte += 1;
            if (!is_digit(*byte)) return fail(hg_json_error_number, start);
            while (is_digit(*byte)) byte += 1;
        }
        if ((*byte | 0x20) == 'e') {
            kind = hg_json_number;
            byte += 1;
            if (*byte == '+' || *byte == '-') byte += 1;
            if (!is_digit(*byte)) return fail(hg_json_error_number, start);
            while (is_digit(*byte)) byte += 1;
        }
        if (!ends_scalar(*byte)) return fail(hg_json_error_number, start);
        token += 1;
        write(start, static_cast<uint32_t>(byte - text), entries + 1, kind);
        return true;
    }
};

int32_t status_of(simdjson::error_code error) noexcept {
    switch (error) {
    case simdjson::SUCCESS: return hg_json_ok;
    case simdjson::EMPTY: return hg_json_error_empty;
    case simdjson::UTF8_ERROR: return hg_json_error_utf8;
    case simdjson::UNESCAPED_CHARS: return hg_json_error_control_character;
    case simdjson::UNCLOSED_STRING: return hg_json_error_unclosed_string;
    case simdjson::MEMALLOC: return hg_json_error_memory;
    default: return hg_json_error_internal;
    }
}

}  // namespace

extern "C" hg_json_parser *hg_json_parser_new(uint32_t max_byte_count, uint32_t max_depth) {
    std::unique_ptr<hg_json_parser> parser(new (std::nothrow) hg_json_parser);
    if (!parser) return nullptr;
    parser->max_byte_count =
        max_byte_count < hg_json_longest_text ? max_byte_count : hg_json_longest_text;
    parser->max_depth = max_depth;
    parser->frames.reset(new (std::nothrow) Frame[size_t(max_depth) + 1]);
    const auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(
        simdjson::SIMDJSON_PADDING, 1, parser->stage1
    );
    if (error != simdjson::SUCCESS || !parser->frames || !parser->reserve(4096)) return nullptr;
    return parser.release();
}

extern "C" void hg_json_parser_free(hg_json_parser *parser) { delete parser; }

extern "C" hg_json_result hg_json_parse(
    hg_json_parser *parser,
    const uint8_t *bytes,
    size_t byte_count,
    uint64_t *tape,
    size_t entry_capacity
) {
    hg_json_result result = {hg_json_ok, HG_JSON_NO_OFFSET, 0};
    if (byte_count > parser->max_byte_count) {
        result.status = hg_json_error_too_large;
        return result;
    }
    if (byte_count == 0) {
        result.status = hg_json_error_empty;
        return result;
    }
    if (!parser->reserve(byte_count)) {
        result.status = hg_json_error_memory;
        return result;
    }
    uint8_t *text = parser->text.get();
    std::memcpy(text, bytes, byte_count);
    std::memset(text + byte_count, ' ', simdjson::SIMDJSON_PADDING);
    const auto error =
        parser->stage1->stage1(text, byte_count, simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS) {
        // Stage 1 does not distinguish a stray control character from an invalid byte sequence.
        const uint32_t bad = first_bad_utf8(text, byte_count);
        result.status = bad == HG_JSON_NO_OFFSET ? status_of(error) : int(hg_json_error_utf8);
        result.offset = bad;
        return result;
    }
    result.entry_count = parser->stage1->n_structural_indexes;
    if (result.entry_count > entry_capacity) {
        result.status = hg_json_error_tape;
        return result;
    }
    return Grammar(*parser, byte_count, tape).run();
}

extern "C" uint32_t hg_json_hash(const uint8_t *bytes, size_t byte_count) {
    bool escaped = false;
    return scan<false, false>(bytes, byte_count, escaped);
}

extern "C" size_t hg_json_unescape(const uint8_t *bytes, size_t byte_count, uint8_t *output) {
    const uint8_t *const end = bytes + byte_count;
    uint8_t *const first = output;
    while (bytes < end) {
        if (*bytes != '\\') {
            *output++ = *bytes++;
            continue;
        }
        bytes += 1;
        if (bytes == end) return SIZE_MAX;
        const uint8_t letter = *bytes++;
        if (letter == 'u') {
            uint32_t scalar = 0;
            bytes = read_unicode(bytes, end, scalar);
            if (!bytes) return SIZE_MAX;
            output = append_scalar(output, scalar);
        } else {
            const uint8_t plain = short_escape(letter);
            if (plain == 0) return SIZE_MAX;
            *output++ = plain;
        }
    }
    return static_cast<size_t>(output - first);
}

namespace {

/// The decimal exponent of a nonzero JSON number written as 0.d... times a power of ten, d not 0.
///
/// The number after `e` is only part of it: with many digits before or after the point, its sign
/// does not decide. It is limited to 10^12 of either sign, which no number of digits can offset.
int64_t decimal_exponent(const char *next, const char *end) noexcept {
    int64_t exponent = 0;
    bool has_begun = false;
    bool is_fraction = false;
    for (; next < end && (*next | 0x20) != 'e'; next++) {
        if (*next == '.') is_fraction = true;
        if (*next < '0' || *next > '9') continue;
        if (*next != '0') has_begun = true;
        if (has_begun != is_fraction) exponent += is_fraction ? -1 : 1;
    }
    if (next == end) return exponent;
    next++;
    const bool is_negative = next < end && *next == '-';
    int64_t written = 0;
    for (; next < end; next++) {
        if (*next < '0' || *next > '9' || written >= 1000000000000) continue;
        written = written * 10 + (*next - '0');
    }
    return exponent + (is_negative ? -written : written);
}

}  // namespace

extern "C" double hg_json_double(const uint8_t *bytes, size_t byte_count) {
    const char *first = reinterpret_cast<const char *>(bytes);
    double value = 0;
    const auto result = std::from_chars(first, first + byte_count, value);
    if (result.ec != std::errc::result_out_of_range) return value;
    // from_chars does not change the value in this case.
    const bool is_negative = byte_count > 0 && first[0] == '-';
    const bool is_large = decimal_exponent(first, first + byte_count) > 0;
    const double magnitude = is_large ? std::numeric_limits<double>::infinity() : 0;
    return is_negative ? -magnitude : magnitude;
}

namespace {

/// The second word of a tape entry, as `hg_json_parse` writes it.
struct Shape {
    uint64_t word;

    uint64_t kind() const noexcept { return word >> 56; }
    bool is_string() const noexcept {
        return kind() == hg_json_string || kind() == hg_json_escaped_string;
    }
    uint32_t hash() const noexcept { return static_cast<uint32_t>(word); }
    size_t count() const noexcept { return word >> 32 & 0xFFFFFF; }
    /// The index after the value at `index`.
    size_t next(size_t index) const noexcept {
        return is_string() ? index + 1 : static_cast<uint32_t>(word);
    }
};

/// Whether a string without escapes is a name.
bool is_equal(
    const hg_json_view &document,
    uint64_t span,
    const hg_json_name &name,
    const uint8_t *bytes
) noexcept {
    const size_t start = static_cast<uint32_t>(span);
    const size_t end = span >> 32;
    return end <= document.byte_count && end == start + name.byte_count + 2
        && hg_json_equal(document.source, start + 1, bytes, name.start, name.byte_count);
}

}  // namespace

extern "C" size_t hg_json_next_suspect(const hg_json_view *document, size_t index, size_t end) {
    const uint64_t *tape = document->tape;
    const size_t entries = end < document->entry_count ? end : document->entry_count;
    for (; index < entries; index++) {
        const Shape container = {tape[2 * index + 1]};
        if (container.kind() != hg_json_object) continue;
        uint64_t seen = 0;
        size_t member = index + 1;
        for (size_t remaining = container.count(); remaining > 0; remaining--) {
            if (member + 1 >= document->entry_count) return index;
            const Shape name = {tape[2 * member + 1]};
            const Shape value = {tape[2 * member + 3]};
            const uint64_t bit = uint64_t(1) << (name.hash() & 63);
            if (seen & bit) return index;
            seen |= bit;
            member = value.next(member + 1);
        }
    }
    return end;
}

extern "C" bool hg_json_find_members(
    const hg_json_view *document,
    size_t object,
    const hg_json_names *names,
    uint32_t *places,
    uint64_t *found
) {
    const uint64_t *tape = document->tape;
    if (object >= document->entry_count) return false;
    const Shape container = {tape[2 * object + 1]};
    if (container.kind() != hg_json_object) return false;
    uint64_t bits = 0;
    size_t index = object + 1;
    for (size_t remaining = container.count(); remaining > 0; remaining--) {
        if (index + 1 >= document->entry_count) return false;
        const Shape name = {tape[2 * index + 1]};
        const Shape value = {tape[2 * index + 3]};
        for (uint32_t slot = name.hash() & names->mask; names->slots[slot] >= 0;
             slot = (slot + 1) & names->mask) {
            const uint32_t position = static_cast<uint32_t>(names->slots[slot]);
            const hg_json_name &candidate = names->names[position];
            if (candidate.hash != name.hash()) continue;
            if (name.kind() != hg_json_string) return false;
            if (!is_equal(*document, tape[2 * index], candidate, names->bytes)) continue;
            const uint64_t bit = uint64_t(1) << position;
            if (bits & bit) return false;
            bits |= bit;
            places[position] = static_cast<uint32_t>(index + 1);
            break;
        }
        index = value.next(index + 1);
    }
    *found = bits;
    return true;
}
