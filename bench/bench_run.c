/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overhead of the runner: what scheduling and storing add to a trial, how busy the slots are,
 * how much more two workers do than one, and how fast 10⁵ stored trials are listed and resumed.
 * Trials are external commands of known duration, played in worker processes of the dpaudit beside
 * this program. */
#include <math.h>
#include <stdint.h>

#include "base/clock.h"
#include "bench_lab.h"
#include "evidence/evidence.h"
#include "run/store.h"

/* The difference of a longer and a shorter run, so that starting and ending cancel out. */
typedef struct measured {
    double trials;
    double seconds;
    double own; /* sum of the trials' own durations */
    double cpu; /* of the scheduler's thread */
} measured;

static double play(dpa_game *game, unsigned workers, uint64_t trials, dpa_run_summary *summary) {
    const char *const worker[] = {program, "worker", "--", in_folder("bench.yaml"), NULL};
    dpa_evidence evidence = {0};
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.worker = worker;
    opts.workers = workers;
    opts.trials = trials;
    const double start = dpa__clock();
    must(dpa_run_play(&opts, game, &evidence, summary, &err));
    dpa__evidence_clear(&evidence);
    return dpa__clock() - start;
}

static double own_seconds(void) {
    dpa_store *store = NULL;
    dpa_store_stages stages;
    must(dpa_store_open(in_folder("bench.trials.db"), DPA_STORE_READ, &store, &err));
    must(dpa_store_list(store, &stages, &err));
    const double own = stages.items[0].seconds * (double)stages.items[0].stored;
    dpa_store_stages_free(&stages);
    dpa_store_close(store);
    return own;
}

/* Plays `trials` more than two for each worker, and subtracts a run of those two. */
static measured measure(const char *command, unsigned trials, unsigned workers) {
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_run_summary summary;
    const unsigned few = 2 * workers;
    open_experiment(command, 2 * few + trials, &e, &game);
    (void)unlink(in_folder("bench.trials.db"));
    double cpu = bench_cpu();
    const double short_run = play(game, workers, few, &summary);
    const double short_cpu = bench_cpu() - cpu, short_own = own_seconds();
    cpu = bench_cpu();
    const double long_run = play(game, workers, 0, &summary);
    const measured out = {trials, long_run - short_run, own_seconds() - 2 * short_own,
                          bench_cpu() - cpu - short_cpu};
    dpa_game_close(game);
    dpa_experiment_free(e);
    return out;
}

enum { ROUNDS = 5 };

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, because differences of two runs can be off to both sides. */
static double middle(double values[ROUNDS]) {
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void short_trials(void) {
    double own[ROUNDS], more[ROUNDS], cpu[ROUNDS];
    for (int i = 0; i < ROUNDS; ++i) {
        const measured m = measure("cp {queries} {out}", 200, 1);
        own[i] = m.own / m.trials;
        more[i] = (m.seconds - m.own) / m.trials;
        cpu[i] = m.cpu / m.trials;
    }
    (void)printf(
        "short trials (cp), 1 worker: a trial %.3f ms, scheduling and storing %.3f ms more "
        "(target: under 2 ms), %.3f ms of CPU\n",
        1e3 * middle(own), 1e3 * middle(more), 1e3 * middle(cpu));
}

static void long_trials(void) {
    double more[ROUNDS];
    for (int i = 0; i < ROUNDS; ++i) {
        const measured m = measure("sh -c 'sleep 0.5; cp $0 $1' {queries} {out}", 8, 1);
        more[i] = m.seconds / m.own - 1;
    }
    (void)printf("trials of 0.5 s, 1 worker: overhead %.2f %% (target: under 1 %%)\n",
                 100 * middle(more));
}

static const char burn[] =
    "awk 'BEGIN { for (i = 0; i < 6000000; i++) x += i % 7; print x > ARGV[1] }' {out} {members}";

static void two_workers(void) {
    double ratio = 0.0, busy = 0.0;
    for (int round = 0; round < 3; ++round) {
        const measured one = measure(burn, 8, 1), two = measure(burn, 8, 2);
        const double r = one.seconds / two.seconds, b = two.own / (2 * two.seconds);
        if (r > ratio) ratio = r;
        if (b > busy) busy = b;
    }
    (void)printf("CPU-bound trials: 2 workers do %.2f x what one does (target: 1.9 on two free "
                 "cores), their slots are busy %.1f %% of the time\n",
                 ratio, 100 * busy);
}

static int count_one(void *user, const dpa_store_entry *entry) {
    *(uint64_t *)user += !entry->damaged;
    return 0;
}

static void many_stored(void) {
    enum { MANY = 100000 };
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_store *store = NULL;
    dpa_run_summary summary;
    char key[DPA_SHA256_SIZE];
    int64_t row = 0;
    uint64_t listed = 0;
    open_experiment("cp {queries} {out}", MANY, &e, &game);
    key_of(game, key);
    (void)unlink(in_folder("bench.trials.db"));
    must(dpa_store_open(in_folder("bench.trials.db"), DPA_STORE_WRITE, &store, &err));
    const double start = bench_cpu();
    must(dpa__store_begin(store, &err));
    const dpa__stage_row stage = {key, NULL, "bench.yaml", 0, MANY};
    must(dpa__store_stage(store, &stage, &row, &err));
    for (uint64_t i = 0; i < MANY; ++i) {
        double x = (double)i;
        const dpa__ended end = {
            .index = i, .end = DPA_TRIAL_PLAYED, .seconds = 0.1, .values = {&x, 1}};
        must(dpa__store_put(store, row, key, &end, &err));
    }
    must(dpa__store_commit(store, &err));
    const double stored = bench_cpu();
    must(dpa_store_trials(store, NULL, count_one, &listed, &err));
    const double shown = bench_cpu();
    dpa_store_close(store);
    const double closed = bench_cpu();
    (void)play(game, 2, 0, &summary);
    (void)printf("%d trials: stored in one transaction %.3f s, listed %.3f s, resumed and gathered "
                 "%.3f s of CPU (targets: under 1 s)\n",
                 (int)listed, stored - start, shown - stored, bench_cpu() - closed);
    if (summary.stored != MANY || summary.played != 0) exit(1);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

int main(void) {
    if (!begin()) return 1;
    short_trials();
    long_trials();
    two_workers();
    many_stored();
    dpa__folder_remove(folder);
    return 0;
}
