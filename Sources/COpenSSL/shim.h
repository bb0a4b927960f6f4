#ifndef HELIOGRAPH_COPENSSL_SHIM_H
#define HELIOGRAPH_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Macros that Swift's importer cannot read.
static inline uint64_t heliograph_ssl_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET;
}

static inline X509 *heliograph_pop_certificate(STACK_OF(X509) *stack) {
    return sk_X509_shift(stack);
}

static inline void heliograph_free_certificates(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

#endif
