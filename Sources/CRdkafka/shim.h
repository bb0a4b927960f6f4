#ifndef HELIOGRAPH_CRDKAFKA_SHIM_H
#define HELIOGRAPH_CRDKAFKA_SHIM_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

/// For `rd_kafka_conf_set_ssl_cert_verify_cb`: keeps OpenSSL's decision, and gives its error code.
///
/// librdkafka logs the code; without this, version 2.0.2 logs the same text for every certificate
/// that it rejects.
static inline int hg_tell_certificate_error(
    rd_kafka_t *client, const char *broker, int32_t broker_id, int *x509_error, int depth,
    const char *certificate, size_t size, char *text, size_t text_size, void *opaque) {
    (void)client, (void)broker, (void)broker_id, (void)depth;
    (void)certificate, (void)size, (void)opaque;
    if (*x509_error == 0) return 1;
    snprintf(text, text_size, "X.509 error %d", *x509_error);
    return 0;
}

/// `rd_kafka_mock_broker_push_request_error_rtts` for one error without delay.
///
/// The original is variadic, so Swift cannot call it.
static inline rd_kafka_resp_err_t hg_mock_broker_fail_next(
    rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t request, rd_kafka_resp_err_t error) {
    return rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, request, 1, error, 0);
}

#endif
