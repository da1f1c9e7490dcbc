/*
 * The retransmission timer of RFC 6298, and of its relatives.
 *
 * You say what was sent, what was acknowledged and what time it is; the timer says when to retransmit,
 * and nothing else. It opens no socket, reads no clock and allocates nothing: all memory is yours.
 *
 *     rto_config config = rto_config_rfc6298();
 *     rto_timer timer;
 *     if (rto_timer_init(&timer, &config, NULL, NULL) != RTO_STATUS_OK) ...
 *
 * One timer per connection, and five steps in whatever loop you have:
 *
 * 1. Whenever a segment leaves, tell rto_timer_sent.
 * 2. Sleep until rto_timer_poll_timeout, or until a packet comes.
 * 3. For each ACK, find what it covers (rto_progress) and whether it gives a round trip (rto_rtt,
 *    rto_sampler), and tell rto_timer_acked.
 * 4. Call rto_timer_timeout; early is harmless. If it says RTO_ACTION_RETRANSMIT, send the earliest
 *    unacknowledged segment again. If it says RTO_ACTION_GIVE_UP, close.
 * 5. Go on with 2: the deadline may have moved.
 *
 * Every time is in nanoseconds since a moment of your choice, on a clock that never goes back, and so
 * is every deadline; one is due when it is at or before now. RTO_NONE is no time at all.
 *
 * Nothing here aborts, whatever it is given: null pointers, any numbers, calls in any order. A function
 * that changes something says how it went by an rto_status; one that reads gives RTO_NONE, false or 0
 * where there is nothing to read. An opaque struct that was not initialised is known by its first bytes,
 * and zeros never pass for an initialised one. What cannot be checked is yours to see to: that a pointer
 * leads to what its type says, and that the pointers of one call do not overlap.
 */

#ifndef RTO_H
#define RTO_H

/* Made from the Rust sources by cbindgen: change those. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RTO_MUST_USE __attribute__((warn_unused_result))
#else
#define RTO_MUST_USE
#endif

// No time at all: no deadline, no sample, no cap, no user timeout.
#define RTO_NONE UINT64_MAX

// A buffer of this size has room for every text.
#define RTO_TEXT_SIZE 256

// Size of an `rto_timer` in words of 64 bits, some of them to grow into.
#define RTO_TIMER_WORDS 32

// Size of an `rto_sampler` in words of 64 bits, some of them to grow into.
#define RTO_SAMPLER_WORDS 8

// No time at all, in the compact timer's microseconds: no sample, not yet.
#define RTO_COMPACT_NONE UINT32_MAX

// Size of an `rto_compact_params` in words of 32 bits, some of them to grow into.
#define RTO_COMPACT_PARAMS_WORDS 8

// Size of an `rto_compact_timer` in words of 32 bits.
#define RTO_COMPACT_TIMER_WORDS 7

// How a call went. `rto_strerror` has it in words; `rto_config_check` and
// `rto_compact_check` say what is wrong with which value.
enum rto_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Done.
  RTO_STATUS_OK = 0,
  // A pointer that must not be null is.
  RTO_STATUS_NULL_POINTER = 1,
  // An opaque struct was never initialised, or its initialisation failed.
  RTO_STATUS_UNINITIALISED = 2,
  // `progress` is no `rto_progress`.
  RTO_STATUS_PROGRESS = 3,
  // `expected` is not in 1 to 65535.
  RTO_STATUS_EXPECTED = 4,
  // `min_rto_ns` is above `max_rto_ns`.
  RTO_STATUS_MIN_ABOVE_MAX = 10,
  // `initial_rto_ns` is 0, or not between `min_rto_ns` and `max_rto_ns`.
  RTO_STATUS_INITIAL_OUT_OF_BOUNDS = 11,
  // `min_rto_ns` and `granularity_ns` are both 0.
  RTO_STATUS_NO_FLOOR = 12,
  // `granularity_ns` is above `max_rto_ns` or above 2^50.
  RTO_STATUS_GRANULARITY = 13,
  // `alpha` is not in (0, 1].
  RTO_STATUS_ALPHA = 14,
  // `beta` is not in (0, 1].
  RTO_STATUS_BETA = 15,
  // `k` is not in 1 to 32.
  RTO_STATUS_K = 16,
  // `max_sample_ns` is not in 1 to 2^50.
  RTO_STATUS_MAX_SAMPLE = 17,
  // `variance_floor` is no `rto_variance_floor`.
  RTO_STATUS_VARIANCE_FLOOR = 18,
  // `post_syn` is no `rto_post_syn`.
  RTO_STATUS_POST_SYN = 19,
  // `collapse` is no `rto_collapse`.
  RTO_STATUS_COLLAPSE = 20,
  // The configuration is refused for another reason.
  RTO_STATUS_CONFIG = 21,
  // The `kind` of a threshold is no `rto_threshold_kind`.
  RTO_STATUS_THRESHOLD_KIND = 30,
  // `user_timeout_ns` is 0.
  RTO_STATUS_USER_TIMEOUT = 31,
  // The compact timer has no room for this `max_rto_ns`.
  RTO_STATUS_COMPACT_MAX_RTO = 40,
  // The compact timer has the gains 1/8 and 1/4 and a `k` of 4 only.
  RTO_STATUS_COMPACT_GAINS = 41,
  // The compact timer has no such `variance_floor`.
  RTO_STATUS_COMPACT_VARIANCE_FLOOR = 42,
  // The compact timer counts back-offs up to 65535 only.
  RTO_STATUS_COMPACT_CLEAR_AFTER = 43,
  // The compact timer refuses the configuration for another reason.
  RTO_STATUS_COMPACT_CONFIG = 44,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_status rto_status;
#else
typedef uint32_t rto_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What to do now.
enum rto_action
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing: the deadline lies ahead, or the timer is stopped.
  RTO_ACTION_NONE = 0,
  // Retransmit the earliest unacknowledged segment; the timer runs again.
  RTO_ACTION_RETRANSMIT = 1,
  // Close the connection: a limit was reached; the timer is stopped.
  RTO_ACTION_GIVE_UP = 2,
  // None of these: the timer is null or not initialised.
  RTO_ACTION_INVALID = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_action rto_action;
#else
typedef uint32_t rto_action;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The limit at which a connection was given up.
enum rto_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It was not given up.
  RTO_LIMIT_NONE = 0,
  // `r2` or `handshake_r2`.
  RTO_LIMIT_R2 = 1,
  // `user_timeout_ns`.
  RTO_LIMIT_USER_TIMEOUT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_limit rto_limit;
#else
typedef uint32_t rto_limit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an ACK tells about the data outstanding.
enum rto_progress
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It covers no new data: a duplicate, a window update. The timer is not moved.
  RTO_PROGRESS_NONE = 0,
  // It covers new data and more is outstanding: the timer restarts.
  RTO_PROGRESS_SOME = 1,
  // It covers new data and nothing is left outstanding: the timer stops.
  RTO_PROGRESS_ALL = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_progress rto_progress;
#else
typedef uint32_t rto_progress;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where the granularity G takes the place of a variance that is too small.
enum rto_variance_floor
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // k x RTTVAR is at least G, as RFC 6298 has it.
  RTO_VARIANCE_FLOOR_TERM = 0,
  // An RTTVAR that computes to zero becomes G, as RFC 9260 has it.
  RTO_VARIANCE_FLOOR_ZERO_RTTVAR = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_variance_floor rto_variance_floor;
#else
typedef uint32_t rto_variance_floor;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a handshake that timed out does to the RTO when data transmission begins.
enum rto_post_syn
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The RTO becomes 3 s unless it is larger already.
  RTO_POST_SYN_RAISE = 0,
  // The RTO becomes exactly 3 s, within floor and cap.
  RTO_POST_SYN_REPLACE = 1,
  // The RTO stays as it is: for protocols without this rule.
  RTO_POST_SYN_KEEP = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_post_syn rto_post_syn;
#else
typedef uint32_t rto_post_syn;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What ends a back-off.
enum rto_collapse
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Only a valid sample, as RFC 6298 has it.
  RTO_COLLAPSE_ON_SAMPLE = 0,
  // Any ACK of new data, as RFC 9002 has it.
  RTO_COLLAPSE_ON_ANY_ACK = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_collapse rto_collapse;
#else
typedef uint32_t rto_collapse;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a threshold counts.
enum rto_threshold_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing: it is never reached.
  RTO_THRESHOLD_KIND_NEVER = 0,
  // `retransmissions`.
  RTO_THRESHOLD_KIND_RETRANSMISSIONS = 1,
  // `after_ns`.
  RTO_THRESHOLD_KIND_AFTER = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rto_threshold_kind rto_threshold_kind;
#else
typedef uint32_t rto_threshold_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An exact ratio, such as 1/8.
typedef struct rto_gain {
  // Numerator.
  uint16_t num;
  // Denominator.
  uint16_t den;
} rto_gain;

// The parameters of the estimator and the timer. Begin with a preset, such as
// `rto_config_rfc6298()`, and change what differs.
typedef struct rto_config {
  // RTO before the first sample, from `min_rto_ns` to `max_rto_ns`. RFC 6298: 1 s.
  uint64_t initial_rto_ns;
  // Floor of every computed RTO, 0 for none. RFC 6298: 1 s.
  uint64_t min_rto_ns;
  // Cap of every RTO, `RTO_NONE` for none. RFC 6298: 60 s.
  uint64_t max_rto_ns;
  // Tick of the clock that measures round trips, G: the least variance term; at most 2^50.
  // RFC 6298: 0, since a clock in nanoseconds is finer than any round trip.
  uint64_t granularity_ns;
  // Larger samples count as this much, 1 to 2^50. RFC 6298: 1 h.
  uint64_t max_sample_ns;
  // Weight of a sample in SRTT, in (0, 1]. RFC 6298: 1/8.
  struct rto_gain alpha;
  // Weight of a deviation in RTTVAR, in (0, 1]. RFC 6298: 1/4.
  struct rto_gain beta;
  // How many RTTVAR the RTO lies above SRTT, 1 to 32. RFC 6298: 4.
  uint32_t k;
  // After how many consecutive back-offs SRTT and RTTVAR are cleared, 0 for never.
  // RFC 6298: 0.
  uint32_t clear_after;
  // An `rto_variance_floor`: what G is the least value of. RFC 6298: the term.
  uint32_t variance_floor;
  // An `rto_post_syn`: what a handshake that timed out does to the data phase. RFC 6298: raise.
  uint32_t post_syn;
  // An `rto_collapse`: what ends a back-off. RFC 6298: a sample.
  uint32_t collapse;
} rto_config;

// How much is too much, by count or by time.
typedef struct rto_threshold {
  // An `rto_threshold_kind`: which of the two counts.
  uint32_t kind;
  // So many retransmissions of the same data.
  uint32_t retransmissions;
  // So much time since its first transmission.
  uint64_t after_ns;
} rto_threshold;

// When a connection that gets no answer is reported and when it is given up. The time counts from
// the first transmission of the data that is still unacknowledged.
//
// Begin with `rto_limits_none()` or `rto_limits_rfc9293()` and change what differs. What a choice
// means can be seen before it is made: `rto_timer_schedule`.
typedef struct rto_limits {
  // R1: the expiry that reaches it says so, once: the route may be stale. Of `n`
  // retransmissions, that is the expiry that makes the `n`-th.
  struct rto_threshold r1;
  // R2 for data: the expiry at which the connection is given up. Of `n` retransmissions,
  // all `n` are sent, and the expiry after them gives up.
  struct rto_threshold r2;
  // R2 for a handshake, counted as `r2` is.
  struct rto_threshold handshake_r2;
  // How long data may stay unacknowledged at most, `RTO_NONE` for ever. No deadline lies beyond
  // it, and the RTO does not change.
  uint64_t user_timeout_ns;
} rto_limits;

// The retransmission timer of one connection, estimator included: 256 bytes of yours. It knows
// times, not data: what was sent stays with you.
//
// Copy and move it as you like. Different timers can be used by different threads; one timer, by
// one at a time.
typedef struct rto_timer {
  uint64_t opaque[RTO_TIMER_WORDS];
} rto_timer;

// SRTT and RTTVAR, to keep for the next connection to the same peer or over a timeout that may
// prove spurious. Both are `RTO_NONE` where there was no sample.
typedef struct rto_snapshot {
  // The smoothed round-trip time.
  uint64_t srtt_ns;
  // The round-trip time variation.
  uint64_t rttvar_ns;
} rto_snapshot;

// The deadline has come. What does not belong to the action is 0.
//
// If the earliest segment was retransmitted lately for another reason (later ones were
// acknowledged), take the earliest one whose last transmission is at least `rto_ns` ago: none may
// go out sooner.
typedef struct rto_timeout {
  // Retransmit: the RTO in force until now: the one that ran out, unless a sample changed it
  // while the timer ran.
  uint64_t rto_ns;
  // Retransmit: the doubled RTO, with which the timer runs again.
  uint64_t next_rto_ns;
  // Give up: how long the data had been waiting.
  uint64_t elapsed_ns;
  // Retransmit: how often the RTO was doubled since the last sample, this time included.
  uint32_t backoffs;
  // Give up: how often the data was retransmitted in vain.
  uint32_t retransmissions;
  // Give up: at which limit.
  rto_limit limit;
  // Retransmit: whether R1 was reached now, so that the route may be stale.
  bool r1;
} rto_timeout;

// Measures round trips for stacks whose retransmissions repeat sequence numbers (Karn): one segment
// is timed at a time, and what was sent twice gives no sample. 64 bytes of yours.
//
// Sequence numbers are 64 bits wide and never wrap: unwrap narrower ones first, and give a SYN or
// FIN its own number as TCP does.
typedef struct rto_sampler {
  uint64_t opaque[RTO_SAMPLER_WORDS];
} rto_sampler;

// Checked settings, 32 bytes of yours: one serves every compact timer. Hand every call of one timer
// the same one.
typedef struct rto_compact_params {
  uint32_t opaque[RTO_COMPACT_PARAMS_WORDS];
} rto_compact_params;

// The retransmission timer for firmware, 28 bytes of yours, one per connection: 32-bit arithmetic
// without multiplications, on a free-running counter of microseconds that wraps every 71.6 minutes
// and may start anywhere. Deadlines are instants of the same counter, fit for a compare register.
// Rust's takes 24 bytes; the four more tell whether it was initialised.
//
// The functions do what their namesakes of `rto_timer` do. The RTO is never earlier than exact and
// less than 3 us later; its cap is below 35.8 minutes, and samples above 134 s count as that much.
// There are no limits: give up when `backoffs` says so.
typedef struct rto_compact_timer {
  uint32_t opaque[RTO_COMPACT_TIMER_WORDS];
} rto_compact_timer;

// The compact timer has expired.
typedef struct rto_compact_expiry {
  // The RTO in force until now.
  uint32_t rto_us;
  // The doubled RTO, with which the timer runs again.
  uint32_t next_rto_us;
  // How often the RTO was doubled since the last sample, this time included; up to 65535.
  uint32_t backoffs;
} rto_compact_expiry;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A status in words, with the rule it is about: text that is always there. A number that is no
// status has words, too.
const char *rto_strerror(uint32_t status);

// RFC 6298 to the letter, for round trips up to 1 h.
struct rto_config rto_config_rfc6298(void);

// RFC 2988, which RFC 6298 replaced: the initial RTO is 3 s.
struct rto_config rto_config_rfc2988(void);

// RFC 9002 (QUIC): 999 ms at first, no floor, no cap, G = 1 ms, and any ACK ends a back-off: the
// probe timeout without `max_ack_delay` and packet number spaces.
struct rto_config rto_config_rfc9002(void);

// RFC 9260 (SCTP): an RTTVAR that computes to zero becomes G, here 1 ms.
struct rto_config rto_config_rfc9260(void);

// Games and local networks: the floor is 200 ms.
struct rto_config rto_config_games(void);

// Never gives up.
struct rto_limits rto_limits_none(void);

// The least that RFC 9293 asks for: R1 at 3 retransmissions, R2 at 100 s, 3 min for a handshake.
struct rto_limits rto_limits_rfc9293(void);

// What `rto_timer_init` says of a configuration and limits (null for none), and in `message` the
// reason: the value and the rule it breaks, cut to `size` bytes with the NUL at the end. There is
// always room in `RTO_TEXT_SIZE`. A null `message` takes none.
//
// `message` is null or points to `size` bytes that may be written.
rto_status rto_config_check(const struct rto_config *config,
                            const struct rto_limits *limits,
                            char *message,
                            size_t size);

// Makes a stopped timer. `limits` may be null: it never gives up. `cached` may be null; otherwise
// the estimate starts from it, as RFC 9040 lets a new connection start from what an earlier one
// learned.
//
// If the settings are refused, `rto_config_check` says why, and the timer is as if never
// initialised.
RTO_MUST_USE
rto_status rto_timer_init(struct rto_timer *timer,
                          const struct rto_config *config,
                          const struct rto_limits *limits,
                          const struct rto_snapshot *cached);

// A segment left, new or repeated, or would have left if the socket had taken it. Starts a stopped
// timer and leaves a running one alone.
rto_status rto_timer_sent(struct rto_timer *timer, uint64_t now_ns);

// A SYN, or whatever opens the connection, was sent: as `rto_timer_sent`, and its expiry will count
// as one of the handshake.
rto_status rto_timer_handshake_sent(struct rto_timer *timer, uint64_t now_ns);

// Data transmission begins: if the handshake timed out and no valid sample has come since, the RTO
// is raised to 3 s. A running timer is not moved, so call this before telling of the first data
// sent.
rto_status rto_timer_data_phase(struct rto_timer *timer, uint64_t now_ns);

// An ACK arrived: `progress` is an `rto_progress`, `rtt_ns` the round trip that it gives, or
// `RTO_NONE`. Only unambiguous ones may be given (Karn): of a packet number that is never reused or
// an echoed timestamp, see `rto_rtt`, or from an `rto_sampler`.
//
// The RTO is recomputed before the timer restarts with it; without a sample it stays backed off.
rto_status rto_timer_acked(struct rto_timer *timer,
                           uint64_t now_ns,
                           uint32_t progress,
                           uint64_t rtt_ns);

// As `rto_timer_acked` with `RTO_PROGRESS_SOME`, but the timer counts from `sent_at_ns`, when the
// earliest segment outstanding was last sent: an RTO after it, or an RTO from now if that is over.
// RFC 7765 asks for this where fewer than four segments are outstanding or waiting.
rto_status rto_timer_acked_since(struct rto_timer *timer,
                                 uint64_t now_ns,
                                 uint64_t sent_at_ns,
                                 uint64_t rtt_ns);

// A round trip came by itself, as timestamps give one with every ACK. A running timer is not moved.
// `expected` is how many samples a round trip brings: 1, or `rto_expected_samples` where every ACK
// brings one. `RTO_NONE` is no sample and does nothing.
rto_status rto_timer_sample(struct rto_timer *timer,
                            uint64_t now_ns,
                            uint64_t rtt_ns,
                            uint32_t expected);

// A segment was retransmitted because later ones were acknowledged; in place of `rto_timer_sent`.
// That is no timeout, so nothing doubles; only a stopped timer starts.
rto_status rto_timer_fast_retransmit(struct rto_timer *timer, uint64_t now_ns);

// The segment that a timeout asked for left, later than it was asked for: the timer counts from
// now. There is no need to tell of one that left at once.
rto_status rto_timer_retransmitted(struct rto_timer *timer, uint64_t now_ns);

// An ICMP message tells that the last retransmission, sent at `sent_at_ns`, met a broken path: one
// back-off is undone, and a running timer counts the shorter RTO from `sent_at_ns` (RFC 6069). It
// may be due at once.
rto_status rto_timer_unreachable(struct rto_timer *timer, uint64_t now_ns, uint64_t sent_at_ns);

// The timeouts since the last sample proved spurious: the first ACK of new data after them echoes a
// timestamp from before the retransmission (RFC 3522). Every back-off is undone, and a running timer
// counts from now. The next sample of new data goes to `rto_timer_sample_after_spurious`.
rto_status rto_timer_spurious_timeout(struct rto_timer *timer,
                                      uint64_t now_ns);

// The first sample of data sent after a timeout that proved spurious; `before` is the
// `rto_timer_snapshot` from before that timeout (RFC 4015). Restarts a running timer. A `before`
// without a sample makes this an ordinary `rto_timer_sample`.
rto_status rto_timer_sample_after_spurious(struct rto_timer *timer,
                                           uint64_t now_ns,
                                           struct rto_snapshot before,
                                           uint64_t rtt_ns);

// When the deadline has come, doubles the RTO, restarts the timer from now and asks you to
// retransmit, or to give up if a limit is reached; `timeout` has the details and may be null.
// Before the deadline, and while stopped, does nothing and leaves `timeout` alone: a call too early
// is harmless. A late call is one expiry.
RTO_MUST_USE
rto_action rto_timer_timeout(struct rto_timer *timer,
                             uint64_t now_ns,
                             struct rto_timeout *timeout);

// Stops the timer, as when the connection is over; a later send or ACK of part of the data starts it
// again. The RTO and its back-off stay, and so does what the limits count.
rto_status rto_timer_stop(struct rto_timer *timer,
                          uint64_t now_ns);

// When to call `rto_timer_timeout`, or `RTO_NONE`: the timer is stopped (or null, or not
// initialised). Every other call may change it.
uint64_t rto_timer_poll_timeout(const struct rto_timer *timer);

// The retransmission timeout in force, never 0. `RTO_NONE` for a timer that is null or not
// initialised.
uint64_t rto_timer_rto(const struct rto_timer *timer);

// The smoothed round-trip time, to the nearest ns, or `RTO_NONE`: no sample yet, or cleared.
uint64_t rto_timer_srtt(const struct rto_timer *timer);

// The round-trip time variation, to the nearest ns, or `RTO_NONE`: no sample yet, or cleared.
uint64_t rto_timer_rttvar(const struct rto_timer *timer);

// How often the RTO was doubled since the last sample.
uint32_t rto_timer_backoffs(const struct rto_timer *timer);

// SRTT and RTTVAR, for `rto_timer_init` and `rto_timer_sample_after_spurious`.
struct rto_snapshot rto_timer_snapshot(const struct rto_timer *timer);

// When the timer would expire if nothing were ever acknowledged, counted from a send: the first
// `count` instants. With the initial RTO of RFC 6298: 1, 3, 7, 15, 31, 63, 123, 183 s and so on.
//
// `after_ns` points to `count` numbers that may be written.
rto_status rto_timer_schedule(const struct rto_timer *timer, uint64_t *after_ns, size_t count);

// The RTO, its reasons and the time left, in one line, cut to `size` bytes with the NUL at the end:
// `RTO 2 s = 2 x 1 s initial, backed off once, expires in 2 s`. There is always room in
// `RTO_TEXT_SIZE`. Of a timer that is null or not initialised, says that.
//
// `buffer` points to `size` bytes that may be written.
rto_status rto_timer_explain(const struct rto_timer *timer,
                             uint64_t now_ns,
                             char *buffer,
                             size_t size);

// Starts at sequence number 0, nothing sent.
rto_status rto_sampler_init(struct rto_sampler *sampler);

// The bytes from `start` on, up to but without `end`, were sent. Fresh ones start a measurement if
// none runs; a range that repeats any byte voids the running one. An empty range does nothing.
rto_status rto_sampler_sent(struct rto_sampler *sampler,
                            uint64_t now_ns,
                            uint64_t start,
                            uint64_t end);

// Everything below `upto` is acknowledged. Gives the round trip in ns if this ACK ends a
// measurement, for `rto_timer_acked`, and otherwise `RTO_NONE`.
RTO_MUST_USE
uint64_t rto_sampler_acked(struct rto_sampler *sampler,
                           uint64_t now_ns,
                           uint64_t upto);

// The round trip in ns of a transmission that the ACK names, by a packet number that is never reused
// or by its echoed timestamp. `RTO_NONE` where the ACK lies before the send: the clock went back.
uint64_t rto_rtt(uint64_t sent_at_ns,
                 uint64_t acked_at_ns);

// How many samples a round trip brings with timestamps, when every second segment is acknowledged:
// `expected` of `rto_timer_sample` (RFC 7323). At least 1; `flight_size` and `smss` in bytes.
uint32_t rto_expected_samples(uint64_t flight_size, uint32_t smss);

// Checks settings and makes them ready. What is no whole number of microseconds is rounded up. If
// they are refused, `rto_compact_check` says why.
RTO_MUST_USE
rto_status rto_compact_params_init(struct rto_compact_params *params,
                                   const struct rto_config *config);

// What `rto_compact_params_init` says of a configuration, and in `message` the reason: the value and
// the rule it breaks, cut to `size` bytes with the NUL at the end. There is always room in
// `RTO_TEXT_SIZE`. A null `message` takes none.
//
// `message` is null or points to `size` bytes that may be written.
rto_status rto_compact_check(const struct rto_config *config,
                             char *message,
                             size_t size);

// Makes a stopped timer.
RTO_MUST_USE
rto_status rto_compact_init(struct rto_compact_timer *timer,
                            const struct rto_compact_params *params);

// A segment left, new or repeated, for whatever reason. Starts a stopped timer and leaves a running
// one alone.
rto_status rto_compact_sent(struct rto_compact_timer *timer, uint32_t now_us);

// A SYN, or whatever opens the connection, was sent.
rto_status rto_compact_handshake_sent(struct rto_compact_timer *timer, uint32_t now_us);

// Data transmission begins; call this before telling of the first data sent.
rto_status rto_compact_data_phase(struct rto_compact_timer *timer,
                                  const struct rto_compact_params *params);

// An ACK arrived: `progress` is an `rto_progress`, `rtt_us` the round trip that it gives, from
// `rto_compact_elapsed`, or `RTO_COMPACT_NONE`.
rto_status rto_compact_acked(struct rto_compact_timer *timer,
                             const struct rto_compact_params *params,
                             uint32_t now_us,
                             uint32_t progress,
                             uint32_t rtt_us);

// As `rto_compact_acked` with `RTO_PROGRESS_SOME`, but the timer counts from `sent_at_us`, when the
// earliest segment outstanding was last sent: an RTO after it, or an RTO from now if that is over.
rto_status rto_compact_acked_since(struct rto_compact_timer *timer,
                                   const struct rto_compact_params *params,
                                   uint32_t now_us,
                                   uint32_t sent_at_us,
                                   uint32_t rtt_us);

// A round trip came by itself, as timestamps give one with every ACK. A running timer is not moved.
rto_status rto_compact_sample(struct rto_compact_timer *timer,
                              const struct rto_compact_params *params,
                              uint32_t rtt_us);

// When the deadline has come, doubles the RTO, restarts the timer from now and asks you to
// retransmit; `expiry` has the details and may be null. Before it, and while stopped, does nothing.
//
// Call it within 35.8 minutes of the deadline: from then on, and for as long, the deadline is taken
// for one to come.
RTO_MUST_USE
rto_action rto_compact_timeout(struct rto_compact_timer *timer,
                               const struct rto_compact_params *params,
                               uint32_t now_us,
                               struct rto_compact_expiry *expiry);

// Whether the timer runs; if so, `deadline_us` is when to call `rto_compact_timeout`.
RTO_MUST_USE
bool rto_compact_poll_timeout(const struct rto_compact_timer *timer,
                              uint32_t *deadline_us);

// Stops the timer. The RTO and its back-off stay.
rto_status rto_compact_stop(struct rto_compact_timer *timer);

// The retransmission timeout in force: never 0, below 2^31. `RTO_COMPACT_NONE` for a timer that is
// null or not initialised.
uint32_t rto_compact_rto(const struct rto_compact_timer *timer);

// The smoothed round-trip time, to the nearest microsecond, or `RTO_COMPACT_NONE`.
uint32_t rto_compact_srtt(const struct rto_compact_timer *timer);

// The round-trip time variation, to the nearest microsecond, or `RTO_COMPACT_NONE`.
uint32_t rto_compact_rttvar(const struct rto_compact_timer *timer);

// How often the RTO was doubled since the last sample, up to 65535.
uint32_t rto_compact_backoffs(const struct rto_compact_timer *timer);

// The microseconds from `earlier_us` to `later_us`, two readings of the counter that wraps, or
// `RTO_COMPACT_NONE` if `later_us` is the earlier one, that is, 2^31 or more ahead. So it gives a
// round trip, and the time left until a deadline.
uint32_t rto_compact_elapsed(uint32_t earlier_us, uint32_t later_us);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RTO_H */
