/// The least that a part of the work can cost: the library underneath it, called without us.
#ifndef HELIOGRAPH_FLOORS_H
#define HELIOGRAPH_FLOORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Parses a text so many times with simdjson's DOM parser, both stages, tape written.
///
/// Returns the number of parses that failed.
size_t hg_floor_simdjson_parse(const uint8_t *text, size_t byte_count, size_t times);

/// Calls `body`; callgrind counts inside of this function only (`--toggle-collect`).
void hg_bench_measured(void (*body)(void *), void *context);

/// Does nothing; callgrind writes down what it has counted when this returns (`--dump-after`).
void hg_bench_part_ended(void);

#ifdef __cplusplus
}
#endif

#endif
