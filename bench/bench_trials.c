/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overhead of trials as files: the CPU time of all processes for 8 shards of `dpaudit trial`
 * and the import, relative to the same trials called one after the other; and the import of 10⁶
 * packed records relative to that of 10⁵. `bench_trials full` plays 10⁵ trials, otherwise 10⁴. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "bench_lab.h"
#include "run/record.h"

static const char trainer[] = "cp {queries} {out}";

/* CPU time of this process and of all its children that have ended. */
static double cpu_of_all(void) {
    double sum = 0;
    const int whose[2] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; ++i) {
        struct rusage u;
        (void)getrusage(whose[i], &u);
        sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return sum;
}

static void command(const char *name, const char *arguments) {
    char text[8192];
    (void)snprintf(text, sizeof text, "cd %s && %s %s bench.yaml %s >/dev/null 2>>log", folder,
                   program, name, arguments);
    if (system(text) != 0) {
        (void)fprintf(stderr, "bench_trials: failed: %s\n", text);
        exit(1);
    }
}

/* Calls the trials in this process, without any runner. */
static double pure_trials(dpa_game *game, uint64_t count) {
    const double start = cpu_of_all();
    dpa_values brief = {0};
    must(dpa_game_brief(game, 0, NULL, &brief, &err));
    for (uint64_t i = 0; i < count; ++i) {
        dpa_values values = {0};
        must(dpa_game_trial(game, 0, i, &brief, &values, &err));
        dpa_values_free(&values);
    }
    dpa_values_free(&brief);
    return (cpu_of_all() - start) / (double)count;
}

static void shards(unsigned trials) {
    enum { SHARDS = 8 };
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    char words[64];
    open_experiment(trainer, trials, &e, &game);
    const double before = pure_trials(game, trials / 20);
    double start = cpu_of_all();
    for (int i = 0; i < SHARDS; ++i) {
        (void)snprintf(words, sizeof words, "--shard %d/%d --out trials --workers 1", i, SHARDS);
        command("trial", words);
    }
    const double played = cpu_of_all() - start;
    start = cpu_of_all();
    command("import", "trials");
    const double imported = cpu_of_all() - start;
    const double pure = 0.5 * (before + pure_trials(game, trials / 20)) * trials;
    (void)printf(
        "%u trials (cp): alone %.2f s, by trial --shard x %d %.2f s, import %.2f s of CPU: "
        "%.2f x the trials alone (target: under 3)\n",
        trials, pure, SHARDS, played, imported, (played + imported) / pure);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

/* CPU seconds for importing this many packed records. */
static double packed(unsigned many) {
    enum { FILES = 8 };
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_import_summary summary;
    dpa_run_opts opts;
    char name[64];
    dpa__record r = {.end = DPA_TRIAL_PLAYED, .started = 1.7e9, .seconds = 0.1, .count = 1};
    open_experiment(trainer, many, &e, &game);
    key_of(game, r.key);
    if (mkdir(in_folder("packed"), 0777) != 0) exit(1);
    for (unsigned f = 0; f < FILES; ++f) {
        dpa__text pack = {0};
        for (uint64_t i = f; i < many; i += FILES) {
            const double x = (double)i;
            r.index = i;
            r.numbers = (const unsigned char *)&x;
            r.place = "vm, slot 0";
            r.place_size = strlen(r.place);
            dpa__record_put(&pack, &r);
        }
        (void)snprintf(name, sizeof name, "packed/s1-%uof%d-x.dpt", f, FILES);
        must(dpa__file_write(in_folder(name), pack.data, pack.length, &err));
        dpa__text_free(&pack);
    }
    dpa_run_opts_init(&opts);
    opts.store = in_folder("packed.db");
    const double start = cpu_of_all();
    must(dpa_import(&opts, in_folder("packed"), game, &summary, &err));
    const double seconds = cpu_of_all() - start;
    if (summary.imported != many || summary.missing != 0) exit(1);
    dpa_import_summary_free(&summary);
    dpa__folder_remove(in_folder("packed"));
    (void)unlink(in_folder("packed.db"));
    dpa_game_close(game);
    dpa_experiment_free(e);
    return seconds;
}

int main(int argc, char **argv) {
    if (!begin()) return 1;
    const double some = packed(100000), all = packed(1000000);
    (void)printf("import of 10^6 packed records: %.2f s of CPU (target: under 10 s), %.1f x 10^5\n",
                 all, all / some);
    shards(argc > 1 && strcmp(argv[1], "full") == 0 ? 100000 : 10000);
    dpa__folder_remove(folder);
    return 0;
}
