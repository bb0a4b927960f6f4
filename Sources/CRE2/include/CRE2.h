/// A C face over RE2: regular expressions in linear time, for `pattern` of JSON Schema.
///
/// No exception crosses this face. A compiled expression may be shared between threads
/// (re2/re2.h, "Thread-safe").
#ifndef HELIOGRAPH_CRE2_H
#define HELIOGRAPH_CRE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_re2 hg_re2;

enum {
    hg_re2_ok = 0,
    /// RE2 does not read the expression.
    hg_re2_error_syntax = 1,
    /// A repetition above 1000, or a program above the memory limit.
    hg_re2_error_size = 2,
    hg_re2_error_memory = 3,
};

/// NULL with an error; `error` is always set. `memory` bounds, in bytes, the compiled form together
/// with what matching remembers.
hg_re2 *hg_re2_new(
    const uint8_t *pattern,
    size_t byte_count,
    int64_t memory,
    int32_t *error
);
void hg_re2_free(hg_re2 *expression);

/// The instructions of the compiled form.
size_t hg_re2_size(const hg_re2 *expression);

/// True if the expression matches anywhere in the text.
bool hg_re2_matches(const hg_re2 *expression, const uint8_t *text, size_t byte_count);

#ifdef __cplusplus
}
#endif

#endif
