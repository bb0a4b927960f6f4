#ifndef HELIOGRAPH_CCURL_SHIM_H
#define HELIOGRAPH_CCURL_SHIM_H

// The type checks are macros around the variadic functions, which Swift cannot import anyway.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, so each type has its own function here.

static const long hg_curl_basic = (long)CURLAUTH_BASIC;
static const long hg_curl_bearer = (long)CURLAUTH_BEARER;

typedef size_t (*hg_curl_write_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode hg_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// libcurl copies the text.
static inline CURLcode hg_curl_set_text(CURL *handle, CURLoption option, const char *text) {
    return curl_easy_setopt(handle, option, text);
}

// libcurl reads the list during the transfer, so it must live until the end of it.
static inline CURLcode hg_curl_set_headers(CURL *handle, struct curl_slist *headers) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

static inline CURLcode hg_curl_set_receiver(CURL *handle, hg_curl_write_function receive,
                                            void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_WRITEDATA, context) : code;
}

static inline CURLcode hg_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline long hg_curl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

#endif
