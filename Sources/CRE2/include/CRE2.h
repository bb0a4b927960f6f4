/// A C interface to RE2: regular expressions in linear time, for `pattern` of JSON Schema.
///
/// No exception leaves these functions. A compiled expression may be shared between threads
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
    /// The expression is not valid in RE2's syntax.
    hg_re2_error_syntax = 1,
    /// A repetition count above 1000, or a program above the memory limit.
    hg_re2_error_size = 2,
    hg_re2_error_memory = 3,
};

/// Compiles an expression; NULL on an error. `error` is always set.
///
/// `memory` limits the compiled form together with the caches of matching, in bytes.
hg_re2 *hg_re2_new(
    const uint8_t *pattern,
    size_t byte_count,
    int64_t memory,
    int32_t *error
);
void hg_re2_free(hg_re2 *expression);

/// The number of instructions of the compiled form.
size_t hg_re2_size(const hg_re2 *expression);

/// Whether the expression matches anywhere in the text.
bool hg_re2_matches(const hg_re2 *expression, const uint8_t *text, size_t byte_count);

#ifdef __cplusplus
}
#endif

#endif
