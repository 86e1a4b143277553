/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks without MPI: packets come out as they were put in; a rank does what rank 0 says; rank 0
 * gives trials to a rank and hears what becomes of them. The other side is played by the mail. */
#include "scripted_pool.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "run/ranks.h"

/* ---- A clock that stands still but for sleeps, which take no time ---- */

static double now; /* by this clock; 0: the machine's */
static double longest_nap;
static size_t naps;

int clock_gettime(clockid_t id, struct timespec *out) {
    if (now == 0.0 || id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, out);
    *out = (struct timespec){(time_t)now, (long)(1e9 * (now - (double)(time_t)now))};
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    if (now == 0.0) return (int)syscall(SYS_nanosleep, time, left);
    const double seconds = (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
    now += seconds;
    longest_nap = fmax(longest_nap, seconds);
    ++naps;
    return 0;
}

static void stop_clock(void) {
    now = 1000.0;
}

/* ---- The mail ---- */

typedef struct parcel {
    int rank, size; /* who sent it */
    unsigned char bytes[8192];
} parcel;

static parcel box[8];
static size_t taken, there;
static int ends;                                        /* how often MPI was ended */
static void (*hear_of)(int rank, const parcel *parcel); /* what this process has sent to a rank */

static void drop(int rank, const void *bytes, size_t size) {
    parcel *to = &box[there++ % 8];
    assert_true(there - taken <= 8 && size <= sizeof to->bytes);
    to->rank = rank;
    to->size = (int)size;
    memcpy(to->bytes, bytes, size);
}

static void *mail_send(const void *bytes, int size, int rank) {
    static parcel last;
    assert_true((size_t)size <= sizeof last.bytes);
    last.size = size;
    memcpy(last.bytes, bytes, (size_t)size);
    hear_of(rank, &last);
    return &last;
}

static int on_its_way; /* how often a letter is said to be still on its way */

static int mail_sent(void *handle) {
    return handle != NULL && (on_its_way == 0 || --on_its_way == 0);
}

static int mail_probe(int *rank, int *size) {
    if (taken == there) return 0;
    *rank = box[taken % 8].rank;
    *size = box[taken % 8].size;
    return 1;
}

static int mail_receive(void *bytes, int size, int rank) {
    const parcel *from = &box[taken++ % 8];
    if (from->rank != rank || from->size != size) return -1;
    memcpy(bytes, from->bytes, (size_t)size);
    return 0;
}

static void mail_end(void) {
    ++ends;
}

static dpa_ranks *join(int rank, void (*hear)(int, const parcel *)) {
    static const dpa__mail mail = {.version = DPA__MAIL_VERSION,
                                   .end = mail_end,
                                   .send = mail_send,
                                   .sent = mail_sent,
                                   .probe = mail_probe,
                                   .receive = mail_receive};
    dpa_ranks *ranks = calloc(1, sizeof *ranks);
    assert_non_null(ranks);
    ranks->lost = calloc(2, sizeof *ranks->lost);
    *ranks = (dpa_ranks){.mail = &mail, .rank = rank, .size = 2, .lost = ranks->lost, .cores = 1};
    hear_of = hear;
    taken = there = 0;
    ends = 0;
    return ranks;
}

static dpa__packet_head head_of(const parcel *p) {
    dpa__packet_head head;
    assert_true((size_t)p->size >= sizeof head);
    memcpy(&head, p->bytes, sizeof head);
    return head;
}

/* From the other rank: the head, the values, the words. */
static void deliver(int rank, dpa__packet_head head, const double *values, const char *said) {
    unsigned char bytes[1024];
    const size_t numbers = head.values * sizeof *values;
    head.said = strlen(said);
    memcpy(bytes, &head, sizeof head);
    if (numbers > 0) memcpy(bytes + sizeof head, values, numbers);
    memcpy(bytes + sizeof head + numbers, said, head.said);
    drop(rank, bytes, sizeof head + numbers + head.said);
}

/* ---- Packets ---- */

static void echo(int rank, const parcel *p) {
    if (head_of(p).kind != DPA__PACKET_STOP) drop(rank, p->bytes, (size_t)p->size);
}

static void packets(void **state) {
    (void)state;
    const double values[2] = {1.5, -2.0};
    const dpa_error failure = {.status = DPA_TRAINER, .place = "here", .text = "it broke"};
    dpa_ranks *ranks = join(0, echo);
    dpa__packet p;
    int some = 0;
    for (unsigned k = 0; k < 8; ++k) { /* with and without values, words, a failure */
        const dpa__packet_head head = {.kind = DPA__PACKET_OUTCOME,
                                       .slot = 3,
                                       .stage = 2,
                                       .status = k & 4U ? DPA_TRAINER : DPA_OK,
                                       .crashed = 1,
                                       .index = UINT64_C(1) << 40,
                                       .values = k & 1U ? 2 : 0,
                                       .said = k & 2U ? 5 : 0,
                                       .seconds = 0.25};
        assert_ok(dpa__packet_send(ranks, 1, &head, values, "words", &failure, &err));
        const parcel whole = box[taken % 8];
        assert_ok(dpa__packet_take(ranks, &p, &some, &err));
        assert_int_equal(some, 1);
        assert_int_equal(p.rank, 1);
        assert_memory_equal(&p.head, &head, sizeof head);
        assert_int_equal(p.values.count, head.values);
        if (k & 1U) assert_memory_equal(p.values.items, values, sizeof values);
        if (k & 2U) assert_string_equal(p.said, "words");
        if (!(k & 2U)) assert_null(p.said);
        assert_string_equal(p.error.text, k & 4U ? "it broke" : "");
        dpa__packet_free(&p);
        assert_ok(dpa__packet_take(ranks, &p, &some, &err));
        assert_int_equal(some, 0);
        for (int size = 0; size <= whole.size + 1; ++size) { /* of another size: refused */
            if (size == whole.size) continue;
            drop(1, whole.bytes, (size_t)size);
            assert_int_equal(dpa__packet_take(ranks, &p, &some, &err), DPA_INTERNAL);
        }
    }
    dpa_ranks_leave(ranks);
    assert_int_equal(ends, 1);
}

/* ---- A rank that serves ---- */

static struct {
    int hellos, outcomes, losses;
    int is_told_to_end; /* by the batch system, as soon as it has said hello */
    dpa__packet_head hello, outcome;
    char words[256];
    double value, far[4];
    dpa_error error;
} heard;

static void as_rank_0(int rank, const parcel *p) {
    const dpa__packet_head head = head_of(p);
    const unsigned char *rest = p->bytes + sizeof head;
    assert_int_equal(rank, 0);
    if (head.kind == DPA__PACKET_HELLO) {
        const double brief = 2.5;
        ++heard.hellos;
        if (heard.is_told_to_end) assert_int_equal(raise(SIGTERM), 0);
        heard.hello = head;
        (void)snprintf(heard.words, sizeof heard.words, "%.*s", (int)head.said, (const char *)rest);
        deliver(0, (dpa__packet_head){.kind = DPA__PACKET_BRIEF, .values = 1}, &brief, "");
        deliver(0, (dpa__packet_head){.kind = DPA__PACKET_PLAY, .slot = 1}, NULL, "");
    }
    if (head.kind == DPA__PACKET_ALIVE && head.values == 4)
        memcpy(heard.far, rest, sizeof heard.far);
    if (head.kind == DPA__PACKET_LOST) {
        ++heard.losses;
        memcpy(&heard.error, p->bytes + (size_t)p->size - sizeof heard.error, sizeof heard.error);
        deliver(0, (dpa__packet_head){.kind = DPA__PACKET_STOP}, NULL, "");
    }
    if (head.kind == DPA__PACKET_OUTCOME) {
        ++heard.outcomes;
        heard.outcome = head;
        if (head.values == 1) memcpy(&heard.value, rest, sizeof heard.value);
        if (head.status != DPA_OK)
            memcpy(&heard.error, p->bytes + (size_t)p->size - sizeof heard.error,
                   sizeof heard.error);
        deliver(0, (dpa__packet_head){.kind = DPA__PACKET_STOP}, NULL, "");
    }
}

/* It says who it is, tells its second worker the brief and the trial, and sends back how far that
 * is and what becomes of it. */
static void serves(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "cat ready && head -c 72 >second && cat progress0 && sleep 2.5 && cat result0",
        "cat ready && head -c 72 >/dev/null && echo oh no >&2 && exit 7"};
    for (int fails = 0; fails < 2; ++fails) {
        dpa_run_opts opts = options_of(scripts[fails]);
        char store[128], host[64] = "", want[256], told[73];
        dpa__text keys = {0};
        (void)snprintf(store, sizeof store, "%s", file("store"));
        opts.store = store;
        opts.workers = 2;
        memset(&heard, 0, sizeof heard);
        dpa_ranks *ranks = join(1, as_rank_0);
        assert_ok(dpa_ranks_serve(ranks, &opts, &game, &err));
        dpa_ranks_leave(ranks);
        assert_int_equal(ends, 1);
        assert_true(heard.hellos == 1 && heard.outcomes == 1);
        assert_int_equal(heard.hello.slot, 2);
        (void)gethostname(host, sizeof host - 1);
        assert_ok(dpa__wire_keys(&game, &keys, &err));
        (void)snprintf(want, sizeof want, "%s\n%s", host, keys.data);
        dpa__text_free(&keys);
        assert_string_equal(heard.words, want);
        assert_true(heard.outcome.slot == 1 && heard.outcome.index == 0);
        assert_int_equal(heard.outcome.retired, 0);
        assert_int_equal(heard.outcome.crashed, fails);
        assert_int_equal(heard.outcome.status, fails ? DPA_IO : DPA_OK);
        assert_int_equal(heard.outcome.said, fails ? strlen("oh no\n") : 0);
        if (fails) {
            assert_non_null(strstr(heard.error.text, "exit code 7"));
            continue;
        }
        assert_true(heard.value == 42.0);
        assert_true(heard.far[0] == 0 && heard.far[1] == 0);
        assert_true(heard.far[2] == 3 && heard.far[3] == 10);
        dpa__message m;
        size_t used = 0;
        double brief = 0.0;
        FILE *from = fopen(file("second"), "rb");
        assert_non_null(from);
        assert_int_equal(fread(told, 1, sizeof told, from), 72);
        (void)fclose(from);
        assert_ok(dpa__wire_take((unsigned char *)told, 72, &m, &used, &err));
        assert_true(m.kind == DPA__WIRE_BRIEF && m.size == sizeof brief);
        memcpy(&brief, m.payload, sizeof brief);
        assert_true(brief == 2.5);
    }
}

/* Told to end, it goes on until rank 0 says so. */
static void told_to_end(void **state) {
    (void)state;
    dpa_run_opts opts = options_of("cat ready && head -c 72 >/dev/null && cat result0");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    opts.workers = 2;
    memset(&heard, 0, sizeof heard);
    heard.is_told_to_end = 1;
    dpa_ranks *ranks = join(1, as_rank_0);
    assert_ok(dpa_ranks_serve(ranks, &opts, &game, &err));
    dpa_ranks_leave(ranks);
    assert_true(heard.outcomes == 1 && heard.losses == 0 && heard.value == 42.0);
}

/* Where no worker can be started, it says that it is lost, and why, and then does as it is told. */
static void cannot_serve(void **state) {
    (void)state;
    static const char *words[] = {"/no/such/worker", NULL};
    dpa_run_opts opts = options_of("true");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    opts.worker = words;
    opts.workers = 2;
    memset(&heard, 0, sizeof heard);
    dpa_ranks *ranks = join(1, as_rank_0);
    assert_int_equal(dpa_ranks_serve(ranks, &opts, &game, &err), DPA_IO);
    dpa_ranks_leave(ranks);
    assert_true(heard.hellos == 1 && heard.losses == 1 && heard.outcomes == 0);
    assert_non_null(strstr(heard.error.text, "/no/such/worker"));
    assert_string_equal(err.text, heard.error.text);
}

/* ---- Rank 0 ---- */

static dpa__packet_head brief_sent, play_sent;
static int stops;

static void as_rank_1(int rank, const parcel *p) {
    const dpa__packet_head head = head_of(p);
    assert_int_equal(rank, 1);
    stops += head.kind == DPA__PACKET_STOP;
    if (head.kind == DPA__PACKET_BRIEF) brief_sent = head;
    if (head.kind == DPA__PACKET_PLAY) play_sent = head;
}

static void say_hello(const char *words) {
    char said[256];
    dpa__text keys = {0};
    assert_ok(dpa__wire_keys(&game, &keys, &err));
    (void)snprintf(said, sizeof said, "node7\n%s%s", keys.data, words);
    dpa__text_free(&keys);
    deliver(1, (dpa__packet_head){.kind = DPA__PACKET_HELLO, .slot = 2}, NULL, said);
}

static dpa__outcome await(dpa__transport *t) {
    dpa__outcome out = {0};
    assert_ok(await_outcome(t, &out));
    return out;
}

/* The ring of a worker here and two of rank 1. */
static void plays_there(dpa__transport *t) {
    static const double done[4] = {1, 2, 3, 4}, value = 7.0;
    double far[2] = {0, 0};
    char place[DPA__PLACE_SIZE];
    t->place(t->self, 2, place);
    assert_string_equal(place, "node7 rank 1 slot 1");
    t->place(t->self, 0, place);
    assert_non_null(strstr(place, " rank 0 slot 0"));
    assert_ok(t->submit(t->self, 2, 0, 9, &err));
    assert_true(play_sent.slot == 1 && play_sent.index == 9 && play_sent.stage == 0);
    const dpa__packet_head alive = {.kind = DPA__PACKET_ALIVE, .values = 4};
    deliver(1, alive, done, "");
    dpa__packet_head head = {.kind = DPA__PACKET_OUTCOME,
                             .slot = 1,
                             .index = 8, /* of a trial that was given up */
                             .values = 1,
                             .seconds = 0.5};
    deliver(1, head, &value, "");
    dpa__outcome out;
    int some = 1;
    assert_ok(t->wait(t->self, 0.0, &out, &some, &err));
    assert_int_equal(some, 0);
    t->progress(t->self, 2, far);
    assert_true(far[0] == 3 && far[1] == 4);
    t->progress(t->self, 0, far);
    assert_true(far[0] == 0 && far[1] == 0);
    head.index = 9;
    deliver(1, head, &value, "hello");
    out = await(t);
    assert_true(out.slot == 2 && out.index == 9 && out.status == DPA_OK && out.seconds == 0.5);
    assert_true(!out.crashed && !out.retired && out.values.count == 1);
    assert_true(out.values.items[0] == 7.0);
    assert_string_equal(out.said, "hello");
    dpa__outcome_free(&out);
    assert_played(t, 0); /* here */
}

static void leads(void **state) {
    (void)state;
    dpa_run_opts opts = options_of("cat ready && head -c 64 >/dev/null && cat result0");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    const dpa_values brief = {0};
    dpa__transport t;
    for (int is_lost = 0; is_lost < 2; ++is_lost) {
        dpa_ranks *ranks = join(0, as_rank_1);
        stops = 0;
        say_hello("");
        assert_ok(dpa__ranks_open(ranks, &opts, &game, NULL, &t, &err));
        assert_int_equal(t.slots, 3);
        assert_ok(t.brief(t.self, 0, &brief, &err));
        assert_int_equal(brief_sent.kind, DPA__PACKET_BRIEF);
        plays_there(&t);
        if (is_lost) { /* its trial is an outcome; the slot is not used again */
            assert_ok(t.submit(t.self, 1, 0, 5, &err));
            deliver(1, (dpa__packet_head){.kind = DPA__PACKET_LOST}, NULL, "");
            dpa__outcome out = await(&t);
            assert_true(out.slot == 1 && out.index == 5 && out.status == DPA_IO);
            assert_true(out.crashed && out.retired);
            assert_string_equal(out.error.text, "rank 1 is gone");
            dpa__outcome_free(&out);
        }
        t.close(t.self);
        dpa_ranks_leave(ranks);
        assert_int_equal(stops, !is_lost); /* nobody is left to be told, or to be waited for */
        assert_int_equal(ends, !is_lost);
    }
}

/* A rank that says nothing is lost after as many seconds as the environment says, and is heard no
 * more: its trial is an outcome already. */
static void silent(void **state) {
    (void)state;
    static const double value = 7.0;
    dpa_run_opts opts = options_of("cat ready");
    dpa__transport t;
    char store[128], left[160];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    (void)snprintf(left, sizeof left, "%s.scratch.rank1", store);
    assert_int_equal(mkdir(left, 0777), 0);
    opts.store = store;
    assert_int_equal(setenv("DPAUDIT_RANK_SILENCE", "1", 1), 0);
    dpa_ranks *ranks = join(0, as_rank_1);
    say_hello("");
    assert_ok(dpa__ranks_open(ranks, &opts, &game, NULL, &t, &err));
    assert_int_equal(unsetenv("DPAUDIT_RANK_SILENCE"), 0);
    assert_ok(t.submit(t.self, 1, 0, 5, &err));
    dpa__outcome out = {0};
    int some = 1;
    assert_ok(t.wait(t.self, 0.3, &out, &some, &err));
    assert_int_equal(some, 0);
    out = await(&t);
    assert_true(out.slot == 1 && out.index == 5 && out.retired);
    assert_string_equal(out.error.text, "rank 1 is gone");
    dpa__outcome_free(&out);
    const dpa__packet_head late = {.kind = DPA__PACKET_OUTCOME, .index = 5, .values = 1};
    deliver(1, late, &value, "");
    assert_ok(t.wait(t.self, 0.0, &out, &some, &err));
    assert_int_equal(some, 0);
    t.close(t.self);
    assert_int_equal(access(left, F_OK), -1); /* it cannot clean up after itself */
    dpa_ranks_leave(ranks);
    assert_int_equal(ends, 0);
}

/* A ring of a worker here, which is never asked, and of two of rank 1, which plays trial 5. */
static dpa_ranks *open_quiet_ring(const dpa_run_opts *opts, dpa__transport *t) {
    dpa_ranks *ranks = join(0, as_rank_1);
    say_hello("");
    assert_ok(dpa__ranks_open(ranks, opts, &game, NULL, t, &err));
    assert_ok(t->submit(t->self, 1, 0, 5, &err));
    return ranks;
}

/* The silence of a rank counts from its first word. Where this process was away itself for more
 * than five seconds, it could not have heard it. */
static void silence_since(void **state) {
    (void)state;
    static const double away[] = {0.5, 1.5, 4.5, 5.5};
    dpa_run_opts opts = options_of("cat ready");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    assert_int_equal(setenv("DPAUDIT_RANK_SILENCE", "1", 1), 0);
    for (size_t i = 0; i < sizeof away / sizeof away[0]; ++i) {
        dpa__transport t;
        dpa__outcome out = {0};
        int some = -1;
        stop_clock();
        dpa_ranks *ranks = open_quiet_ring(&opts, &t);
        now += away[i];
        assert_ok(t.wait(t.self, 0.0, &out, &some, &err));
        assert_int_equal(some, away[i] > 1 && away[i] < 5);
        if (!some) { /* it is asked again, and again in vain */
            now += 0.75;
            assert_ok(t.wait(t.self, 0.0, &out, &some, &err));
            now += 0.75;
            if (!some) assert_ok(t.wait(t.self, 0.0, &out, &some, &err));
        }
        assert_true(some && out.retired && out.index == 5);
        dpa__outcome_free(&out);
        t.close(t.self);
        dpa_ranks_leave(ranks);
        now = 0.0;
    }
    assert_int_equal(unsetenv("DPAUDIT_RANK_SILENCE"), 0);
}

/* Rank 0 looks often while things happen and seldom while nothing does. */
static void naps_between(void **state) {
    (void)state;
    static const double value = 7.0;
    const dpa__packet_head head = {.kind = DPA__PACKET_OUTCOME, .index = 5, .values = 1};
    dpa_run_opts opts = options_of("cat ready");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    dpa__transport t;
    dpa__outcome out = {0};
    int some = -1;
    assert_relative(dpa__ranks_nap(0.0), 5e-5, 1e-12);
    assert_relative(dpa__ranks_nap(4e-4), 5e-5, 1e-12);
    assert_relative(dpa__ranks_nap(6e-4), 6e-5, 1e-12);
    assert_relative(dpa__ranks_nap(9e-3), 9e-4, 1e-12);
    assert_relative(dpa__ranks_nap(60.0), 1e-3, 1e-12);
    stop_clock();
    dpa_ranks *ranks = open_quiet_ring(&opts, &t);
    for (int is_heard = 0; is_heard < 2; ++is_heard) {
        longest_nap = 0.0;
        naps = 0;
        assert_ok(t.wait(t.self, 4e-4, &out, &some, &err)); /* something has just happened */
        assert_int_equal(some, 0);
        assert_relative(longest_nap, 5e-5, 1e-3);
        assert_between((double)naps, 8, 9);
        assert_ok(t.wait(t.self, 1.0, &out, &some, &err));
        assert_int_equal(some, 0);
        assert_relative(longest_nap, 1e-3, 1e-3);
        if (is_heard) break;
        deliver(1, head, &value, "");
        assert_ok(t.wait(t.self, 1.0, &out, &some, &err));
        assert_true(some && out.index == 5 && out.slot == 1);
        dpa__outcome_free(&out);
    }
    t.close(t.self);
    dpa_ranks_leave(ranks);
    now = 0.0;
}

/* Who leaves waits until the last letters are gone, but not for those to a rank that is lost. */
static void last_letters(void **state) {
    (void)state;
    for (int is_lost = 0; is_lost < 2; ++is_lost) {
        const dpa__packet_head head = {.kind = DPA__PACKET_BRIEF};
        dpa_ranks *ranks = join(0, as_rank_1);
        stops = 0;
        assert_ok(dpa__packet_send(ranks, 1, &head, NULL, NULL, NULL, &err));
        ranks->lost[1] = is_lost;
        void *letter = ranks->outbox;
        on_its_way = 20;
        stop_clock();
        naps = 0;
        dpa_ranks_leave(ranks);
        if (is_lost) free(letter); /* MPI may still read it, until the process ends */
        now = 0.0;
        assert_int_equal(stops, !is_lost);
        assert_int_equal(ends, !is_lost);
        assert_int_equal(on_its_way, is_lost ? 20 : 0);
        if (is_lost)
            assert_int_equal(naps, 0);
        else
            assert_between((double)naps, 10, 20);
        on_its_way = 0;
    }
}

/* Who is one of several processes, as a launcher says, needs the module, and is told where that
 * was looked for; here there is none. */
static void joins_alone(void **state) {
    (void)state;
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    dpa_ranks *ranks = NULL;
    for (size_t i = 0; i < 3; ++i) assert_int_equal(unsetenv(names[i]), 0);
    assert_ok(dpa_ranks_join(&ranks, &err));
    assert_null(ranks);
    assert_int_equal(dpa_ranks_rank(NULL), 0);
    for (size_t i = 0; i < 3; ++i) {
        char own[256] = "", want[320];
        assert_int_equal(setenv(names[i], "1", 1), 0);
        assert_ok(dpa_ranks_join(&ranks, &err));
        assert_null(ranks);
        assert_int_equal(setenv(names[i], "3", 1), 0);
        assert_int_equal(dpa_ranks_join(&ranks, &err), DPA_BAD_ARGUMENT);
        assert_null(ranks);
        assert_int_equal(unsetenv(names[i]), 0);
        assert_non_null(strstr(err.text, "3 processes were started, but the MPI module"));
        assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
        *strrchr(own, '/') = '\0';
        (void)snprintf(want, sizeof want, "(%s/dpaudit/mpi.so: ", own);
        if (strstr(err.text, want) == NULL) fail_msg("'%s' has no '%s'", err.text, want);
    }
}

/* A rank that cannot open its game says so, in words that rank 0 understands. */
static void refuses(void **state) {
    (void)state;
    const dpa_error why = {.status = DPA_TRAINER, .place = "audit.yaml", .text = "no data"};
    dpa__packet p;
    int some = 0;
    dpa_ranks *ranks = join(1, echo);
    dpa_ranks_refuse(ranks, &why);
    assert_ok(dpa__packet_take(ranks, &p, &some, &err));
    assert_int_equal(some, 1);
    assert_true(p.head.kind == DPA__PACKET_HELLO && p.head.status == DPA_TRAINER);
    assert_string_equal(p.error.text, "no data");
    dpa__packet_free(&p);
    ranks->rank = 0; /* rank 0 has nobody to tell */
    dpa_ranks_refuse(ranks, &why);
    assert_ok(dpa__packet_take(ranks, &p, &some, &err));
    assert_int_equal(some, 0);
    dpa_ranks_leave(ranks);
}

/* A rank that cannot play, or would play something else, ends the run. */
static void refused(void **state) {
    (void)state;
    dpa_run_opts opts = options_of("cat ready");
    dpa__transport t;
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    dpa_ranks *ranks = join(0, as_rank_1);
    say_hello("and more");
    assert_int_equal(dpa__ranks_open(ranks, &opts, &game, NULL, &t, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "rank 1 reads another experiment"));
    dpa_ranks_leave(ranks);
    unsigned char bytes[sizeof(dpa__packet_head) + sizeof(dpa_error)];
    const dpa__packet_head head = {.kind = DPA__PACKET_HELLO, .status = DPA_TRAINER};
    const dpa_error why = {.status = DPA_TRAINER, .place = "audit.yaml", .text = "no data"};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, &why, sizeof why);
    ranks = join(0, as_rank_1);
    drop(1, bytes, sizeof bytes);
    assert_int_equal(dpa__ranks_open(ranks, &opts, &game, NULL, &t, &err), DPA_TRAINER);
    assert_string_equal(err.text, "rank 1: audit.yaml: no data");
    dpa_ranks_leave(ranks);
}

int main(void) {
    (void)alarm(120); /* a rank that never ends has failed */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets),
        cmocka_unit_test_setup_teardown(serves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(told_to_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cannot_serve, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(naps_between, set_up, tear_down),
        cmocka_unit_test(last_letters),
        cmocka_unit_test(joins_alone),
        cmocka_unit_test(refuses),
        cmocka_unit_test_setup_teardown(refused, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
