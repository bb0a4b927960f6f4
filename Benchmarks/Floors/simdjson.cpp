#include "Floors.h"

#include <simdjson.h>

extern "C" size_t
hg_floor_simdjson_parse(const uint8_t *text, size_t byte_count, size_t times) {
    simdjson::dom::parser parser;
    const simdjson::padded_string padded(reinterpret_cast<const char *>(text), byte_count);
    size_t failures = 0;
    for (size_t index = 0; index < times; index++) {
        simdjson::dom::element root;
        if (parser.parse(padded).get(root) != simdjson::SUCCESS) failures += 1;
    }
    return failures;
}
