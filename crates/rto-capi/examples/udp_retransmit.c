/* Sends numbered messages over UDP and retransmits those that get no answer: a window of messages in
 * flight, cumulative ACKs, and one rto_timer that says when to send the earliest one again.
 *
 * So that it runs by itself, the other end lives in this program, too, behind a real socket, and throws
 * some of the datagrams away. A program of your own has the first half only. The steps are those of rto.h.
 *
 *     cc -std=c11 udp_retransmit.c $(pkg-config --cflags --libs rto) -o udp_retransmit
 */
#define _POSIX_C_SOURCE 200809L
#include <rto.h>

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 40, WINDOW = 4 };

static const uint64_t MILLISECOND = 1000000;

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

/* ---- the sender ---- */

struct sender {
    int socket;
    rto_timer timer;
    rto_sampler sampler;   /* retransmissions repeat a number: Karn has to choose the samples */
    uint32_t base, next;   /* the earliest unacknowledged message, and the first unsent one */
    uint32_t recover;      /* below it, messages may have been lost with one that timed out */
    unsigned retransmissions;
};

static uint64_t now(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) fail("clock_gettime");
    return (uint64_t)time.tv_sec * 1000 * MILLISECOND + (uint64_t)time.tv_nsec;
}

static void start(struct sender *sender, int socket) {
    rto_config config = rto_config_rfc6298();
    config.initial_rto_ns = 100 * MILLISECOND; /* the path is short: no second at first, */
    config.min_rto_ns = 50 * MILLISECOND;      /* and less than a second later */
    rto_limits limits = rto_limits_none();
    limits.user_timeout_ns = 20000 * MILLISECOND;
    if (rto_timer_init(&sender->timer, &config, &limits, NULL) != RTO_STATUS_OK) {
        char why[RTO_TEXT_SIZE];
        rto_config_check(&config, &limits, why, sizeof why);
        fprintf(stderr, "settings refused: %s\n", why);
        exit(EXIT_FAILURE);
    }
    rto_sampler_init(&sender->sampler);
    sender->socket = socket;
    sender->base = sender->next = sender->recover = 0;
    sender->retransmissions = 0;
}

static void transmit(struct sender *sender, uint32_t number) {
    uint64_t at = now();
    uint32_t datagram = htonl(number);
    /* A send that fails is as good as a lost one: the timer repairs both. */
    (void)!send(sender->socket, &datagram, sizeof datagram, 0);
    rto_sampler_sent(&sender->sampler, at, number, (uint64_t)number + 1);
    rto_timer_sent(&sender->timer, at); /* step 1 */
}

static void fill_window(struct sender *sender) {
    while (sender->next < MESSAGES && sender->next < sender->base + WINDOW) {
        transmit(sender, sender->next++);
    }
}

/* Everything below the number in an ACK has arrived. */
static void take_acks(struct sender *sender) {
    uint32_t datagram;
    while (recv(sender->socket, &datagram, sizeof datagram, MSG_DONTWAIT) == sizeof datagram) {
        uint64_t at = now();
        uint32_t upto = ntohl(datagram);
        if (upto > sender->next) continue; /* of something never sent */
        rto_progress progress = upto <= sender->base  ? RTO_PROGRESS_NONE
                                : upto < sender->next ? RTO_PROGRESS_SOME
                                                      : RTO_PROGRESS_ALL;
        uint64_t rtt = rto_sampler_acked(&sender->sampler, at, upto);
        rto_timer_acked(&sender->timer, at, progress, rtt); /* step 3 */
        if (progress == RTO_PROGRESS_NONE) continue;
        sender->base = upto;
        if (upto < sender->recover) { /* the next gap: no need to wait for its timeout */
            transmit(sender, upto);
            sender->retransmissions++;
        }
    }
}

static void look_at_the_clock(struct sender *sender) {
    rto_timeout timeout;
    uint64_t at = now();
    switch (rto_timer_timeout(&sender->timer, at, &timeout)) { /* step 4 */
    case RTO_ACTION_RETRANSMIT: {
        char why[RTO_TEXT_SIZE];
        rto_timer_explain(&sender->timer, at, why, sizeof why);
        printf("message %2u again after %3u ms; now %s\n", (unsigned)sender->base,
               (unsigned)(timeout.rto_ns / MILLISECOND), why);
        sender->recover = sender->next;
        transmit(sender, sender->base);
        sender->retransmissions++;
        break;
    }
    case RTO_ACTION_GIVE_UP:
        fprintf(stderr, "no answer for %u ms\n", (unsigned)(timeout.elapsed_ns / MILLISECOND));
        exit(EXIT_FAILURE);
    default: /* too early, or nothing is outstanding */
        break;
    }
}

/* For poll(2): milliseconds, rounded up so that it does not wake before the deadline. */
static int time_left(const struct sender *sender) {
    uint64_t deadline = rto_timer_poll_timeout(&sender->timer), at = now(); /* step 2 */
    if (deadline == RTO_NONE) return -1;
    if (deadline <= at) return 0;
    uint64_t left = (deadline - at - 1) / MILLISECOND + 1;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* ---- the other end, and the bad path to it ---- */

struct peer {
    int socket;
    bool has[MESSAGES + 1]; /* the last one never: it ends the search for a gap */
    unsigned heard, answered, dropped;
};

/* Every sixth message and every ninth ACK are lost, and all messages for a while. */
static bool is_lost(unsigned heard) { return heard % 6 == 5 || (heard >= 30 && heard < 34); }

static void answer(struct peer *peer) {
    uint32_t datagram;
    while (recv(peer->socket, &datagram, sizeof datagram, MSG_DONTWAIT) == sizeof datagram) {
        uint32_t number = ntohl(datagram), upto = 0;
        if (is_lost(peer->heard++)) {
            peer->dropped++;
            continue;
        }
        if (number < MESSAGES) peer->has[number] = true;
        while (peer->has[upto]) upto++;
        if (peer->answered++ % 9 == 8) continue;
        datagram = htonl(upto);
        (void)!send(peer->socket, &datagram, sizeof datagram, 0);
    }
}

/* ---- both ---- */

static int open_socket(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0) {
        fail("socket");
    }
    return fd;
}

static void connect_to(int fd, const struct sockaddr_in *address) {
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) fail("connect");
}

int main(void) {
    struct sockaddr_in here, there;
    struct sender sender;
    start(&sender, open_socket(&here));
    struct peer peer = {.socket = open_socket(&there)};
    connect_to(sender.socket, &there);
    connect_to(peer.socket, &here);

    while (sender.base < MESSAGES) { /* step 5 */
        fill_window(&sender);
        struct pollfd sockets[2] = {{.fd = sender.socket, .events = POLLIN},
                                    {.fd = peer.socket, .events = POLLIN}};
        if (poll(sockets, 2, time_left(&sender)) < 0 && errno != EINTR) fail("poll");
        answer(&peer);
        take_acks(&sender); /* before the clock: an ACK that is here already is no timeout */
        look_at_the_clock(&sender);
    }
    printf("%d messages arrived; %u datagrams were lost, %u retransmitted\n", MESSAGES, peer.dropped,
           sender.retransmissions);
    close(sender.socket);
    close(peer.socket);
    return EXIT_SUCCESS;
}
