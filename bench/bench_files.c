/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trials as files against the trials themselves: what eight shards and an import add to tiny
 * trials, and how fast packed records are imported (10^5, 10^6: does it grow with the number?). The
 * number of tiny trials is the first argument (4000). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/text.h"
#include "bench.h"
#include "dpaudit/lab/run.h"
#include "run/record.h"
#include "run/schedule.h"

enum { SHARDS = 8 };

static char folder[] = "/tmp/dpa_bench_files_XXXXXX", program[4096];
static dpa_error err;

static void must(dpa_status status) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "bench_files: %s %s\n", err.place, err.text);
    exit(1);
}

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static void open_experiment(uint64_t models, dpa_experiment **e, dpa_game **game) {
    char text[512];
    const int n = snprintf(text, sizeof text,
                           "game: {kind: command, command: \"cp {queries} {out}\", points: 4, "
                           "models: %llu, design: leave-one-out, signal: logit}\n",
                           (unsigned long long)models);
    must(dpa_file_write(in_folder("bench.yaml"), text, (size_t)n, &err));
    must(dpa_experiment_read(in_folder("bench.yaml"), e, &err));
    must(dpa_game_open(*e, game, &err));
}

static int add_seconds(void *user, const dpa_store_entry *entry) {
    *(double *)user += entry->seconds;
    return 0;
}

static void tiny_trials(uint64_t trials) {
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_store *store = NULL;
    dpa_run_opts opts;
    char yaml[256];
    (void)snprintf(yaml, sizeof yaml, "%s", in_folder("bench.yaml"));
    const char *const worker[] = {program, "worker", "--", yaml, NULL};
    open_experiment(trials, &e, &game);
    dpa_run_opts_init(&opts);
    opts.worker = worker;
    opts.workers = 1;
    const double start = dpa__run_clock();
    for (uint64_t i = 0; i < SHARDS; ++i) {
        const dpa_shard which = {
            .folder = in_folder("trials"), .stage = -1, .shard = i, .shards = SHARDS};
        dpa_shard_summary s;
        must(dpa_shard_play(&opts, &which, game, &s, &err));
    }
    dpa_import_summary m;
    must(dpa_import(&opts, in_folder("trials"), game, &m, &err));
    const double seconds = dpa__run_clock() - start;
    if (m.missing > 0 || m.imported != trials) exit(1);
    double own = 0.0;
    must(dpa_store_open(in_folder("bench.trials.db"), DPA_STORE_READ, &store, &err));
    must(dpa_store_trials(store, NULL, add_seconds, &own, &err));
    dpa_store_close(store);
    (void)printf("%llu tiny trials by %d shards and an import: %.2f times what the trials took by "
                 "themselves (target: under 3)\n",
                 (unsigned long long)trials, SHARDS, seconds / own);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

/* Packs of 10^4 records, as if by a hundred machines. */
static void write_packs(const dpa_game *game, uint64_t count) {
    const dpa_values brief = {0};
    dpa__stage stage = {0};
    dpa__text text = {0};
    must(dpa__stage_find(game, &stage, &brief, &err));
    for (uint64_t i = 0; i < count; ++i) {
        const double x = (double)i;
        dpa__record r = {.index = i,
                         .end = DPA_TRIAL_PLAYED,
                         .started = 1e9,
                         .seconds = 0.1,
                         .numbers = (const unsigned char *)&x,
                         .count = 1,
                         .place = "node7 slot 3",
                         .place_size = 12};
        memcpy(r.key, stage.key, sizeof r.key);
        dpa__record_put(&text, &r);
        if ((i + 1) % 10000 != 0 && i + 1 < count) continue;
        char name[64];
        (void)snprintf(name, sizeof name, "packs/p%llu.dpt", (unsigned long long)i);
        must(dpa_file_write(in_folder(name), text.data, text.length, &err));
        text.length = 0;
    }
    dpa__text_free(&text);
}

static double import_packed(uint64_t count) {
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_run_opts opts;
    dpa_import_summary m;
    open_experiment(count, &e, &game);
    (void)mkdir(in_folder("packs"), 0777);
    write_packs(game, count);
    (void)unlink(in_folder("bench.trials.db"));
    dpa_run_opts_init(&opts);
    const double start = bench_cpu();
    must(dpa_import(&opts, in_folder("packs"), game, &m, &err));
    const double seconds = bench_cpu() - start;
    if (m.imported != count || m.missing > 0) exit(1);
    dpa__folder_remove(in_folder("packs"));
    dpa_game_close(game);
    dpa_experiment_free(e);
    return seconds;
}

int main(int argc, char **argv) {
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 16);
    char *slash = n > 0 ? strrchr(program, '/') : NULL;
    if (slash == NULL || mkdtemp(folder) == NULL) return 1;
    (void)strcpy(slash + 1, "dpaudit");
    tiny_trials(argc > 1 ? strtoull(argv[1], NULL, 10) : 4000);
    const double some = import_packed(100000), many = import_packed(1000000);
    (void)printf(
        "import of 10^6 packed trials: %.2f s of CPU (target: under 10), %.1f times 10^5\n", many,
        many / some);
    dpa__folder_remove(folder);
    return 0;
}
