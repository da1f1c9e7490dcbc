/* The worked cases of the timer, driven from C, and what C alone can get wrong: null pointers,
 * memory that was never initialised, numbers that are no enum's, buffers that are too small. */
#include <rto.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(rto_timer) == 256, "as documented");
_Static_assert(sizeof(rto_sampler) == 64, "as documented");
_Static_assert(sizeof(rto_compact_params) == 32, "as documented");
_Static_assert(sizeof(rto_compact_timer) == 28, "as documented");

static unsigned checks, failures;

static void check(int holds, int line, const char *text) {
    checks++;
    if (!holds) {
        failures++;
        fprintf(stderr, "line %d: %s\n", line, text);
    }
}

static void check_equal(uint64_t got, uint64_t want, int line, const char *text) {
    checks++;
    if (got != want) {
        failures++;
        fprintf(stderr, "line %d: %s is %" PRIu64 ", not %" PRIu64 "\n", line, text, got, want);
    }
}

#define CHECK(condition) check((condition), __LINE__, #condition)
#define EQUAL(got, want) check_equal((got), (want), __LINE__, #got)
#define OK(call) EQUAL((call), RTO_STATUS_OK)

/* Milliseconds with decimals, exact for those used here. */
#define MS(value) ((uint64_t)((value) * 1000000.0))

static rto_timer made(const rto_config *config, const rto_limits *limits) {
    rto_timer timer;
    OK(rto_timer_init(&timer, config, limits, NULL));
    return timer;
}

static void expires(rto_timer *timer, uint64_t at, uint64_t next_rto, int line) {
    rto_timeout timeout;
    check_equal(rto_timer_poll_timeout(timer), at, line, "deadline");
    check_equal(rto_timer_timeout(timer, at - 1, &timeout), RTO_ACTION_NONE, line, "early");
    check_equal(rto_timer_timeout(timer, at, &timeout), RTO_ACTION_RETRANSMIT, line, "action");
    check_equal(timeout.next_rto_ns, next_rto, line, "next RTO");
    check_equal(rto_timer_rto(timer), next_rto, line, "RTO");
}

#define EXPIRES(timer, at, next_rto) expires((timer), (at), (next_rto), __LINE__)

/* E1, E6, E10: samples to SRTT, RTTVAR and RTO. A rounded estimate gives an RTO of at most 1 ns more. */
static void samples(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL);
    const uint64_t rto[5] = {MS(1800), MS(1500), MS(1275), MS(1106.25), MS(1000)};
    EQUAL(rto_timer_rto(&timer), MS(1000));
    EQUAL(rto_timer_srtt(&timer), RTO_NONE);
    EQUAL(rto_timer_rttvar(&timer), RTO_NONE);
    for (int i = 0; i < 5; i++) {
        OK(rto_timer_sample(&timer, 0, MS(600), 1));
        EQUAL(rto_timer_rto(&timer), rto[i]);
    }

    timer = made(&config, NULL);
    OK(rto_timer_sample(&timer, 0, MS(1000), 1));
    OK(rto_timer_sample(&timer, 0, MS(2000), 1));
    EQUAL(rto_timer_srtt(&timer), MS(1125));
    EQUAL(rto_timer_rttvar(&timer), MS(625));
    EQUAL(rto_timer_rto(&timer), MS(3625));

    config.min_rto_ns = 0;
    config.granularity_ns = MS(1);
    timer = made(&config, NULL);
    const uint64_t floorless[3][4] = {
        {MS(0), MS(0), MS(0), MS(1)},
        {MS(100), MS(12.5), MS(25), MS(112.5)},
        {MS(100), MS(23.4375), MS(40.625), MS(185.9375)},
    };
    for (int i = 0; i < 3; i++) {
        OK(rto_timer_sample(&timer, 0, floorless[i][0], 1));
        EQUAL(rto_timer_srtt(&timer), floorless[i][1]);
        EQUAL(rto_timer_rttvar(&timer), floorless[i][2]);
        EQUAL(rto_timer_rto(&timer), floorless[i][3]);
    }
}

/* E7: QUIC, whose probe timeout is the RTO and the peer's max_ack_delay. Fault 18: with two samples a
 * round trip, each weighs half. Fault 16: a sample of centuries. */
static void unusual_samples(void) {
    rto_config quic = rto_config_rfc9002();
    rto_timer timer = made(&quic, NULL);
    OK(rto_timer_sample(&timer, 0, MS(500), 1));
    OK(rto_timer_sample(&timer, 0, MS(800 - 10), 1));
    OK(rto_timer_sample(&timer, 0, MS(200), 1));
    EQUAL(rto_timer_srtt(&timer), MS(494.21875));
    EQUAL(rto_timer_rttvar(&timer), MS(279.0625));
    EQUAL(rto_timer_rto(&timer) + MS(10), MS(1620.46875));

    rto_config config = rto_config_rfc6298();
    timer = made(&config, NULL);
    EQUAL(rto_expected_samples(4 * 1460, 1460), 2);
    EQUAL(rto_expected_samples(0, 0), 1);
    OK(rto_timer_sample(&timer, 0, MS(1000), 2));
    OK(rto_timer_sample(&timer, 0, MS(2000), 2));
    EQUAL(rto_timer_srtt(&timer), MS(1062.5));

    timer = made(&config, NULL);
    OK(rto_timer_sample(&timer, 0, UINT64_MAX - 1, 1));
    EQUAL(rto_timer_rto(&timer), MS(60000));
    for (int i = 0; i < 100; i++) OK(rto_timer_sample(&timer, 0, MS(100), 1));
    CHECK(rto_timer_rto(&timer) < MS(2000));
}

/* S1: never acknowledged. S2, S3, S13: what restarts the timer, and what does not. */
static void sending(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL);
    const uint64_t at[9] = {1000, 3000, 7000, 15000, 31000, 63000, 123000, 183000, 243000};
    const uint64_t rto[9] = {2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000, 60000};
    EQUAL(rto_timer_poll_timeout(&timer), RTO_NONE);
    OK(rto_timer_sent(&timer, 0));
    for (int i = 0; i < 9; i++) EXPIRES(&timer, MS(at[i]), MS(rto[i]));
    EQUAL(rto_timer_backoffs(&timer), 9);

    timer = made(&config, NULL);
    OK(rto_timer_sent(&timer, 0));
    OK(rto_timer_sent(&timer, 0));
    OK(rto_timer_acked(&timer, MS(600), RTO_PROGRESS_SOME, MS(600)));
    EQUAL(rto_timer_rto(&timer), MS(1800));
    EXPIRES(&timer, MS(2400), MS(3600));

    timer = made(&config, NULL);
    OK(rto_timer_sent(&timer, 0));
    OK(rto_timer_acked(&timer, MS(500), RTO_PROGRESS_NONE, RTO_NONE));
    OK(rto_timer_acked(&timer, MS(900), RTO_PROGRESS_NONE, RTO_NONE));
    OK(rto_timer_sent(&timer, MS(950)));
    EXPIRES(&timer, MS(1000), MS(2000));

    timer = made(&config, NULL); /* T6: counted from the segment that is left */
    OK(rto_timer_sent(&timer, 0));
    OK(rto_timer_sent(&timer, MS(400)));
    OK(rto_timer_acked_since(&timer, MS(600), MS(400), RTO_NONE));
    EQUAL(rto_timer_poll_timeout(&timer), MS(1400));
}

/* S4, S9: what ends a back-off. S18: what is none. */
static void backing_off(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL);
    OK(rto_timer_sent(&timer, 0));
    EXPIRES(&timer, MS(1000), MS(2000));
    EQUAL(rto_timer_poll_timeout(&timer), MS(3000));
    OK(rto_timer_acked(&timer, MS(1100), RTO_PROGRESS_ALL, RTO_NONE));
    EQUAL(rto_timer_poll_timeout(&timer), RTO_NONE);
    EQUAL(rto_timer_timeout(&timer, MS(9000), NULL), RTO_ACTION_NONE);
    EQUAL(rto_timer_rto(&timer), MS(2000));
    OK(rto_timer_sent(&timer, MS(2000)));
    EQUAL(rto_timer_poll_timeout(&timer), MS(4000));
    OK(rto_timer_acked(&timer, MS(2100), RTO_PROGRESS_ALL, MS(100)));
    EQUAL(rto_timer_rto(&timer), MS(1000));

    config.min_rto_ns = MS(200);
    timer = made(&config, NULL);
    OK(rto_timer_sample(&timer, 0, MS(100), 1));
    OK(rto_timer_sent(&timer, MS(200)));
    EXPIRES(&timer, MS(500), MS(600));
    EXPIRES(&timer, MS(1100), MS(1200));
    EQUAL(rto_timer_poll_timeout(&timer), MS(2300));
    OK(rto_timer_acked(&timer, MS(1150), RTO_PROGRESS_SOME, MS(50)));
    EQUAL(rto_timer_srtt(&timer), MS(93.75));
    EQUAL(rto_timer_rttvar(&timer), MS(50));
    EQUAL(rto_timer_poll_timeout(&timer), MS(1443.75));
    OK(rto_timer_fast_retransmit(&timer, MS(1200)));
    EQUAL(rto_timer_poll_timeout(&timer), MS(1443.75));
    EQUAL(rto_timer_backoffs(&timer), 0);
    OK(rto_timer_stop(&timer, MS(1200)));
    EQUAL(rto_timer_poll_timeout(&timer), RTO_NONE);
}

/* S6, S6d, S7: a lost handshake; an estimate that is cleared. */
static void handshakes(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL);
    OK(rto_timer_handshake_sent(&timer, 0));
    EXPIRES(&timer, MS(1000), MS(2000));
    OK(rto_timer_acked(&timer, MS(1100), RTO_PROGRESS_ALL, RTO_NONE));
    OK(rto_timer_data_phase(&timer, MS(1100)));
    EQUAL(rto_timer_rto(&timer), MS(3000));
    OK(rto_timer_sent(&timer, MS(1100)));
    EXPIRES(&timer, MS(4100), MS(6000));
    EQUAL(rto_timer_poll_timeout(&timer), MS(10100));

    config.post_syn = RTO_POST_SYN_REPLACE;
    timer = made(&config, NULL);
    OK(rto_timer_handshake_sent(&timer, 0));
    EXPIRES(&timer, MS(1000), MS(2000));
    EXPIRES(&timer, MS(3000), MS(4000));
    OK(rto_timer_data_phase(&timer, MS(3100)));
    EQUAL(rto_timer_rto(&timer), MS(3000));

    config = rto_config_rfc6298();
    config.min_rto_ns = MS(200);
    config.clear_after = 3;
    timer = made(&config, NULL);
    OK(rto_timer_sample(&timer, 0, MS(100), 1));
    OK(rto_timer_sent(&timer, MS(200)));
    EXPIRES(&timer, MS(500), MS(600));
    EXPIRES(&timer, MS(1100), MS(1200));
    EXPIRES(&timer, MS(2300), MS(2400));
    EQUAL(rto_timer_srtt(&timer), RTO_NONE);
    OK(rto_timer_acked(&timer, MS(3500), RTO_PROGRESS_ALL, MS(500)));
    EQUAL(rto_timer_rttvar(&timer), MS(250));
    EQUAL(rto_timer_rto(&timer), MS(1500));
}

/* S16: R1 is told once, R2 ends it. S17: the user timeout moves deadlines, never the RTO. */
static void limits(void) {
    rto_config config = rto_config_rfc6298();
    rto_limits rfc9293 = rto_limits_rfc9293();
    rto_timeout timeout;
    rto_timer timer = made(&config, &rfc9293);
    OK(rto_timer_sent(&timer, 0));
    for (int i = 1; i <= 6; i++) {
        uint64_t deadline = rto_timer_poll_timeout(&timer);
        EQUAL(rto_timer_timeout(&timer, deadline, &timeout), RTO_ACTION_RETRANSMIT);
        EQUAL(timeout.r1, i == 3);
        EQUAL(timeout.backoffs, (uint64_t)i);
        EQUAL(timeout.limit, RTO_LIMIT_NONE);
    }
    EQUAL(rto_timer_poll_timeout(&timer), MS(123000));
    EQUAL(rto_timer_timeout(&timer, MS(123000), &timeout), RTO_ACTION_GIVE_UP);
    EQUAL(timeout.limit, RTO_LIMIT_R2);
    EQUAL(timeout.elapsed_ns, MS(123000));
    EQUAL(timeout.retransmissions, 6);
    EQUAL(rto_timer_poll_timeout(&timer), RTO_NONE);

    timer = made(&config, &rfc9293);
    OK(rto_timer_handshake_sent(&timer, 0));
    uint64_t last = 0;
    do {
        last = rto_timer_poll_timeout(&timer);
    } while (rto_timer_timeout(&timer, last, &timeout) == RTO_ACTION_RETRANSMIT);
    EQUAL(last, MS(183000));

    rto_limits user = rto_limits_none();
    user.user_timeout_ns = MS(2500);
    user.r2 = (rto_threshold){.kind = RTO_THRESHOLD_KIND_RETRANSMISSIONS, .retransmissions = 9};
    timer = made(&config, &user);
    OK(rto_timer_sent(&timer, 0));
    EXPIRES(&timer, MS(1000), MS(2000));
    EQUAL(rto_timer_poll_timeout(&timer), MS(2500));
    EQUAL(rto_timer_timeout(&timer, MS(2500), &timeout), RTO_ACTION_GIVE_UP);
    EQUAL(timeout.limit, RTO_LIMIT_USER_TIMEOUT);
    EQUAL(rto_timer_rto(&timer), MS(2000));

    uint64_t schedule[8];
    const uint64_t at[8] = {1000, 3000, 7000, 15000, 31000, 63000, 123000, 183000};
    timer = made(&config, NULL);
    OK(rto_timer_schedule(&timer, schedule, 8));
    for (int i = 0; i < 8; i++) EQUAL(schedule[i], MS(at[i]));
}

/* T3, T4, T5: back-offs undone, and an estimate handed on. */
static void undoing(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL), next;
    OK(rto_timer_acked(&timer, 0, RTO_PROGRESS_ALL, MS(600)));
    rto_snapshot before = rto_timer_snapshot(&timer);
    EQUAL(before.srtt_ns, MS(600));
    EQUAL(before.rttvar_ns, MS(300));
    OK(rto_timer_init(&next, &config, NULL, &before));
    EQUAL(rto_timer_rto(&next), MS(1800));

    OK(rto_timer_sent(&timer, 0));
    EXPIRES(&timer, MS(1800), MS(3600));
    OK(rto_timer_retransmitted(&timer, MS(1900)));
    EQUAL(rto_timer_poll_timeout(&timer), MS(5500));
    OK(rto_timer_unreachable(&timer, MS(2000), MS(1900)));
    EQUAL(rto_timer_poll_timeout(&timer), MS(3700));
    EXPIRES(&timer, MS(3700), MS(3600));
    OK(rto_timer_spurious_timeout(&timer, MS(4000)));
    EQUAL(rto_timer_rto(&timer), MS(1800));
    EQUAL(rto_timer_poll_timeout(&timer), MS(5800));
    OK(rto_timer_sample_after_spurious(&timer, MS(4100), before, MS(2000)));
    EQUAL(rto_timer_srtt(&timer), MS(2000));
    EQUAL(rto_timer_rttvar(&timer), MS(1000));
    EQUAL(rto_timer_poll_timeout(&timer), MS(4100 + 6000));

    rto_timer fresh = made(&config, NULL);
    before = rto_timer_snapshot(&fresh);
    EQUAL(before.srtt_ns, RTO_NONE);
    OK(rto_timer_init(&next, &config, NULL, &before));
    EQUAL(rto_timer_rto(&next), MS(1000));
    OK(rto_timer_sample_after_spurious(&next, 0, before, MS(600)));
    EQUAL(rto_timer_rto(&next), MS(1800));
}

/* Faults 4, 9, 11: what may be measured. */
static void sampler(void) {
    rto_sampler sampler;
    OK(rto_sampler_init(&sampler));
    OK(rto_sampler_sent(&sampler, 0, 0, 1000));
    EQUAL(rto_sampler_acked(&sampler, MS(2300), 1000), MS(2300));
    OK(rto_sampler_sent(&sampler, MS(2400), 1000, 2000));
    OK(rto_sampler_sent(&sampler, MS(3400), 1000, 2000));
    EQUAL(rto_sampler_acked(&sampler, MS(3500), 2000), RTO_NONE);
    OK(rto_sampler_sent(&sampler, MS(4000), 3000, 2000)); /* nothing */
    EQUAL(rto_sampler_acked(&sampler, MS(4000), 3000), RTO_NONE);
    OK(rto_sampler_sent(&sampler, MS(5000), 2000, 3000));
    EQUAL(rto_sampler_acked(&sampler, MS(5080), 3000), MS(80));
    EQUAL(rto_rtt(MS(11000), MS(10000)), RTO_NONE);
    EQUAL(rto_rtt(MS(1000), MS(2500)), MS(1500));
}

/* The clock of the compact timer wraps during this. */
static void compact(void) {
    rto_config config = rto_config_rfc6298();
    rto_compact_params params;
    rto_compact_timer timer;
    rto_compact_expiry expiry;
    const uint32_t start = UINT32_MAX - 700000;
    uint32_t deadline = 7;
    OK(rto_compact_params_init(&params, &config));
    OK(rto_compact_init(&timer, &params));
    CHECK(!rto_compact_poll_timeout(&timer, &deadline));
    EQUAL(deadline, 7);
    EQUAL(rto_compact_rto(&timer), 1000000);
    EQUAL(rto_compact_srtt(&timer), RTO_COMPACT_NONE);
    OK(rto_compact_sent(&timer, start));
    uint32_t acked = start + 600000;
    OK(rto_compact_acked(&timer, &params, acked, RTO_PROGRESS_SOME,
                         rto_compact_elapsed(start, acked)));
    EQUAL(rto_compact_srtt(&timer), 600000);
    EQUAL(rto_compact_rttvar(&timer), 300000);
    EQUAL(rto_compact_rto(&timer), 1800000);
    CHECK(rto_compact_poll_timeout(&timer, &deadline));
    EQUAL(deadline, (uint32_t)(start + 2400000));
    CHECK(deadline < start);
    EQUAL(rto_compact_elapsed(deadline, acked), RTO_COMPACT_NONE);
    EQUAL(rto_compact_timeout(&timer, &params, deadline - 1, &expiry), RTO_ACTION_NONE);
    EQUAL(rto_compact_timeout(&timer, &params, deadline, &expiry), RTO_ACTION_RETRANSMIT);
    EQUAL(expiry.rto_us, 1800000);
    EQUAL(expiry.next_rto_us, 3600000);
    EQUAL(expiry.backoffs, 1);
    EQUAL(rto_compact_backoffs(&timer), 1);
    OK(rto_compact_sample(&timer, &params, 600000));
    EQUAL(rto_compact_rto(&timer), 1500000);
    OK(rto_compact_stop(&timer));
    CHECK(!rto_compact_poll_timeout(&timer, NULL));

    OK(rto_compact_init(&timer, &params));
    OK(rto_compact_handshake_sent(&timer, 0));
    EQUAL(rto_compact_timeout(&timer, &params, 1000000, NULL), RTO_ACTION_RETRANSMIT);
    OK(rto_compact_data_phase(&timer, &params));
    EQUAL(rto_compact_rto(&timer), 3000000);
}

static void refused(const rto_config *config, const rto_limits *limits, rto_status status,
                    const char *message, int line) {
    rto_timer timer;
    char text[RTO_TEXT_SIZE];
    check_equal(rto_timer_init(&timer, config, limits, NULL), status, line, "init");
    check_equal(rto_config_check(config, limits, text, sizeof text), status, line, "check");
    check(strcmp(text, message) == 0, line, text);
    check_equal(rto_timer_sent(&timer, 0), RTO_STATUS_UNINITIALISED, line, "sent");
}

#define REFUSED(field, value, status, message)                        \
    do {                                                              \
        rto_config config = rto_config_rfc6298();                     \
        config.field = (value);                                       \
        refused(&config, NULL, RTO_STATUS_##status, message, __LINE__); \
    } while (0)

/* Every error names the value and the rule. */
static void settings(void) {
    REFUSED(min_rto_ns, MS(61000), MIN_ABOVE_MAX,
            "min_rto 61s is above max_rto 60s (2.4-1, 2.5-1)");
    REFUSED(initial_rto_ns, MS(500), INITIAL_OUT_OF_BOUNDS,
            "initial_rto 500ms must be positive and within 1s to 60s (2.1-1)");
    REFUSED(min_rto_ns, 0, NO_FLOOR,
            "min_rto and granularity are both 0: one must be positive (D11)");
    REFUSED(granularity_ns, MS(60001), GRANULARITY,
            "granularity 60.001s is above max_rto or above 1125899.906842624s (4-1)");
    REFUSED(alpha, ((rto_gain){0, 8}), ALPHA, "alpha 0/8 is not in (0, 1] (2.3-3)");
    REFUSED(beta, ((rto_gain){5, 4}), BETA, "beta 5/4 is not in (0, 1] (2.3-3)");
    REFUSED(k, 33, K, "k 33 is not in 1 to 32 (2.2-1)");
    REFUSED(max_sample_ns, 0, MAX_SAMPLE,
            "max_sample 0ns is not in 1 ns to 1125899.906842624s (D13)");
    REFUSED(variance_floor, 2, VARIANCE_FLOOR,
            "variance_floor 2 is no rto_variance_floor (4-2)");
    REFUSED(post_syn, UINT32_MAX, POST_SYN,
            "post_syn 4294967295 is no rto_post_syn (5.7-1)");
    REFUSED(collapse, 7, COLLAPSE, "collapse 7 is no rto_collapse (5-N1)");
    refused(NULL, NULL, RTO_STATUS_NULL_POINTER, "a pointer that must not be null is", __LINE__);

    rto_config config = rto_config_rfc6298();
    rto_limits limits = rto_limits_none();
    limits.handshake_r2.kind = 9;
    refused(&config, &limits, RTO_STATUS_THRESHOLD_KIND,
            "handshake_r2.kind 9 is no rto_threshold_kind (T7, T8)",
            __LINE__);
    memset(&limits, 0, sizeof limits);
    refused(&config, &limits, RTO_STATUS_USER_TIMEOUT,
            "user_timeout is 0; RTO_NONE is for none (T9)", __LINE__);

    rto_config games = rto_config_games(), sctp = rto_config_rfc9260(), old = rto_config_rfc2988();
    EQUAL(games.min_rto_ns, MS(200));
    EQUAL(sctp.variance_floor, RTO_VARIANCE_FLOOR_ZERO_RTTVAR);
    EQUAL(old.initial_rto_ns, MS(3000));
    EQUAL(rto_config_rfc9002().max_rto_ns, RTO_NONE);
    EQUAL(rto_config_rfc9002().collapse, RTO_COLLAPSE_ON_ANY_ACK);
}

static void compact_refused(const rto_config *config, rto_status status, const char *message,
                            int line) {
    rto_compact_params params;
    rto_compact_timer timer;
    char text[RTO_TEXT_SIZE];
    check_equal(rto_compact_params_init(&params, config), status, line, "init");
    check_equal(rto_compact_check(config, text, sizeof text), status, line, "check");
    check(strcmp(text, message) == 0, line, text);
    check_equal(rto_compact_init(&timer, &params), RTO_STATUS_UNINITIALISED, line, "timer");
    check_equal(rto_compact_sent(&timer, 0), RTO_STATUS_UNINITIALISED, line, "sent");
}

static void compact_settings(void) {
    rto_config config = rto_config_rfc9002();
    compact_refused(&config, RTO_STATUS_COMPACT_MAX_RTO,
                    "max_rto 18446744073709551615.999999999s is not below 2147.483648s, 2^31 \xc2\xb5s (P73)",
                    __LINE__);
    config = rto_config_rfc9260();
    compact_refused(&config, RTO_STATUS_COMPACT_VARIANCE_FLOOR,
                    "an RTTVAR of zero cannot become G 1ms (P73)", __LINE__);
    config = rto_config_rfc6298();
    config.clear_after = 65536;
    compact_refused(&config, RTO_STATUS_COMPACT_CLEAR_AFTER,
                    "clear_after 65536 is above 65535 (P75)", __LINE__);
    config = rto_config_rfc6298();
    config.k = 8;
    compact_refused(&config, RTO_STATUS_COMPACT_GAINS,
                    "alpha 1/8, beta 1/4, k 8 are not 1/8, 1/4 and 4 (P73)", __LINE__);
    config.k = 0;
    compact_refused(&config, RTO_STATUS_K, "k 0 is not in 1 to 32 (2.2-1)", __LINE__);
}

/* Text is cut where the buffer ends, never within a character, and never goes beyond it. */
static void texts(void) {
    const char *whole = "RTO 2 s = 2 x 1 s initial, backed off once, expires in 2 s";
    rto_config config = rto_config_rfc6298();
    rto_timer timer = made(&config, NULL);
    OK(rto_timer_sent(&timer, 0));
    EQUAL(rto_timer_timeout(&timer, MS(1000), NULL), RTO_ACTION_RETRANSMIT);
    char text[RTO_TEXT_SIZE + 1];
    for (size_t size = 0; size <= strlen(whole) + 2; size++) {
        memset(text, '#', sizeof text);
        OK(rto_timer_explain(&timer, MS(1000), text, size));
        size_t length = size <= strlen(whole) ? size - 1 : strlen(whole);
        if (size == 0) {
            CHECK(text[0] == '#');
            continue;
        }
        CHECK(strlen(text) == length && memcmp(text, whole, length) == 0);
        CHECK(text[length + 1] == '#' && text[size] == '#');
    }
    OK(rto_timer_explain(&timer, MS(1000), text, SIZE_MAX)); /* no text is that long */
    CHECK(strcmp(text, whole) == 0);

    config.min_rto_ns = 61000000000;
    config.max_rto_ns = 1500; /* 1.5 us, with a Greek letter of two bytes */
    EQUAL(rto_config_check(&config, NULL, text, 34), RTO_STATUS_MIN_ABOVE_MAX);
    CHECK(strcmp(text, "min_rto 61s is above max_rto 1.5") == 0);
    EQUAL(rto_config_check(&config, NULL, text, 35), RTO_STATUS_MIN_ABOVE_MAX);
    CHECK(strcmp(text, "min_rto 61s is above max_rto 1.5\xc2\xb5") == 0);
    EQUAL(rto_config_check(&config, NULL, NULL, 99), RTO_STATUS_MIN_ABOVE_MAX);

    for (uint32_t status = 0; status < 100; status++) CHECK(strlen(rto_strerror(status)) > 3);
    CHECK(strcmp(rto_strerror(RTO_STATUS_K), "k is not in 1 to 32 (2.2-1)") == 0);
    CHECK(strcmp(rto_strerror(UINT32_MAX), "no such status") == 0);
}

/* Every function takes null, and memory that was never initialised. */
static void invalid(rto_timer *timer, rto_status status) {
    char text[RTO_TEXT_SIZE];
    uint64_t schedule[2];
    rto_timeout timeout;
    rto_snapshot snapshot = {0, 0};
    EQUAL(rto_timer_sent(timer, 0), status);
    EQUAL(rto_timer_handshake_sent(timer, 0), status);
    EQUAL(rto_timer_data_phase(timer, 0), status);
    EQUAL(rto_timer_acked(timer, 0, RTO_PROGRESS_ALL, 0), status);
    EQUAL(rto_timer_acked_since(timer, 0, 0, 0), status);
    EQUAL(rto_timer_sample(timer, 0, 0, 1), status);
    EQUAL(rto_timer_fast_retransmit(timer, 0), status);
    EQUAL(rto_timer_retransmitted(timer, 0), status);
    EQUAL(rto_timer_unreachable(timer, 0, 0), status);
    EQUAL(rto_timer_spurious_timeout(timer, 0), status);
    EQUAL(rto_timer_sample_after_spurious(timer, 0, snapshot, 0), status);
    EQUAL(rto_timer_timeout(timer, 0, &timeout), RTO_ACTION_INVALID);
    EQUAL(rto_timer_stop(timer, 0), status);
    EQUAL(rto_timer_poll_timeout(timer), RTO_NONE);
    EQUAL(rto_timer_rto(timer), RTO_NONE);
    EQUAL(rto_timer_srtt(timer), RTO_NONE);
    EQUAL(rto_timer_rttvar(timer), RTO_NONE);
    EQUAL(rto_timer_backoffs(timer), 0);
    EQUAL(rto_timer_snapshot(timer).rttvar_ns, RTO_NONE);
    EQUAL(rto_timer_schedule(timer, schedule, 2), status);
    EQUAL(rto_timer_explain(timer, 0, text, sizeof text), status);
    CHECK(strcmp(text, rto_strerror(status)) == 0);
}

static void invalid_compact(rto_compact_timer *timer, rto_compact_params *params,
                            rto_status status) {
    uint32_t deadline;
    EQUAL(rto_compact_init(timer, params), status);
    EQUAL(rto_compact_sent(timer, 0), status);
    EQUAL(rto_compact_handshake_sent(timer, 0), status);
    EQUAL(rto_compact_data_phase(timer, params), status);
    EQUAL(rto_compact_acked(timer, params, 0, RTO_PROGRESS_NONE, 0), status);
    EQUAL(rto_compact_acked_since(timer, params, 0, 0, 0), status);
    EQUAL(rto_compact_sample(timer, params, 0), status);
    EQUAL(rto_compact_timeout(timer, params, 0, NULL), RTO_ACTION_INVALID);
    CHECK(!rto_compact_poll_timeout(timer, &deadline));
    EQUAL(rto_compact_stop(timer), status);
    EQUAL(rto_compact_rto(timer), RTO_COMPACT_NONE);
    EQUAL(rto_compact_srtt(timer), RTO_COMPACT_NONE);
    EQUAL(rto_compact_rttvar(timer), RTO_COMPACT_NONE);
    EQUAL(rto_compact_backoffs(timer), 0);
}

static void misuse(void) {
    rto_config config = rto_config_rfc6298();
    rto_timer timer;
    rto_sampler sampler;
    rto_compact_params params;
    rto_compact_timer compact;
    invalid(NULL, RTO_STATUS_NULL_POINTER);
    invalid_compact(NULL, NULL, RTO_STATUS_NULL_POINTER);
    const int patterns[3] = {0, 0xff, 0xa5};
    for (int i = 0; i < 3; i++) {
        memset(&timer, patterns[i], sizeof timer);
        memset(&sampler, patterns[i], sizeof sampler);
        memset(&params, patterns[i], sizeof params);
        memset(&compact, patterns[i], sizeof compact);
        invalid(&timer, RTO_STATUS_UNINITIALISED);
        invalid_compact(&compact, &params, RTO_STATUS_UNINITIALISED);
        EQUAL(rto_sampler_sent(&sampler, 0, 0, 1), RTO_STATUS_UNINITIALISED);
        EQUAL(rto_sampler_acked(&sampler, 0, 1), RTO_NONE);
    }
    EQUAL(rto_timer_init(NULL, &config, NULL, NULL), RTO_STATUS_NULL_POINTER);
    EQUAL(rto_sampler_init(NULL), RTO_STATUS_NULL_POINTER);
    EQUAL(rto_sampler_sent(NULL, 0, 0, 1), RTO_STATUS_NULL_POINTER);
    EQUAL(rto_sampler_acked(NULL, 0, 1), RTO_NONE);
    EQUAL(rto_compact_params_init(NULL, &config), RTO_STATUS_NULL_POINTER);
    EQUAL(rto_compact_params_init(&params, NULL), RTO_STATUS_NULL_POINTER);

    timer = made(&config, NULL);
    EQUAL(rto_timer_acked(&timer, 0, 3, RTO_NONE), RTO_STATUS_PROGRESS);
    EQUAL(rto_timer_sample(&timer, 0, 1, 0), RTO_STATUS_EXPECTED);
    EQUAL(rto_timer_sample(&timer, 0, 1, 65536), RTO_STATUS_EXPECTED);
    EQUAL(rto_timer_schedule(&timer, NULL, 1), RTO_STATUS_NULL_POINTER);
    EQUAL(rto_timer_explain(&timer, 0, NULL, 1), RTO_STATUS_NULL_POINTER);
    OK(rto_timer_sample(&timer, 0, RTO_NONE, 1));
    EQUAL(rto_timer_srtt(&timer), RTO_NONE);
}

int main(void) {
    samples();
    unusual_samples();
    sending();
    backing_off();
    handshakes();
    limits();
    undoing();
    sampler();
    compact();
    settings();
    compact_settings();
    texts();
    misuse();
    printf("%u checks, %u failed\n", checks, failures);
    return failures != 0;
}
