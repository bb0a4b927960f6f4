/* What librdkafka costs by itself: records read or written in a bare loop. What is written has a
 * key and the two headers of an outcome that was accepted.
 *
 *   kafka_floor consume SERVERS TOPIC COUNT
 *   kafka_floor produce SERVERS TOPIC COUNT BYTES
 *
 * Prints the CPU time of the process per record, in microseconds, user and system. As in the service
 * the producer is idempotent, with acks=all and linger.ms=20, and its delivery reports are read. The
 * rest is librdkafka's default: batches of up to 1 MB that are not compressed, where the service has
 * batch.size=131072 and lz4; and a consumer that checks no CRCs, where the service's does.
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double cpu_microseconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "kafka_floor: %s: %s\n", what, why);
    exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char error[256];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK)
        fail(name, error);
}

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf, const char *servers) {
    char error[256];
    set(conf, "bootstrap.servers", servers);
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
    if (!made) fail("rd_kafka_new", error);
    return made;
}

/* Reads every partition from its beginning, through one queue. */
static double consume(const char *servers, const char *name, long count) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "group.id", "kafka-floor");
    set(conf, "enable.auto.commit", "false");
    set(conf, "fetch.wait.max.ms", "10");
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, conf, servers);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(consumer, name, NULL);
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(consumer, 0, topic, &metadata, 10000)) fail("metadata", name);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
        rd_kafka_topic_partition_list_add(all, name, metadata->topics[0].partitions[i].id)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_metadata_destroy(metadata);
    double begun = cpu_microseconds();
    rd_kafka_assign(consumer, all);
    size_t bytes = 0;
    for (long seen = 0; seen < count;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 10000);
        if (!message) fail("consume", "no record came for 10 s");
        if (!message->err) {
            bytes += message->len;
            seen++;
        }
        rd_kafka_message_destroy(message);
    }
    if (!bytes) fail("consume", "records without bytes");
    return cpu_microseconds() - begun;
}

static long undelivered;

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client;
    (void)opaque;
    if (message->err) fail("produce", rd_kafka_err2str(message->err));
    undelivered--;
}

static double produce(const char *servers, const char *name, long count, size_t bytes) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "enable.idempotence", "true");
    set(conf, "linger.ms", "20");
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf, servers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, name, NULL);
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(producer, 0, topic, &metadata, 10000)) fail("metadata", name);
    rd_kafka_metadata_destroy(metadata);
    char *value = malloc(bytes), key[65];
    memset(value, 'x', bytes);
    double begun = cpu_microseconds();
    for (long index = 0; index < count; index++) {
        int length = snprintf(key, sizeof key, "%064lx", index);
        rd_kafka_headers_t *headers = rd_kafka_headers_new(2);
        rd_kafka_header_add(headers, "outcome", 7, "accepted", 8);
        rd_kafka_header_add(headers, "event-id", 8, key + length - 8, 8);
        for (;;) {
            rd_kafka_error_t *error = rd_kafka_produceva(
                producer,
                (rd_kafka_vu_t[]){
                    {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
                    {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
                    {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {key, (size_t)length}},
                    {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, bytes}},
                    {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
                },
                5);
            if (!error) break;
            /* The headers are still ours. */
            if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                fail("produce", rd_kafka_error_string(error));
            rd_kafka_error_destroy(error);
            rd_kafka_poll(producer, 1);
        }
        undelivered++;
        if (index % 64 == 0) rd_kafka_poll(producer, 0);
    }
    while (undelivered > 0) rd_kafka_poll(producer, 100);
    double elapsed = cpu_microseconds() - begun;
    free(value);
    return elapsed;
}

int main(int argc, char **argv) {
    double elapsed;
    long count = argc >= 5 ? atol(argv[4]) : 0;
    if (count > 0 && argc == 5 && !strcmp(argv[1], "consume"))
        elapsed = consume(argv[2], argv[3], count);
    else if (count > 0 && argc == 6 && !strcmp(argv[1], "produce"))
        elapsed = produce(argv[2], argv[3], count, (size_t)atol(argv[5]));
    else
        return fprintf(stderr, "usage: kafka_floor consume SERVERS TOPIC COUNT\n"
                               "       kafka_floor produce SERVERS TOPIC COUNT BYTES\n"),
               64;
    printf("%.4f\n", elapsed / (double)count);
    fflush(stdout);
    /* Destroying the client waits for its threads; nothing of that is measured. */
    _Exit(0);
}
