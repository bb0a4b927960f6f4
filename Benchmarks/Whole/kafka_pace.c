/* Writes events to Kafka and reads their outcomes, for latency and for endurance.
 *
 *   kafka_pace SERVERS SOURCE RESULTS COUNT PER_SECOND PAYLOAD_BYTES [added]
 *
 * Events are written evenly at that rate; with a rate of 0 as fast as outcomes come back. At most
 * 10,000 are under way: the embedded broker keeps 5 MB of a partition and drops the oldest without
 * a word, read or not, and all of them may be in one partition. Each is for a device of its own,
 * and its id begins with the time in microseconds when it was to be written, so that waiting for
 * room counts. The first fifth of the outcomes warms up. Of the others it prints how many came a
 * second, and the milliseconds from that time to the outcome's own timestamp and to its being read
 * here, each p50, p99 and p99.9. With the word `added` also the milliseconds from the broker's
 * acknowledgement of the event to the outcome's timestamp.
 *
 * In C, for what generates the load must not be it. Two threads: one writes, one reads.
 */
#define _GNU_SOURCE
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 10000, SILENCE_MS = 60000, SAMPLES_MAX = 4000000, TEXT_MAX = 8192 };

struct task {
    const char *servers, *source, *results;
    long count, per_second, payload_bytes;
    int tells_added;
};

/* Milliseconds of one event, from when it was to be written; and the outcome's timestamp. */
struct sample {
    long number;
    double made, read, stamp;
};

static _Atomic long seen;
/* When the broker's acknowledgement of each event came, in microseconds; null: nobody asks. */
static _Atomic long *acknowledged;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "kafka_pace: %s: %s\n", what, why);
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

static long microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

/* As little alike as real ones (splitmix64); the same device has the same each time. */
static unsigned long mixed(unsigned long number) {
    number += 0x9E3779B97F4A7C15UL;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9UL;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBUL;
    return number ^ (number >> 31);
}

/* The same shape as an event of workload.py; its id, as long as a UUID, tells when it was due. */
static int event(char *text, long due, long number, long payload_bytes, const char *padding) {
    unsigned long first = mixed((unsigned long)number), second = mixed(first);
    static const char frame[] = "{\"aps\":{\"alert\":{\"title\":\"News\",\"body\":\"\"}}}";
    long room = payload_bytes - (long)(sizeof frame - 1);
    return snprintf(text, TEXT_MAX,
                    "{\"id\":\"%016ld-%019ld\",\"device_token\":\"%016lx%016lx%016lx%016lx\","
                    "\"bundle_id\":\"com.example.News\",\"push_type\":\"alert\",\"payload\":"
                    "{\"aps\":{\"alert\":{\"title\":\"News\",\"body\":\"%.*s\"}}}}",
                    due, number, first, second, ~first, ~second, (int)(room > 0 ? room : 0),
                    padding);
}

/* On the library's own thread, with the answer: a report would wait for the writer to poll. */
static rd_kafka_resp_err_t note_acknowledgement(rd_kafka_t *producer, rd_kafka_message_t *message,
                                                void *opaque) {
    (void)producer, (void)opaque;
    if (message->err) fail("acknowledgement", rd_kafka_err2str(message->err));
    acknowledged[(long)message->_private] = microseconds(CLOCK_REALTIME);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t hear_acknowledgements(rd_kafka_t *producer, const rd_kafka_conf_t *conf,
                                                 void *opaque, char *text, size_t size) {
    (void)conf, (void)opaque, (void)text, (void)size;
    return rd_kafka_interceptor_add_on_acknowledgement(producer, "pace", note_acknowledgement,
                                                       NULL);
}

static void *write_events(void *argument) {
    const struct task *task = argument;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "linger.ms", "1");
    if (acknowledged
        && rd_kafka_conf_interceptor_add_on_new(conf, "pace", hear_acknowledgements, NULL))
        fail("interceptor", "it is not taken");
    set(conf, "queue.buffering.max.messages", "1000000");
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf, task->servers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, task->source, NULL);
    char text[TEXT_MAX], padding[TEXT_MAX];
    memset(padding, 'x', sizeof padding - 1);
    padding[sizeof padding - 1] = 0;
    long begun = microseconds(CLOCK_REALTIME);
    for (long number = 0; number < task->count; number++) {
        long due = 0;
        if (task->per_second > 0) {
            due = begun + number * 1000000 / task->per_second;
            while (due - microseconds(CLOCK_REALTIME) > 0) rd_kafka_poll(producer, 1);
        }
        while (number - seen >= WINDOW) rd_kafka_poll(producer, 1);
        if (!due) due = microseconds(CLOCK_REALTIME);
        int length = event(text, due, number, task->payload_bytes, padding);
        /* Without keys, which keeps batches together: the broker looks through all of them. */
        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, text,
                                (size_t)length, NULL, 0, (void *)number)) {
            rd_kafka_resp_err_t error = rd_kafka_last_error();
            if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) fail("produce", rd_kafka_err2str(error));
            rd_kafka_poll(producer, 1);
        }
        if (number % 64 == 0) rd_kafka_poll(producer, 0);
    }
    if (rd_kafka_flush(producer, SILENCE_MS)) fail("flush", "records were not written");
    return NULL;
}

static rd_kafka_t *reader(const struct task *task) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "group.id", "kafka-pace");
    set(conf, "enable.auto.commit", "false");
    /* The embedded broker does not wake a fetch that waits when a record comes. */
    set(conf, "fetch.wait.max.ms", "1");
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, conf, task->servers);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(consumer, task->results, NULL);
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(consumer, 0, topic, &metadata, 10000)) fail("metadata", task->results);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
        rd_kafka_topic_partition_list_add(all, task->results,
                                          metadata->topics[0].partitions[i].id)
            ->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_assign(consumer, all);
    return consumer;
}

/* When the event was written, and its number, from the outcome that tells its id. */
static long written_at(const rd_kafka_message_t *message, long count, long *number) {
    static const char name[] = "\"event_id\":\"";
    const char *found = memmem(message->payload, message->len, name, sizeof name - 1);
    if (!found) fail("outcome", "it names no event");
    if (!memmem(message->payload, message->len, "\"accepted\"", strlen("\"accepted\"")))
        fail("outcome", "it is not accepted");
    /* The digits end with the id's hyphen, and with its quote, inside of the value. */
    char *rest;
    long at = strtol(found + sizeof name - 1, &rest, 10);
    *number = strtol(rest + 1, NULL, 10);
    if (*number < 0 || *number >= count) fail("outcome", "of an event that nobody wrote");
    return at;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void tell(double *figures, long count) {
    static const double shares[] = {0.5, 0.99, 0.999};
    qsort(figures, (size_t)count, sizeof *figures, ascending);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        long index = (long)((double)count * shares[i]);
        printf(" %.3f", figures[index < count ? index : count - 1]);
    }
}

static void tell_all(const struct task *task, const struct sample *samples, long count) {
    double *figures = malloc((size_t)count * sizeof *figures);
    for (long i = 0; i < count; i++) figures[i] = samples[i].made;
    tell(figures, count);
    for (long i = 0; i < count; i++) figures[i] = samples[i].read;
    tell(figures, count);
    if (task->tells_added) {
        for (long i = 0; i < count; i++) {
            long number = samples[i].number;
            figures[i] = samples[i].stamp - (double)acknowledged[number] / 1000;
        }
        tell(figures, count);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc != 7 && (argc != 8 || strcmp(argv[7], "added"))) {
        fprintf(stderr, "usage: kafka_pace SERVERS SOURCE RESULTS COUNT PER_SECOND PAYLOAD_BYTES"
                        " [added]\n");
        return 64;
    }
    struct task task = {argv[1],       argv[2],       argv[3], atol(argv[4]),
                        atol(argv[5]), atol(argv[6]), argc == 8};
    if (task.count < 1 || task.per_second < 0 || task.payload_bytes > TEXT_MAX / 2)
        fail("arguments", "out of range");
    long first = task.count / 5, kept = task.count - first, begun = 0;
    if (kept > SAMPLES_MAX) kept = SAMPLES_MAX;
    struct sample *samples = malloc((size_t)kept * sizeof *samples);
    if (task.tells_added) acknowledged = calloc((size_t)task.count, sizeof *acknowledged);
    rd_kafka_t *consumer = reader(&task);
    pthread_t writer;
    if (pthread_create(&writer, NULL, write_events, &task)) fail("pthread_create", "no thread");
    while (seen < task.count) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, SILENCE_MS);
        if (!message) fail("outcomes", "none came for 60 s");
        if (!message->err) {
            long number;
            double at = (double)written_at(message, task.count, &number);
            double now = (double)microseconds(CLOCK_REALTIME);
            rd_kafka_timestamp_type_t type;
            /* Kafka's timestamps are cut to milliseconds: it was made before the next one. */
            double stamp = (double)rd_kafka_message_timestamp(message, &type) + 1;
            /* The last ones, if there are more than fit. */
            if (seen == first) begun = microseconds(CLOCK_MONOTONIC);
            if (seen >= first)
                samples[(seen - first) % kept] =
                    (struct sample){number, stamp - at / 1000, (now - at) / 1000, stamp};
            seen++;
        }
        rd_kafka_message_destroy(message);
    }
    double seconds = (double)(microseconds(CLOCK_MONOTONIC) - begun) / 1e6;
    /* It has flushed: every acknowledgement has come. */
    pthread_join(writer, NULL);
    printf("%.1f", (double)(task.count - first) / seconds);
    tell_all(&task, samples, kept);
    fflush(stdout);
    /* Destroying the clients waits for their threads; nothing of that is measured. */
    _Exit(0);
}
