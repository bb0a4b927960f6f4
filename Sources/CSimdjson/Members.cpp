#include "CSimdjson.h"

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
    /// The index behind a value that stands at `index`.
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
