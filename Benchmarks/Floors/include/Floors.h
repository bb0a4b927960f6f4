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

#ifdef __cplusplus
}
#endif

#endif
