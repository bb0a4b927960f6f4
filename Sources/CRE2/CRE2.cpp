#include "CRE2.h"

#include <memory>
#include <re2/re2.h>

struct hg_re2 {
    RE2 expression;

    hg_re2(re2::StringPiece pattern, const RE2::Options &options)
        : expression(pattern, options) {}
};

namespace {

int32_t error_of(RE2::ErrorCode code) {
    switch (code) {
    case RE2::NoError: return hg_re2_ok;
    case RE2::ErrorPatternTooLarge:
    case RE2::ErrorRepeatSize: return hg_re2_error_size;
    default: return hg_re2_error_syntax;
    }
}

}  // namespace

extern "C" hg_re2 *hg_re2_new(
    const uint8_t *pattern,
    size_t byte_count,
    int64_t memory,
    int32_t *error
) {
    *error = hg_re2_error_memory;
    try {
        RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(memory);
        const re2::StringPiece text(reinterpret_cast<const char *>(pattern), byte_count);
        std::unique_ptr<hg_re2> compiled(new hg_re2(text, options));
        *error = error_of(compiled->expression.error_code());
        return compiled->expression.ok() ? compiled.release() : nullptr;
    } catch (...) {
        return nullptr;
    }
}

extern "C" void hg_re2_free(hg_re2 *expression) { delete expression; }

extern "C" size_t hg_re2_size(const hg_re2 *expression) {
    return static_cast<size_t>(expression->expression.ProgramSize());
}

extern "C" bool hg_re2_matches(const hg_re2 *expression, const uint8_t *text, size_t byte_count) {
    const re2::StringPiece piece(reinterpret_cast<const char *>(text), byte_count);
    try {
        return expression->expression.Match(
            piece, 0, piece.size(), RE2::UNANCHORED, nullptr, 0
        );
    } catch (...) {
        return false;
    }
}
