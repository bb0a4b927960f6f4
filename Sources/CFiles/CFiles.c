#include "CFiles.h"

#include <stddef.h>
#include <string.h>

// #embed is from C23; Clang accepts it in every language, and records the files as dependencies.
#pragma clang diagnostic ignored "-Wc23-extensions"

struct file {
    const char *name;
    const char *text;
};

static const struct file files[] = {
    {"schemas/notification-event.v1.schema.json", (const char[]){
#embed "../../schemas/notification-event.v1.schema.json" suffix(, 0)
    }},
    {"schemas/broadcast-event.v1.schema.json", (const char[]){
#embed "../../schemas/broadcast-event.v1.schema.json" suffix(, 0)
    }},
    {"schemas/notification-outcome.v1.schema.json", (const char[]){
#embed "../../schemas/notification-outcome.v1.schema.json" suffix(, 0)
    }},
    {"schemas/token-status.v1.schema.json", (const char[]){
#embed "../../schemas/token-status.v1.schema.json" suffix(, 0)
    }},
    {"schemas/campaign-order.v1.schema.json", (const char[]){
#embed "../../schemas/campaign-order.v1.schema.json" suffix(, 0)
    }},
    {"schemas/campaign-tally.v1.schema.json", (const char[]){
#embed "../../schemas/campaign-tally.v1.schema.json" suffix(, 0)
    }},
    {"schemas/aps-payload.v1.schema.json", (const char[]){
#embed "../../schemas/aps-payload.v1.schema.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/applicator", (const char[]){
#embed "Metaschemas/2020-12-applicator.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/content", (const char[]){
#embed "Metaschemas/2020-12-content.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/core", (const char[]){
#embed "Metaschemas/2020-12-core.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/format-annotation", (const char[]){
#embed "Metaschemas/2020-12-format-annotation.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/format-assertion", (const char[]){
#embed "Metaschemas/2020-12-format-assertion.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/meta-data", (const char[]){
#embed "Metaschemas/2020-12-meta-data.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/schema", (const char[]){
#embed "Metaschemas/2020-12-schema.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/unevaluated", (const char[]){
#embed "Metaschemas/2020-12-unevaluated.json" suffix(, 0)
    }},
    {"https://json-schema.org/draft/2020-12/meta/validation", (const char[]){
#embed "Metaschemas/2020-12-validation.json" suffix(, 0)
    }},
    {"http://json-schema.org/draft-07/schema", (const char[]){
#embed "Metaschemas/draft-07.json" suffix(, 0)
    }},
    {"page/advice.js", (const char[]){
#embed "../AdminHTTP/Page/advice.js" suffix(, 0)
    }},
    {"page/campaigns.js", (const char[]){
#embed "../AdminHTTP/Page/campaigns.js" suffix(, 0)
    }},
    {"page/charts.js", (const char[]){
#embed "../AdminHTTP/Page/charts.js" suffix(, 0)
    }},
    {"page/format.js", (const char[]){
#embed "../AdminHTTP/Page/format.js" suffix(, 0)
    }},
    {"page/sections.js", (const char[]){
#embed "../AdminHTTP/Page/sections.js" suffix(, 0)
    }},
    {"page/status.css", (const char[]){
#embed "../AdminHTTP/Page/status.css" suffix(, 0)
    }},
    {"page/status.html", (const char[]){
#embed "../AdminHTTP/Page/status.html" suffix(, 0)
    }},
    {"page/status.js", (const char[]){
#embed "../AdminHTTP/Page/status.js" suffix(, 0)
    }},
    {"page/tables.js", (const char[]){
#embed "../AdminHTTP/Page/tables.js" suffix(, 0)
    }},
};

const char *hg_file_text(const char *name) {
    for (size_t index = 0; index < sizeof files / sizeof files[0]; index++) {
        if (strcmp(files[index].name, name) == 0) return files[index].text;
    }
    __builtin_trap();
}

// Package.swift defines it if the environment variable of this name is set.
#ifndef HELIOGRAPH_VERSION
#define HELIOGRAPH_VERSION "0.0.0-dev"
#endif

const char *hg_version(void) { return HELIOGRAPH_VERSION; }
