/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Self-describing evidence: every field through a file and back, hostile descriptions, plain arrays
 * of other tools, fields from text. */
#include "check.h"

#include "base/array.h"
#include "base/data.h"
#include "evidence/evidence.h"
#include "report/model/report.h"

static char path[] = "/tmp/dpaudit-evidence-XXXXXX";

static int make_path(void **state) {
    (void)state;
    const int fd = mkstemp(path);
    if (fd < 0) return -1;
    return close(fd);
}

static int drop_path(void **state) {
    (void)state;
    return unlink(path);
}

static int same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* ── through a file ──────────────────────────────────────────────────────────────────── */

/* Sets every field to something other than its default. */
static void fill(dpa_evidence *e) {
    static const double members[3] = {1.5, -2, 1e-300}, none[2] = {0.1 + 0.2, 7};
    dpa__evidence_init(e, DPA_EVIDENCE_SCORES);
    e->scope = DPA_SCOPE_STEP;
    e->design = DPA_ONE_RUN;
    e->inclusion_rate = 0.25;
    e->options = 4;
    e->dim = 1000;
    (void)snprintf(e->direction, sizeof e->direction, "signs");
    e->planned = 200;
    e->missing = 3;
    e->failed[0] = 5, e->failed[1] = 6;
    e->absent[0] = 1, e->absent[1] = 2;
    e->side = 2;
    e->training = (dpa_training_facts){.q = 0.125,
                                       .steps = 321,
                                       .sigma = 1.1,
                                       .rate = 0.5,
                                       .participations = 9,
                                       .replace_one = 1,
                                       .sees_all = 1};
    e->claim = (dpa_claim){.scope = DPA_SCOPE_PARTICIPATION,
                           .epsilon = NAN,
                           .delta = 1e-6,
                           .sigma = 0.9,
                           .q = 0.0625,
                           .steps = 77,
                           .replace_one = 1};
    e->protocol = strdup("{\"method\": \"cp\", \"confidence\": 0.99}");
    (void)snprintf(e->game, sizeof e->game, "white-box");
    (void)snprintf(e->source, sizeof e->source, "run-ε.yaml");
    assert_ok(dpa_evidence_copy(e, "members", members, 3, NULL));
    assert_ok(dpa_evidence_copy(e, "nonmembers", none, 2, NULL));
    assert_ok(dpa_evidence_fact(e, "accuracy", 0.875, NULL));
    assert_ok(dpa_evidence_fact(e, "noise", -1e-9, NULL));
}

static void same_claim(const dpa_claim *a, const dpa_claim *b) {
    assert_int_equal(a->scope, b->scope);
    assert_true(same(a->epsilon, b->epsilon) && same(a->delta, b->delta));
    assert_true(same(a->sigma, b->sigma) && same(a->q, b->q));
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->replace_one, b->replace_one);
    assert_string_equal(a->curve, b->curve);
}

static void same_arrays(const dpa_evidence *a, const dpa_evidence *b) {
    assert_int_equal(a->array_count, b->array_count);
    for (size_t i = 0; i < a->array_count; ++i) {
        const dpa_named_array *x = &a->arrays[i], *y = dpa__evidence_find(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->rows, y->rows);
        for (size_t k = 0; k < x->count; ++k) assert_true(same(x->items[k], y->items[k]));
    }
}

static void same_evidence(const dpa_evidence *a, const dpa_evidence *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->scope, b->scope);
    assert_int_equal(a->design, b->design);
    assert_true(a->inclusion_rate == b->inclusion_rate);
    assert_int_equal(a->options, b->options);
    assert_int_equal(a->dim, b->dim);
    assert_string_equal(a->direction, b->direction);
    assert_int_equal(a->planned, b->planned);
    assert_int_equal(a->missing, b->missing);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(a->failed[i], b->failed[i]);
        assert_int_equal(a->absent[i], b->absent[i]);
    }
    assert_int_equal(a->side, b->side);
    const dpa_training_facts *t = &a->training, *u = &b->training;
    assert_true(same(t->q, u->q) && same(t->sigma, u->sigma) && same(t->rate, u->rate));
    assert_true(same(t->participations, u->participations));
    assert_int_equal(t->steps, u->steps);
    assert_int_equal(t->replace_one, u->replace_one);
    assert_int_equal(t->sees_all, u->sees_all);
    same_claim(&a->claim, &b->claim);
    assert_string_equal(a->game, b->game);
    assert_string_equal(a->source, b->source);
    same_arrays(a, b);
    assert_int_equal(a->fact_count, b->fact_count);
    for (size_t i = 0; i < a->fact_count; ++i) {
        assert_string_equal(a->facts[i].name, b->facts[i].name);
        assert_true(a->facts[i].value == b->facts[i].value);
    }
}

static void every_field_comes_back(void **state) {
    (void)state;
    dpa_evidence e, again;
    fill(&e);
    assert_ok(dpa_evidence_write(&e, path, NULL));
    assert_true(dpa__evidence_is_file(path));
    assert_ok(dpa__evidence_read(path, &again, NULL));
    same_evidence(&e, &again);
    assert_non_null(strstr(again.protocol, "0.99"));
    assert_non_null(strstr(again.protocol, "cp"));
    assert_string_equal(again.path[0], path);
    assert_int_equal(strlen(again.sha256[0]), 64);
    dpa__evidence_clear(&e);
    dpa__evidence_clear(&again);
}

/* Defaults are left out of the file and restored; every kind has its name. */
static void defaults_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"counts", "scores", "guesses", "cosines", "signals"};
    static const double items[4] = {1, 2, 3, 4};
    for (unsigned kind = 0; kind < DPA_EVIDENCE_KINDS; ++kind) {
        dpa_evidence e, again;
        assert_string_equal(dpa__evidence_kind_name((dpa_evidence_kind)kind), names[kind]);
        dpa__evidence_init(&e, (dpa_evidence_kind)kind);
        assert_ok(dpa_evidence_copy(&e, "counts", items, 4, NULL));
        assert_ok(dpa_evidence_write(&e, path, NULL));
        assert_ok(dpa__evidence_read(path, &again, NULL));
        same_evidence(&e, &again);
        assert_null(again.protocol);
        assert_false(dpa__claim_is_made(&again.claim));
        dpa__evidence_clear(&e);
        dpa__evidence_clear(&again);
    }
    assert_null(dpa__evidence_kind_name((dpa_evidence_kind)DPA_EVIDENCE_KINDS));
}

static void a_claimed_curve_and_epsilon_come_back(void **state) {
    (void)state;
    static const double items[2] = {1, 2};
    for (int is_curve = 0; is_curve < 2; ++is_curve) {
        dpa_evidence e, again;
        dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
        assert_ok(dpa_evidence_copy(&e, "members", items, 2, NULL));
        if (is_curve)
            (void)snprintf(e.claim.curve, sizeof e.claim.curve, "curve.csv");
        else
            e.claim.epsilon = 0.1 + 0.2;
        assert_ok(dpa_evidence_write(&e, path, NULL));
        assert_ok(dpa__evidence_read(path, &again, NULL));
        same_claim(&e.claim, &again.claim);
        dpa__evidence_clear(&e);
        dpa__evidence_clear(&again);
    }
}

/* [models × points]: its shape comes back. */
static void matrices_come_back(void **state) {
    (void)state;
    double *items = malloc(6 * sizeof *items);
    dpa_evidence e, again;
    assert_non_null(items);
    for (int i = 0; i < 6; ++i) items[i] = i;
    dpa__evidence_init(&e, DPA_EVIDENCE_SIGNALS);
    assert_ok(dpa__evidence_add(&e, "signals", items, 6, 2, NULL));
    assert_ok(dpa_evidence_write(&e, path, NULL));
    assert_ok(dpa__evidence_read(path, &again, NULL));
    same_evidence(&e, &again);
    assert_int_equal(dpa__evidence_find(&again, "signals")->rows, 2);
    dpa__evidence_clear(&e);
    dpa__evidence_clear(&again);
}

/* ── hostile descriptions ────────────────────────────────────────────────────────────── */

static void write_described(const char *json) {
    static const char *const names[2] = {"members", "nonmembers"};
    double items[2] = {1, 2};
    dpa_array arrays[2];
    for (int i = 0; i < 2; ++i)
        arrays[i] =
            (dpa_array){.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = items};
    assert_ok(dpa__npz_write_with(path, names, arrays, 2, "dpaudit.json", json, NULL));
}

static void descriptions_that_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "7",
        "{}",
        "{\"kind\": \"nonsense\"}",
        "{\"kind\": 1}",
        "{\"kind\": \"scores\", \"scope\": \"world\"}",
        "{\"kind\": \"scores\", \"design\": \"chosen\"}",
        "{\"kind\": \"scores\", \"inclusion_rate\": 0}",
        "{\"kind\": \"scores\", \"inclusion_rate\": 1.5}",
        "{\"kind\": \"scores\", \"inclusion_rate\": \"half\"}",
        "{\"kind\": \"scores\", \"options\": -2}",
        "{\"kind\": \"scores\", \"options\": 2.5}",
        "{\"kind\": \"scores\", \"dim\": 1e300}",
        "{\"kind\": \"scores\", \"side\": 3}",
        "{\"kind\": \"scores\", \"side\": 0.5}",
        "{\"kind\": \"scores\", \"planned\": \"many\"}",
        "{\"kind\": \"scores\", \"missing\": -1}",
        "{\"kind\": \"scores\", \"failed\": [1]}",
        "{\"kind\": \"scores\", \"failed\": [1, -1]}",
        "{\"kind\": \"scores\", \"absent\": 3}",
        "{\"kind\": \"scores\", \"direction\": \"a direction that is much too long to be one\"}",
        "{\"kind\": \"scores\", \"game\": 5}",
        "{\"kind\": \"scores\", \"training\": []}",
        "{\"kind\": \"scores\", \"training\": {\"q\": 2}}",
        "{\"kind\": \"scores\", \"training\": {\"q\": -1}}",
        "{\"kind\": \"scores\", \"training\": {\"steps\": 0.5}}",
        "{\"kind\": \"scores\", \"training\": {\"canary_rate\": 0}}",
        "{\"kind\": \"scores\", \"training\": {\"canary_rate\": 1.5}}",
        "{\"kind\": \"scores\", \"claim\": 3}",
        "{\"kind\": \"scores\", \"claim\": {\"epsilon\": -1}}",
        "{\"kind\": \"scores\", \"claim\": {\"epsilon\": 1, \"delta\": 1}}",
        "{\"kind\": \"scores\", \"claim\": {\"epsilon\": 1, \"sigma\": 1}}",
        "{\"kind\": \"scores\", \"claim\": {\"epsilon\": 1, \"scope\": \"model\"}}",
        "{\"kind\": \"scores\", \"claim\": {\"sigma\": 0}}",
        "{\"kind\": \"scores\", \"claim\": {\"sigma\": 1, \"q\": 0}}",
        "{\"kind\": \"scores\", \"claim\": {\"sigma\": 1, \"neighbours\": \"friends\"}}",
        "{\"kind\": \"scores\", \"protocol\": \"cp\"}",
        "{\"kind\": \"scores\", \"facts\": {\"accuracy\": \"good\"}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_evidence e;
        dpa_error err = {0};
        write_described(bad[i]);
        const dpa_status status = dpa__evidence_read(path, &e, &err);
        if (status != DPA_BAD_INPUT) fail_msg("status %d of %s", (int)status, bad[i]);
        if (strstr(err.place, path) == NULL) fail_msg("no place: %s (%s)", err.text, bad[i]);
        assert_int_equal(e.array_count, 0);
        assert_null(e.protocol);
    }
}

/* Every number at the ends of its range, and the words of any case. */
static void descriptions_at_the_ends(void **state) {
    (void)state;
    static const char *const good[] = {
        "{\"kind\": \"scores\", \"inclusion_rate\": 1e-300}",
        "{\"kind\": \"scores\", \"inclusion_rate\": 1, \"side\": 0, \"options\": 0}",
        "{\"kind\": \"scores\", \"side\": 2, \"dim\": 9007199254740992}",
        "{\"kind\": \"scores\", \"training\": {\"q\": 0, \"sigma\": 0, \"steps\": 0}}",
        "{\"kind\": \"scores\", \"training\": {\"q\": 1, \"participations\": 0}}",
        "{\"kind\": \"scores\", \"training\": {\"canary_rate\": 1e-300}}",
        "{\"kind\": \"scores\", \"training\": {\"participations\": 1e300}}",
        "{\"kind\": \"scores\", \"claim\": {\"epsilon\": 0, \"delta\": 0}}",
        "{\"kind\": \"scores\", \"claim\": {\"sigma\": 1, \"q\": 1, \"steps\": 1}}",
        "{\"kind\": \"scores\", \"failed\": [0, 0], \"absent\": [0, 7]}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        dpa_evidence e;
        dpa_error err = {0};
        write_described(good[i]);
        if (dpa__evidence_read(path, &e, &err) != DPA_OK) fail_msg("%s: %s", err.text, good[i]);
        if (i == 0) assert_true(e.inclusion_rate == 1e-300);
        if (i == 2) assert_true(e.dim == (size_t)1 << 53 && e.side == 2);
        if (i == 9) assert_true(e.absent[0] == 0 && e.absent[1] == 7);
        dpa__evidence_clear(&e);
    }
}

static void too_many_facts_are_refused(void **state) {
    (void)state;
    char text[4096] = "{\"kind\": \"scores\", \"facts\": {\"f\": 0";
    size_t used = strlen(text);
    for (int i = 0; i < DPA_EVIDENCE_FACTS; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, ", \"f%d\": 1", i);
    (void)snprintf(text + used, sizeof text - used, "}}");
    dpa_evidence e;
    dpa_error err;
    write_described(text);
    assert_int_not_equal(dpa__evidence_read(path, &e, &err), DPA_OK);
    assert_int_equal(e.fact_count, 0);
}

/* A deeply nested description must not exhaust the stack. */
static void depth_is_limited(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH + 1);
    dpa_evidence e;
    dpa_error err;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    write_described(text);
    free(text);
    assert_int_equal(dpa__evidence_read(path, &e, &err), DPA_BAD_INPUT);
}

/* ── files of other tools ────────────────────────────────────────────────────────────── */

static void write_text(const char *text) {
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
}

static void plain_files_are_what_the_caller_says(void **state) {
    (void)state;
    dpa_evidence e;
    dpa_error err = {0};
    write_text("score,member\n3,1\n2,0\n1,1\n");
    assert_false(dpa__evidence_is_file(path));
    assert_ok(dpa__evidence_scores(path, NULL, 1, &e, NULL));
    assert_int_equal(e.kind, DPA_EVIDENCE_SCORES);
    assert_int_equal(e.design, DPA_INDEPENDENT_RUNS);
    assert_int_equal(e.scope, DPA_SCOPE_TRAINING);
    assert_int_equal(dpa__evidence_find(&e, "members")->count, 2);
    assert_int_equal(dpa__evidence_find(&e, "nonmembers")->count, 1);
    assert_null(dpa__evidence_find(&e, "final"));
    assert_false(dpa__claim_is_made(&e.claim));
    assert_int_equal(strlen(e.sha256[0]), 64);
    dpa__evidence_clear(&e);
    assert_int_equal(dpa__evidence_read(path, &e, &err), DPA_BAD_INPUT);
    write_text("0.5\n0.25\n");
    assert_ok(dpa__evidence_cosines(path, NULL, &e, NULL));
    assert_int_equal(e.kind, DPA_EVIDENCE_COSINES);
    assert_int_equal(dpa__evidence_find(&e, "final")->count, 2);
    dpa__evidence_clear(&e);
    assert_ok(dpa__evidence_cosines(path, path, &e, NULL));
    assert_int_equal(dpa__evidence_find(&e, "observed")->count, 2);
    assert_int_equal(dpa__evidence_find(&e, "unobserved")->count, 2);
    assert_null(dpa__evidence_find(&e, "final"));
    dpa__evidence_clear(&e);
}

/* One run from a table (members, or correct guesses) and from two plain arrays; the values are
 * unchanged. */
static void one_run_from_plain_files(void **state) {
    (void)state;
    dpa_evidence e;
    write_text("score,member\n3,1\n2,0\n1,1\n");
    assert_ok(dpa__evidence_one_run(path, NULL, 0, &e, NULL));
    const dpa_named_array *in = dpa__evidence_find(&e, "members");
    const dpa_named_array *out = dpa__evidence_find(&e, "nonmembers");
    assert_true(in->count == 2 && in->items[0] == 3 && in->items[1] == 1);
    assert_true(out->count == 1 && out->items[0] == 2);
    dpa__evidence_clear(&e);
    write_text("score,correct\n3,1\n2,0\n1,1\n");
    assert_ok(dpa__evidence_one_run(path, NULL, 0, &e, NULL));
    assert_int_equal(e.kind, DPA_EVIDENCE_GUESSES);
    const dpa_named_array *score = dpa__evidence_find(&e, "score");
    const dpa_named_array *correct = dpa__evidence_find(&e, "correct");
    assert_true(score->count == 3 && score->items[1] == 2);
    assert_true(correct->count == 3 && correct->items[0] == 1 && correct->items[1] == 0);
    dpa__evidence_clear(&e);
    write_text("0.5\n0.25\n");
    assert_ok(dpa__evidence_scores(path, path, 1, &e, NULL));
    in = dpa__evidence_find(&e, "members");
    assert_true(in->count == 2 && in->items[0] + in->items[1] == 0.75);
    dpa__evidence_clear(&e);
}

/* An NPZ of two classes, or of answers, is one run too; and so is a file of ours. */
static void one_run_from_archives(void **state) {
    (void)state;
    double a[] = {3, 1}, b[] = {2}, bits[] = {1, 0}, odd[] = {1, 2};
    const dpa_array two[] = {{.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = a},
                             {.dtype = DPA_F64, .ndim = 1, .shape = {1}, .count = 1, .data = b}};
    const char *const classes[] = {"members", "nonmembers"}, *answers[] = {"score", "correct"};
    dpa_evidence e;
    dpa_error err = {0};
    assert_ok(dpa__npz_write(path, classes, two, 2, NULL));
    assert_ok(dpa__evidence_one_run(path, NULL, 0, &e, NULL));
    assert_int_equal(e.kind, DPA_EVIDENCE_SCORES);
    assert_int_equal(e.design, DPA_ONE_RUN);
    assert_int_equal(dpa__evidence_find(&e, "members")->count, 2);
    assert_true(dpa__evidence_find(&e, "nonmembers")->items[0] == 2);
    assert_string_equal(e.path[0], path);
    assert_int_equal(strlen(e.sha256[0]), 64);
    e.design = DPA_INDEPENDENT_RUNS;
    assert_ok(dpa_evidence_write(&e, path, NULL));
    dpa__evidence_clear(&e);
    assert_ok(dpa__evidence_one_run(path, NULL, 0, &e, NULL));
    assert_int_equal(e.design, DPA_ONE_RUN);
    dpa__evidence_clear(&e);
    assert_ok(dpa__npz_write(path, answers, two, 2, NULL)); /* one answer for two scores */
    assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &e, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "2 scores, but 1 answers"));
    dpa_array both[] = {two[0], two[0]};
    both[1].data = odd;
    assert_ok(dpa__npz_write(path, answers, both, 2, NULL));
    assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &e, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "correct in row 2 is 2; 0 or 1 is right"));
    both[1].data = bits;
    assert_ok(dpa__npz_write(path, answers, both, 2, NULL));
    assert_ok(dpa__evidence_one_run(path, NULL, 0, &e, NULL));
    assert_int_equal(e.kind, DPA_EVIDENCE_GUESSES);
    assert_true(dpa__evidence_find(&e, "correct")->items[0] == 1);
    dpa__evidence_clear(&e);
}

/* Scores are one list: a column or a row is one, a matrix is not. */
static void matrices_of_scores_are_refused(void **state) {
    (void)state;
    double six[] = {1, 2, 3, 4, 5, 6};
    static const size_t shapes[3][2] = {{6, 1}, {1, 6}, {2, 3}};
    for (size_t k = 0; k < 3; ++k) {
        const dpa_array array = {.dtype = DPA_F64,
                                 .ndim = 2,
                                 .shape = {shapes[k][0], shapes[k][1]},
                                 .count = 6,
                                 .data = six};
        dpa_evidence e;
        dpa_error err = {0};
        assert_ok(dpa__array_write(path, &array, NULL));
        const dpa_status status = dpa__evidence_scores(path, path, 1, &e, &err);
        assert_int_equal(status, k < 2 ? DPA_OK : DPA_BAD_INPUT);
        if (k == 2) assert_non_null(strstr(err.text, "an array of 2 dimensions"));
        if (k == 2) continue;
        assert_int_equal(dpa__evidence_find(&e, "members")->count, 6);
        dpa__evidence_clear(&e);
    }
}

/* Losses of one run are scores with the other sign. */
static void losses_of_one_run(void **state) {
    (void)state;
    dpa_evidence e;
    write_text("0.5\n-0.25\n");
    assert_ok(dpa__evidence_one_run(path, path, 1, &e, NULL));
    for (int side = 0; side < 2; ++side) {
        const dpa_named_array *x = dpa__evidence_find(&e, side ? "members" : "nonmembers");
        assert_true(x->count == 2 && x->items[0] == -0.5 && x->items[1] == 0.25);
        assert_string_equal(e.path[side], path);
    }
    dpa__evidence_clear(&e);
    assert_ok(dpa__evidence_cosines(path, NULL, &e, NULL));
    assert_true(e.kind == DPA_EVIDENCE_COSINES && e.design == DPA_ONE_RUN);
    assert_int_equal(dpa__evidence_find(&e, "final")->count, 2);
    dpa__evidence_clear(&e);
    assert_ok(dpa__evidence_cosines(path, path, &e, NULL));
    assert_int_equal(dpa__evidence_find(&e, "observed")->count, 2);
    assert_int_equal(dpa__evidence_find(&e, "unobserved")->count, 2);
    dpa__evidence_clear(&e);
}

/* A file of ours for another command is refused by its description, not by its contents. */
static void a_file_of_another_kind_is_refused(void **state) {
    (void)state;
    dpa_evidence e, other;
    dpa_error err = {0};
    fill(&e);
    e.kind = DPA_EVIDENCE_COSINES;
    assert_ok(dpa_evidence_write(&e, path, NULL));
    assert_int_equal(dpa__evidence_scores(path, NULL, 1, &other, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "the file holds cosines; scores are wanted here"));
    assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &other, &err), DPA_BAD_INPUT);
    e.kind = DPA_EVIDENCE_SCORES;
    assert_ok(dpa_evidence_write(&e, path, NULL));
    assert_int_equal(dpa__evidence_cosines(path, NULL, &other, &err), DPA_BAD_INPUT);
    assert_ok(dpa__evidence_scores(path, NULL, 1, &other, &err));
    dpa__evidence_clear(&other);
    dpa__evidence_clear(&e);
}

/* ── fields ──────────────────────────────────────────────────────────────────────────── */

static void fields_from_text(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"scope", "step"},      {"design", "one-run"},   {"side", "out"},
        {"options", "5"},       {"dim", "100"},          {"q", "0.5"},
        {"steps", "10"},        {"sigma", "1.5"},        {"canary-rate", "0.1"},
        {"direction", "signs"}, {"participations", "3"}, {"inclusion-rate", "0.25"}};
    static const char *const bad[][2] = {
        {"scope", "world"}, {"design", "two-runs"}, {"side", "left"}, {"options", "1"},
        {"q", "0"},         {"q", "1.01"},          {"steps", "0"},   {"canary-rate", "0"},
        {"sigma", "-1"},    {"sigma", "x"},         {"sigma", "1 "},  {"inclusion-rate", "nan"},
        {"nonsense", "1"},  {"dim", "-1"}};
    dpa_evidence *e = NULL;
    dpa_error err = {0};
    assert_ok(dpa_evidence_new(DPA_EVIDENCE_SCORES, &e, NULL));
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i)
        assert_ok(dpa_evidence_set(e, good[i][0], good[i][1], NULL));
    assert_int_equal(e->scope, DPA_SCOPE_STEP);
    assert_int_equal(e->design, DPA_ONE_RUN);
    assert_int_equal(e->side, 2);
    assert_int_equal(e->options, 5);
    assert_int_equal(e->dim, 100);
    assert_int_equal(e->training.steps, 10);
    assert_true(e->training.q == 0.5 && e->training.sigma == 1.5 && e->training.rate == 0.1);
    assert_true(e->training.participations == 3 && e->inclusion_rate == 0.25);
    assert_string_equal(e->direction, "signs");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        if (dpa_evidence_set(e, bad[i][0], bad[i][1], &err) != DPA_BAD_ARGUMENT)
            fail_msg("%s %s is taken", bad[i][0], bad[i][1]);
        assert_non_null(strstr(err.text, bad[i][0]));
    }
    assert_true(e->training.sigma == 1.5);
    dpa_evidence_free(e);
}

/* What a program without the struct reads: the same as in place, and nothing to free on failure. */
static void read_on_the_heap(void **state) {
    (void)state;
    dpa_evidence *e = NULL, *again = NULL;
    dpa_error err = {0};
    assert_ok(dpa_evidence_new(DPA_EVIDENCE_SCORES, &e, NULL));
    assert_ok(dpa_evidence_copy(e, "members", (const double[]){3, 4}, 2, NULL));
    assert_ok(dpa_evidence_copy(e, "nonmembers", (const double[]){1}, 1, NULL));
    assert_ok(dpa_evidence_fact(e, "accuracy", 0.5, NULL));
    assert_ok(dpa_evidence_write(e, path, NULL));
    dpa_evidence_free(e);
    const dpa_status read[] = {dpa_evidence_read(path, &e, &err),
                               dpa_evidence_scores(path, NULL, &again, &err)};
    assert_ok(read[0]);
    assert_ok(read[1]);
    assert_true(e->array_count == 2 && e->facts[0].value == 0.5);
    assert_true(again->arrays[0].count == 2 && again->arrays[1].items[0] == 1);
    dpa_evidence_free(again);
    assert_ok(dpa_evidence_one_run(path, NULL, 0, &again, &err));
    assert_int_equal(again->design, DPA_ONE_RUN);
    dpa_evidence_free(again);
    assert_int_equal(dpa_evidence_cosines(path, NULL, &again, &err), DPA_BAD_INPUT);
    assert_null(again);
    dpa_evidence_free(e);
    dpa_evidence_free(NULL);
}

static void there_is_an_end_to_arrays_and_facts(void **state) {
    (void)state;
    static const double one = 1;
    dpa_evidence e;
    dpa_error err = {0};
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    for (int i = 0; i < DPA_EVIDENCE_ARRAYS; ++i)
        assert_ok(dpa_evidence_copy(&e, "a", &one, 1, NULL));
    assert_int_equal(dpa_evidence_copy(&e, "b", &one, 1, &err), DPA_BAD_ARGUMENT);
    for (int i = 0; i < DPA_EVIDENCE_FACTS; ++i) assert_ok(dpa_evidence_fact(&e, "f", i, NULL));
    assert_int_equal(dpa_evidence_fact(&e, "g", 1, &err), DPA_BAD_ARGUMENT);
    dpa__evidence_clear(&e);
    dpa__evidence_clear(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(defaults_come_back),
        cmocka_unit_test(a_claimed_curve_and_epsilon_come_back),
        cmocka_unit_test(matrices_come_back),
        cmocka_unit_test(descriptions_that_are_refused),
        cmocka_unit_test(descriptions_at_the_ends),
        cmocka_unit_test(too_many_facts_are_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(plain_files_are_what_the_caller_says),
        cmocka_unit_test(one_run_from_plain_files),
        cmocka_unit_test(one_run_from_archives),
        cmocka_unit_test(matrices_of_scores_are_refused),
        cmocka_unit_test(losses_of_one_run),
        cmocka_unit_test(a_file_of_another_kind_is_refused),
        cmocka_unit_test(fields_from_text),
        cmocka_unit_test(read_on_the_heap),
        cmocka_unit_test(there_is_an_end_to_arrays_and_facts),
    };
    return cmocka_run_group_tests(tests, make_path, drop_path);
}
