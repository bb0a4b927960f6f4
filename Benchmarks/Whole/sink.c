/* The far side of the benchmarks: takes notifications over HTTP/2 and answers each with 200.
 *
 *   sink CERTIFICATE.pem KEY.pem [DELAY_MS]
 *
 * One thread, nghttp2 and OpenSSL, TLS 1.3 only, on a free port of 127.0.0.1, which it prints as
 * {"port":N, ...}. A request must be a POST to /3/device/ with an apns-id, a bearer token and a
 * topic; others get 403. The answer carries the request's apns-id, DELAY_MS after the request.
 * For each line on its standard input it prints {"requests":N}: how many it has accepted so far.
 * It judges nothing else: it is here to cost the machine as little as possible, and to be none of
 * the service's own code.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    STREAMS = 1000,
    WINDOW = 16 << 20,
    OUT_BYTES = 16384,
    /* No frame of ours is longer. */
    FRAME_BYTES = 1024,
    ID_BYTES = 36,
    /* Answers that wait at once. */
    HELD_MAX = 1 << 20,
    EVENTS = 64,
};

struct request {
    char id[ID_BYTES];
    bool is_post, is_device, has_token, has_topic, has_id;
};

struct connection {
    int fd;
    SSL *tls;
    nghttp2_session *session;
    bool is_open, wants_room;
    /* Its answers that wait; it is freed after the last. */
    long held;
    size_t begin, end;
    uint8_t out[OUT_BYTES];
};

struct answer {
    struct connection *connection;
    int32_t stream;
    long due;
};

static SSL_CTX *context;
static int watched;
static long delay, requests;
/* A ring: all wait equally long, so the first to come is the first to go. */
static struct answer *held;
static unsigned long held_first, held_end;

static void fail(const char *what) {
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    ERR_print_errors_fp(stderr);
    exit(1);
}

static long microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void watch(struct connection *connection, int operation) {
    struct epoll_event event = {
        .events = EPOLLIN | (connection->wants_room ? EPOLLOUT : 0),
        .data.ptr = connection,
    };
    if (epoll_ctl(watched, operation, connection->fd, &event)) fail("epoll_ctl");
}

static void free_if_done(struct connection *connection) {
    if (!connection->is_open && !connection->held) free(connection);
}

static void shut(struct connection *connection) {
    if (!connection->is_open) return;
    connection->is_open = false;
    nghttp2_session_del(connection->session);
    SSL_free(connection->tls);
    close(connection->fd);
}

/* True while OpenSSL merely waits for the socket. */
static bool is_waiting(struct connection *connection, int result) {
    int error = SSL_get_error(connection->tls, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* Sends what the session has to say: many frames in one TLS record. */
static void flush(struct connection *connection) {
    while (connection->is_open) {
        if (connection->begin == connection->end) {
            connection->begin = connection->end = 0;
            while (connection->end + FRAME_BYTES <= OUT_BYTES) {
                const uint8_t *frame;
                ssize_t length = nghttp2_session_mem_send(connection->session, &frame);
                if (length < 0 || length > FRAME_BYTES) return shut(connection);
                if (length == 0) break;
                memcpy(connection->out + connection->end, frame, (size_t)length);
                connection->end += (size_t)length;
            }
        }
        bool had_to_wait = false;
        if (connection->begin < connection->end) {
            int sent = SSL_write(connection->tls, connection->out + connection->begin,
                                 (int)(connection->end - connection->begin));
            if (sent > 0) {
                connection->begin += (size_t)sent;
                continue;
            }
            if (!is_waiting(connection, sent)) return shut(connection);
            had_to_wait = true;
        }
        if (connection->wants_room != had_to_wait) {
            connection->wants_room = had_to_wait;
            watch(connection, EPOLL_CTL_MOD);
        }
        return;
    }
}

static void answer(struct connection *connection, int32_t stream) {
    struct request *request = nghttp2_session_get_stream_user_data(connection->session, stream);
    /* The client has reset it. */
    if (!request) return;
    bool is_right = request->is_post && request->is_device && request->has_token
                    && request->has_topic && request->has_id;
    requests += is_right;
    nghttp2_nv headers[] = {
        {(uint8_t *)":status", (uint8_t *)(is_right ? "200" : "403"), 7, 3, 0},
        {(uint8_t *)"apns-id", (uint8_t *)request->id, 7, ID_BYTES, 0},
    };
    nghttp2_submit_response(connection->session, stream, headers, request->has_id ? 2 : 1, NULL);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    struct request *request = calloc(1, sizeof *request);
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, request);
}

static bool is(const uint8_t *bytes, size_t length, const char *text) {
    return length == strlen(text) && !memcmp(bytes, text, length);
}

static bool begins(const uint8_t *bytes, size_t length, const char *text) {
    return length > strlen(text) && !memcmp(bytes, text, strlen(text));
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *user) {
    (void)flags, (void)user;
    struct request *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!request) return 0;
    if (is(name, name_length, ":path"))
        request->is_device = begins(value, length, "/3/device/");
    else if (is(name, name_length, ":method"))
        request->is_post = is(value, length, "POST");
    else if (is(name, name_length, "authorization"))
        request->has_token = begins(value, length, "bearer ");
    else if (is(name, name_length, "apns-topic"))
        request->has_topic = length > 0;
    else if (is(name, name_length, "apns-id") && length == ID_BYTES) {
        memcpy(request->id, value, ID_BYTES);
        request->has_id = true;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)session;
    struct connection *connection = user;
    bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    if (!delay) {
        answer(connection, frame->hd.stream_id);
        return 0;
    }
    if (held_end - held_first == HELD_MAX) return NGHTTP2_ERR_CALLBACK_FAILURE;
    held[held_end++ % HELD_MAX] =
        (struct answer){connection, frame->hd.stream_id, microseconds() + delay};
    connection->held++;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    (void)code, (void)user;
    free(nghttp2_session_get_stream_user_data(session, stream));
    return 0;
}

static void accept_one(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct connection *connection = calloc(1, sizeof *connection);
    connection->fd = fd;
    connection->is_open = true;
    connection->tls = SSL_new(context);
    SSL_set_fd(connection->tls, fd);
    SSL_set_accept_state(connection->tls);
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_server_new(&connection->session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry streams = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS};
    nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &streams, 1);
    nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
    watch(connection, EPOLL_CTL_ADD);
}

static void take(struct connection *connection) {
    static uint8_t bytes[OUT_BYTES];
    while (connection->is_open) {
        int length = SSL_read(connection->tls, bytes, sizeof bytes);
        if (length <= 0) {
            if (!is_waiting(connection, length)) shut(connection);
            break;
        }
        ssize_t used = nghttp2_session_mem_recv(connection->session, bytes, (size_t)length);
        if (used != length) shut(connection);
    }
    if (connection->is_open && SSL_is_init_finished(connection->tls)) flush(connection);
    free_if_done(connection);
}

static void answer_due(void) {
    long now = microseconds();
    while (held_first != held_end && held[held_first % HELD_MAX].due <= now) {
        struct answer *due = &held[held_first++ % HELD_MAX];
        struct connection *connection = due->connection;
        connection->held--;
        if (connection->is_open) answer(connection, due->stream);
        bool is_last = held_first == held_end || held[held_first % HELD_MAX].due > now
                       || held[held_first % HELD_MAX].connection != connection;
        if (is_last && connection->is_open) flush(connection);
        free_if_done(connection);
    }
}

static int milliseconds_to_wait(void) {
    if (held_first == held_end) return -1;
    long left = held[held_first % HELD_MAX].due - microseconds();
    return left > 0 ? (int)((left + 999) / 1000) : 0;
}

static int choose_h2(SSL *tls, const unsigned char **chosen, unsigned char *length,
                     const unsigned char *offered, unsigned offered_length, void *unused) {
    (void)tls, (void)unused;
    static const unsigned char h2[] = "\x02h2";
    unsigned char *found;
    if (SSL_select_next_proto(&found, length, h2, 3, offered, offered_length)
        != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

static int listening(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 64)
        || getsockname(listener, (struct sockaddr *)&address, &length))
        fail("listen");
    printf("{\"port\":%d,\"nghttp2\":\"%s\",\"openssl\":\"%s\"}\n", ntohs(address.sin_port),
           nghttp2_version(0)->version_str, OpenSSL_version(OPENSSL_VERSION_STRING));
    fflush(stdout);
    return listener;
}

/* False at the end of the standard input: whoever started this is gone. */
static bool say_count(void) {
    char line[64];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) return false;
    printf("{\"requests\":%ld}\n", requests);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: sink CERTIFICATE.pem KEY.pem [DELAY_MS]\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    delay = argc == 4 ? atol(argv[3]) * 1000 : 0;
    if (delay && !(held = malloc(HELD_MAX * sizeof *held))) fail("malloc");
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    if (SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1
        || SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1)
        fail("certificate");
    int listener = listening();
    watched = epoll_create1(EPOLL_CLOEXEC);
    /* By address, as a connection is; these two are none. */
    static char is_listener, is_input;
    struct epoll_event accepts = {.events = EPOLLIN, .data.ptr = &is_listener};
    struct epoll_event asked = {.events = EPOLLIN, .data.ptr = &is_input};
    if (epoll_ctl(watched, EPOLL_CTL_ADD, listener, &accepts)
        || epoll_ctl(watched, EPOLL_CTL_ADD, STDIN_FILENO, &asked))
        fail("epoll_ctl");
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(watched, events, EVENTS, milliseconds_to_wait());
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &is_listener) accept_one(listener);
            else if (events[i].data.ptr != &is_input) take(events[i].data.ptr);
            else if (!say_count()) return 0;
        }
        answer_due();
    }
}
