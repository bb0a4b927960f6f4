/* What librdkafka costs by itself: records read or written in a bare loop.
 *
 *   kafka_floor consume SERVERS TOPIC WARM_UP COUNT
 *   kafka_floor produce SERVERS TOPIC WARM_UP COUNT
 *
 * Prints the CPU time of the process per record, in microseconds, user and system, of COUNT records
 * after the first WARM_UP.
 *
 * The same work as the service's, with its settings, as far as they cost: the consumer checks CRCs
 * and asks for each record's headers. The producer is idempotent, with acks=all, linger.ms=20,
 * batch.size=131072 and lz4, and its delivery reports are read. It writes outcomes with their key
 * and the two headers of an accepted one, which were made before: 4096 different ones, because how
 * well they compress, and whether they are still in the CPU's caches, is a part of the cost.
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
static double consume(const char *servers, const char *name, long warm_up, long count) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "group.id", "kafka-floor");
    set(conf, "enable.auto.commit", "false");
    set(conf, "fetch.wait.max.ms", "100");
    set(conf, "queued.max.messages.kbytes", "32768");
    set(conf, "check.crcs", "true");
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
    /* The topic has more records: as many are read ahead at the end as after the warm-up. */
    for (long seen = 0; seen < warm_up + count;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 10000);
        if (!message) fail("consume", "no record came for 10 s");
        rd_kafka_headers_t *headers;
        if (!message->err) {
            bytes += message->len + (rd_kafka_message_headers(message, &headers) == 0);
            if (++seen == warm_up) begun = cpu_microseconds();
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

enum { OUTCOMES = 4096, DIGITS = 64, UUID = 36 };

static struct outcome {
    char key[DIGITS + 1], id[UUID + 1], text[700];
    size_t bytes;
} outcomes[OUTCOMES];

/* Hexadecimal digits, the same in each run. */
static void digits(char *to, int count) {
    static unsigned long state = 88172645463325252UL;
    for (int at = 0; at < count; at++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        to[at] = "0123456789abcdef"[state >> 60];
    }
    to[count] = 0;
}

static void uuid(char *to) {
    digits(to, UUID);
    to[8] = to[13] = to[18] = to[23] = '-';
}

static void make_outcomes(void) {
    for (int index = 0; index < OUTCOMES; index++) {
        struct outcome *made = &outcomes[index];
        char apns_id[UUID + 1];
        digits(made->key, DIGITS);
        uuid(made->id);
        uuid(apns_id);
        int length = snprintf(
            made->text, sizeof made->text,
            "{\"event_id\":\"%s\",\"apns_id\":\"%s\","
            "\"outcome\":\"accepted\",\"reason\":null,\"decided_by\":\"apns\",\"http_status\":200,"
            "\"token_action\":\"keep\",\"device_token\":\"%s\",\"topic\":\"com.example.MyApp\","
            "\"push_type\":\"alert\",\"environment\":\"production\",\"credential\":\"default\","
            "\"attempts\":1,\"received_at\":\"2026-01-31T12:00:%02d.%03dZ\","
            "\"completed_at\":\"2026-01-31T12:00:%02d.%03dZ\",\"latency_ms\":%d,"
            "\"source\":{\"topic\":\"notifications\",\"partition\":%d,\"offset\":%d}}",
            made->id, apns_id, made->key, index / 1000 % 60, index % 1000, index / 1000 % 60,
            (index + 90) % 1000, 90 + index % 30, index % 8, index);
        if (length <= 0 || (size_t)length >= sizeof made->text) fail("produce", "a long outcome");
        made->bytes = (size_t)length;
    }
}

static double produce(const char *servers, const char *name, long warm_up, long count) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "enable.idempotence", "true");
    set(conf, "linger.ms", "20");
    set(conf, "batch.size", "131072");
    set(conf, "compression.codec", "lz4");
    set(conf, "queue.buffering.max.messages", "50000");
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf, servers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, name, NULL);
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(producer, 0, topic, &metadata, 10000)) fail("metadata", name);
    rd_kafka_metadata_destroy(metadata);
    make_outcomes();
    double begun = cpu_microseconds();
    for (long index = 0; index < warm_up + count; index++) {
        if (index == warm_up) {
            while (undelivered > 0) rd_kafka_poll(producer, 100);
            begun = cpu_microseconds();
        }
        struct outcome *outcome = &outcomes[index % OUTCOMES];
        rd_kafka_headers_t *headers = rd_kafka_headers_new(2);
        rd_kafka_header_add(headers, "outcome", 7, "accepted", 8);
        rd_kafka_header_add(headers, "event-id", 8, outcome->id, UUID);
        for (;;) {
            rd_kafka_error_t *error = rd_kafka_produceva(
                producer,
                (rd_kafka_vu_t[]){
                    {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
                    {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
                    {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {outcome->key, DIGITS}},
                    {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {outcome->text, outcome->bytes}},
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
    return cpu_microseconds() - begun;
}

int main(int argc, char **argv) {
    double elapsed;
    long warm_up = argc == 6 ? atol(argv[4]) : -1, count = argc == 6 ? atol(argv[5]) : 0;
    if (warm_up >= 0 && count > 0 && !strcmp(argv[1], "consume"))
        elapsed = consume(argv[2], argv[3], warm_up, count);
    else if (warm_up >= 0 && count > 0 && !strcmp(argv[1], "produce"))
        elapsed = produce(argv[2], argv[3], warm_up, count);
    else
        return fprintf(stderr, "usage: kafka_floor consume SERVERS TOPIC WARM_UP COUNT\n"
                               "       kafka_floor produce SERVERS TOPIC WARM_UP COUNT\n"),
               64;
    printf("%.4f\n", elapsed / (double)count);
    fflush(stdout);
    /* Destroying the client waits for its threads; nothing of that is measured. */
    _Exit(0);
}
