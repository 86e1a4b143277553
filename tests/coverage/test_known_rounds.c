/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds (docs/methods/known-rounds.md) in whole federated trainings of known ε. Each is
 * audited from its one run and judged as `dpaudit run` does: how much is certified, how often this
 * exceeds the truth, and whether clients that are counted several times are caught.
 *
 * `test_coverage_known_rounds full OUT.csv [NAME…]` plays every system (or those named) as often as
 * the table says: 19,990 weights, 539 clients of which 34 are in a round, 80 rounds, 1000 + 1000
 * canaries, ε = 3 at δ = 1e-3. The test plays small ones. Seeds are 1000, 1001, … */
#include "judged.h"

#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "federate/federation.h"

static const double target = 3.0, delta = 1e-3;
enum { CLASSES = 10, EACH = 4 };

typedef struct scale {
    const char *layers;
    size_t features, clients, cohort, canaries;
    uint64_t rounds;
} scale;

static const scale few = {"mlp:20", 30, 60, 8, 150, 12};
static const scale all = {"mlp:180", 100, 539, 34, 1000, 80};

/* Defaults: Hadamard canaries in one round each, shuffled epochs, plain server. With `models=1` the
 * auditor sees only models and undoes the momentum; with `dp=1` the judge assumes no family. */
typedef struct played {
    const char *name, *settings;
    int runs, runs_of_test;
    double least; /* mean that must be certified, with `full` */
} played;

static const played systems[] = {
    {"plain", "", 200, 8, 2.35},
    {"momentum", "momentum=0.9", 200, 0, 2.35},
    {"momentum undone", "momentum=0.9 models=1", 200, 8, 2.35},
    {"adagrad", "server=1 rate=0.03", 200, 0, 2.35},
    {"adam", "server=2 rate=0.01 momentum=0.9", 200, 8, 2.35},
    {"yogi", "server=3 rate=0.01 momentum=0.9", 200, 0, 2.35},
    {"sphere", "direction=0", 200, 0, 2.35},
    {"half of the canaries", "canaries=0.5", 200, 0, 0},
    {"a fifth of the canaries", "canaries=0.2", 200, 0, 0},
    {"five rounds each", "repetitions=5", 100, 0, 2.35},
    {"Poisson rounds", "repetitions=0 participation=1", 40, 0, 0},
    {"actual divisor", "actual=1", 100, 0, 0},
    {"all 2 times", "copies=2", 20, 0, 0},
    {"all 3 times", "copies=3", 20, 3, 0},
    {"a tenth 10 times", "copies=10 share=0.1", 20, 0, 0},
    {"any mechanism", "dp=1", 100, 8, 0},
    {"any mechanism 3 times", "dp=1 copies=3", 20, 0, 0},
};

static double setting(const played *s, const char *key, double usual) {
    char word[32];
    (void)snprintf(word, sizeof word, "%s=", key);
    const char *at = strstr(s->settings, word);
    return at != NULL ? strtod(at + strlen(word), NULL) : usual;
}

/* ── one training ────────────────────────────────────────────────────────────────────── */

typedef struct world {
    const scale *size;
    dpa_dataset *data;
    dpa_clients *clients;
} world;

static world make_world(const scale *size) {
    world w = {.size = size};
    const size_t rows = size->clients * EACH, features = size->features;
    float *x = calloc(rows * features, sizeof *x);
    int32_t *label = calloc(rows, sizeof *label);
    double *owner = calloc(rows, sizeof *owner);
    dpa_rng rng;
    assert_true(x != NULL && label != NULL && owner != NULL);
    dpa__rng_init(&rng, 5, DPA_PURPOSE_SIMULATE, 0);
    for (size_t i = 0; i < rows; ++i) {
        label[i] = (int32_t)(i % CLASSES);
        owner[i] = (double)(i / EACH);
        for (size_t k = 0; k < features; ++k)
            x[i * features + k] =
                (float)(dpa__rng_normal(&rng) + (k % CLASSES == i % CLASSES ? 1.0 : 0.0));
    }
    assert_ok(dpa_dataset_new(x, label, rows, (dpa_shape){1, 1, features}, CLASSES, &w.data, NULL));
    assert_ok(dpa_clients_new(owner, rows, &w.clients, NULL));
    free(x);
    free(label);
    free(owner);
    return w;
}

static void free_world(world *w) {
    dpa_clients_free(w->clients);
    dpa_dataset_free(w->data);
}

static double rounds_of(const played *s) {
    return fmax(setting(s, "repetitions", 1.0), 1.0);
}

static dpa_federate_opts options(const played *s, const scale *size, uint64_t run) {
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.seed = 1000 + run;
    o.canary_seed = 500000 + run;
    o.rounds = size->rounds;
    o.cohort = size->cohort;
    o.participation =
        (dpa_participation)setting(s, "participation", (double)DPA_PARTICIPATE_SHUFFLE);
    o.clip = 0.3;
    o.batch = EACH;
    o.sigma = sqrt(rounds_of(s)) / dpa_gaussian_mu(target, delta);
    o.server = (dpa_server)setting(s, "server", (double)DPA_SERVER_SGD);
    o.server_rate = setting(s, "rate", 1.0);
    o.momentum = setting(s, "momentum", 0.0);
    o.divide_actual = setting(s, "actual", 0.0) != 0.0;
    o.canaries = o.unobserved = (size_t)(setting(s, "canaries", 1.0) * (double)size->canaries);
    o.repetitions = (uint64_t)setting(s, "repetitions", 1.0);
    o.direction = (dpa_direction)setting(s, "direction", (double)DPA_DIRECTION_HADAMARD);
    o.all_iterates = 0;
    o.copies = (size_t)setting(s, "copies", 1.0);
    o.share = setting(s, "share", 1.0);
    o.fault = o.copies > 1 ? DPA_FAULT_REPEAT : DPA_FAULT_NONE;
    o.threads = 1;
    return o;
}

/* What an auditor of a server with momentum has: a model after every round. A round's change minus
 * β times the previous one is rate·(noisy sum)/divisor. */
static void watch_models(dpa_federation *f, dpa_canaries *seen) {
    const dpa_federate_opts *o = &f->opts;
    const size_t n = f->model->size;
    double *before = calloc(n, sizeof *before), *change = calloc(n, sizeof *change);
    double *alone = calloc(n, sizeof *alone);
    const double divisor = (double)o->cohort + dpa__participation_canaries(f);
    assert_true(before != NULL && change != NULL && alone != NULL);
    for (uint64_t t = 0; t < o->rounds; ++t) {
        for (size_t i = 0; i < n; ++i) before[i] = (double)f->model->weight[i];
        assert_ok(dpa_federation_round(f, NULL, NULL));
        for (size_t i = 0; i < n; ++i) {
            const double now = (double)f->model->weight[i] - before[i];
            alone[i] = now - o->momentum * change[i];
            change[i] = now;
        }
        const dpa_own_round own = {o->server_rate * o->clip / divisor, f->cohort.canary,
                                   f->cohort.candidates};
        const dpa_vector released = {.f64 = alone, .dim = n};
        assert_ok(dpa__canaries_own(seen, &released, &own, NULL, NULL));
    }
    free(before);
    free(change);
    free(alone);
}

static void play_all_rounds(dpa_federation *f) {
    while (dpa_federation_rounds_done(f) < f->opts.rounds)
        assert_ok(dpa_federation_round(f, NULL, NULL));
}

static void train(const played *s, dpa_federation *f, double *score, double *times,
                  double *spread) {
    const dpa_federate_opts *o = &f->opts;
    if (setting(s, "models", 0.0) == 0.0) {
        play_all_rounds(f);
        assert_ok(dpa_federation_known(f, score, times, spread, NULL));
        return;
    }
    dpa_canaries_opts opts;
    dpa_canaries *seen = NULL;
    dpa__canaries_opts_init(&opts);
    opts.seed = o->canary_seed;
    opts.dim = f->model->size;
    opts.observed = o->canaries;
    opts.unobserved = o->unobserved;
    opts.threads = 1;
    opts.direction = o->direction;
    assert_ok(dpa__canaries_new(&opts, &seen, NULL));
    watch_models(f, seen);
    for (size_t i = 0; i < dpa__canaries_count(seen); ++i) {
        score[i] = dpa__canaries_own_score(seen, i);
        times[i] = (double)dpa__canaries_own_times(seen, i);
    }
    *spread = dpa__canaries_own_spread(seen);
    dpa__canaries_free(seen);
}

/* ── its audit ───────────────────────────────────────────────────────────────────────── */

static void add_scores(dpa_evidence *e, const char *name, const double *score, size_t count) {
    double *kept = calloc(count, sizeof *kept);
    size_t filled = 0;
    assert_non_null(kept);
    for (size_t i = 0; i < count; ++i)
        if (!isnan(score[i])) kept[filled++] = score[i];
    assert_ok(dpa__evidence_add(e, name, kept, filled, 0, NULL));
}

/* As the game gathers it (src/game/federated.c). */
static void gather(const dpa_federate_opts *o, double dim, double times_claimed, double *score,
                   const double *times, double spread, dpa_evidence *e) {
    const size_t k = o->canaries;
    dpa__evidence_init(e, DPA_EVIDENCE_COSINES);
    e->design = DPA_ONE_RUN;
    e->scope = DPA_SCOPE_PARTICIPATION;
    e->dim = (size_t)dim;
    (void)snprintf(e->direction, sizeof e->direction, "%s", dpa__direction_name(o->direction));
    e->training.sigma = o->sigma;
    e->training.steps = o->rounds;
    e->training.q = (double)NAN;
    e->training.participations = times_claimed;
    const double most = dpa__canaries_choose(score, times, k, 2 * k, o->sigma);
    add_scores(e, "members", score, k);
    add_scores(e, "nonmembers", score + k, k);
    assert_ok(dpa_evidence_fact(e, "canary_rounds", most, NULL));
    assert_ok(dpa_evidence_fact(e, "spread", spread, NULL));
    /* so that the row of known rounds decides; without a fixed divisor the verdict would be
     * inconclusive */
    assert_ok(dpa_evidence_fact(e, "fixed_divisor", 1.0, NULL));
}

typedef struct outcome {
    double certified;
    int is_refuted;
} outcome;

static outcome judge_run(const dpa_evidence *e, int is_dp, uint64_t run) {
    dpa_claim claim = epsilon_claim(target);
    dpa_protocol p;
    claim.delta = delta;
    dpa__protocol_init(&p);
    p.bare = 1;
    p.request.delta = delta;
    p.request.seed = 1 + run;
    p.request.threads = 1;
    if (is_dp) assert_ok(dpa__request_set(&p.request, "family", "dp", NULL));
    dpa_report *report = judged(e, &claim, &p);
    const outcome found = {row_of(report, NULL, "known-rounds")->epsilon_lower,
                           dpa_report_state(report) == DPA_REFUTED};
    dpa_report_free(report);
    return found;
}

static outcome one_run(const world *w, const played *s, uint64_t run) {
    const dpa_federate_opts o = options(s, w->size, run);
    dpa_model *model = NULL;
    dpa_federation *f = NULL;
    dpa_evidence e;
    double *score = calloc(4 * o.canaries, sizeof *score), *times = score + 2 * o.canaries, spread;
    assert_non_null(score);
    assert_ok(dpa_model_new(w->size->layers, (dpa_shape){1, 1, w->size->features}, CLASSES,
                            DPA_LOSS_SOFTMAX, &model, NULL));
    dpa_model_init(model, 1);
    assert_ok(dpa_federation_new(model, w->data, w->clients, &o, &f, NULL));
    train(s, f, score, times, &spread);
    gather(&o, (double)dpa_model_size(model), rounds_of(s), score, times, spread, &e);
    const outcome found = judge_run(&e, setting(s, "dp", 0.0) != 0.0, run);
    dpa__evidence_clear(&e);
    dpa_federation_free(f);
    dpa_model_free(model);
    free(score);
    return found;
}

/* ── many of them ────────────────────────────────────────────────────────────────────── */

typedef struct tally {
    int runs, above, refuted;
    double mean, deviation;
} tally;

static tally play(const world *w, const played *s, int runs) {
    tally t = {.runs = runs};
    double sum = 0.0, square = 0.0;
    for (int run = 0; run < runs; ++run) {
        const outcome x = one_run(w, s, (uint64_t)run);
        sum += x.certified;
        square += x.certified * x.certified;
        t.above += x.certified > target;
        t.refuted += x.is_refuted;
    }
    t.mean = sum / runs;
    t.deviation = sqrt(fmax(0.0, square / runs - t.mean * t.mean));
    return t;
}

/* A correct system: bounds above the truth, and refutations, in at most 5% plus two standard
 * errors. A broken one is always refuted. */
static void expect(const played *s, const tally *t, double least) {
    const double runs = t->runs, most = 0.05 * runs + 2 * sqrt(0.05 * 0.95 * runs);
    if (setting(s, "copies", 1.0) > 1.0) {
        assert_int_equal(t->refuted, t->runs);
        return;
    }
    assert_true(t->above <= most);
    assert_true(t->refuted <= most);
    assert_true(t->mean >= least);
}

static void small_systems(void **state) {
    (void)state;
    world w = make_world(&few);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
        const played *s = &systems[i];
        if (s->runs_of_test == 0) continue;
        const tally t = play(&w, s, s->runs_of_test);
        print_message("%-16s %d runs: certified %.3f ± %.3f, above %d, refuted %d\n", s->name,
                      t.runs, t.mean, t.deviation, t.above, t.refuted);
        expect(s, &t, setting(s, "dp", 0.0) != 0.0 ? 0.5 : 1.5);
    }
    free_world(&w);
}

static int is_named(int argc, char **argv, const char *name) {
    for (int i = 3; i < argc; ++i)
        if (strcmp(argv[i], name) == 0) return 1;
    return argc <= 3;
}

static int play_all(int argc, char **argv) {
    FILE *out = fopen(argv[2], "w");
    if (out == NULL) return 2;
    world w = make_world(&all);
    (void)fputs("system,runs,certified,certified_sd,above,refuted\n", out);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
        const played *s = &systems[i];
        if (!is_named(argc, argv, s->name)) continue;
        const tally t = play(&w, s, s->runs);
        (void)fprintf(out, "%s,%d,%.3f,%.3f,%d,%d\n", s->name, t.runs, t.mean, t.deviation, t.above,
                      t.refuted);
        (void)fflush(out);
        expect(s, &t, s->least);
    }
    free_world(&w);
    return fclose(out) != 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "full") == 0) return play_all(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
