/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input canaries: each kind against its definition, crafted ones against the mean gradient computed
 * here, adversarial ones against the corner that is a linear model's optimum, and the law of the
 * observations against the closed form. */
#include "game/table.h"

#include "game/canary.h"

static void close_table(table_game *t) {
    dpa_dataset_free(t->data.data);
}

/* Half of the rows are held out. */
static void hold_out(table_game *t) {
    static size_t heldout[ROWS / 2];
    for (size_t i = 0; i < ROWS / 2; ++i) heldout[i] = ROWS / 2 + i;
    t->data.member_count = ROWS / 2;
    t->data.heldout = heldout;
    t->data.heldout_count = ROWS / 2;
}

static void definitions(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    assert_int_equal(dpa__pool_of(&t.data).count, ROWS);
    hold_out(&t);
    const dpa__pool pool = dpa__pool_of(&t.data);
    assert_int_equal(pool.count, ROWS / 2);
    size_t ones = 0;
    for (uint64_t i = 0; i < 400; ++i) {
        float x[FEATURES];
        int32_t label;
        dpa__example_draw(DPA_GAME_BLANK, &pool, 7, i, x, &label);
        for (size_t j = 0; j < FEATURES; ++j) assert_true(x[j] == 0.0F);
        ones += label == 1;
        for (int kind = DPA_GAME_MISLABELLED; kind <= DPA_GAME_CRAFTED; ++kind) {
            if (kind == DPA_GAME_BLANK) continue;
            dpa__example_draw((dpa_game_canary)kind, &pool, 7, i, x, &label);
            size_t row = ROWS / 2; /* only held-out rows */
            while (row < ROWS && memcmp(x, dpa_dataset_row(t.data.data, row), sizeof x) != 0) ++row;
            assert_true(row < ROWS);
            const int right = label == dpa_dataset_label(t.data.data, row);
            assert_int_equal(right, kind != DPA_GAME_MISLABELLED);
        }
    }
    assert_in_range(ones, 155, 245); /* 4.5 deviations about 200 */
    close_table(&t);
}

/* With three classes, each of the two wrong labels is equally frequent. */
static void wrong_labels(void **state) {
    (void)state;
    const float x[3] = {0.0F, 1.0F, 2.0F};
    const int32_t label[3] = {0, 1, 2};
    const size_t rows[3] = {0, 1, 2};
    dpa_dataset *data = NULL;
    assert_ok(dpa_dataset_new(x, label, 3, (dpa_shape){1, 1, 1}, 3, &data, NULL));
    const dpa__pool pool = {data, rows, 3};
    size_t seen[3][3] = {{0}};
    for (uint64_t i = 0; i < 3600; ++i) {
        float from;
        int32_t to;
        dpa__example_draw(DPA_GAME_MISLABELLED, &pool, 3, i, &from, &to);
        ++seen[(size_t)from][to];
    }
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j) {
            if (i == j) assert_int_equal(seen[i][j], 0);
            if (i != j) assert_in_range(seen[i][j], 497, 703); /* 600, deviation 22.4 */
        }
    dpa_dataset_free(data);
}

enum { MOST_WEIGHTS = 128 };

/* Mean of the pool's gradients, each clipped, in double precision. */
static void mean_gradient(const dpa_model *model, const dpa__pool *pool, double clip,
                          double *mean) {
    const size_t size = dpa_model_size(model);
    float g[MOST_WEIGHTS];
    assert_true(size <= MOST_WEIGHTS);
    for (size_t i = 0; i < size; ++i) mean[i] = 0.0;
    for (size_t p = 0; p < pool->count; ++p) {
        const size_t row = pool->rows[p];
        assert_ok(dpa_model_gradient(model, dpa_dataset_row(pool->data, row),
                                     dpa_dataset_label(pool->data, row), g, NULL, NULL));
        double square = 0.0;
        for (size_t i = 0; i < size; ++i) square += (double)g[i] * (double)g[i];
        const double factor = fmin(1.0, clip / sqrt(square)) / (double)pool->count;
        for (size_t i = 0; i < size; ++i) mean[i] += factor * (double)g[i];
    }
}

static double cosine_with(const dpa_model *model, const float *x, int32_t label,
                          const double *mean) {
    float g[MOST_WEIGHTS];
    assert_ok(dpa_model_gradient(model, x, label, g, NULL, NULL));
    double dot = 0.0, own = 0.0, other = 0.0;
    for (size_t i = 0; i < dpa_model_size(model); ++i) {
        dot += (double)g[i] * mean[i];
        own += (double)g[i] * (double)g[i];
        other += mean[i] * mean[i];
    }
    return dot / sqrt(own * other);
}

/* The mean |cosine| with all held-out examples as starting points, before and after crafting;
 * returns how many end below 0.001. */
static size_t craft_all(const char *layers, double *before, double *after) {
    table_game t;
    set_up(&t);
    hold_out(&t);
    t.plan.layers = layers;
    const dpa__pool pool = dpa__pool_of(&t.data);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.crafting_examples = ROWS;
    dpa_model *model = NULL;
    assert_ok(
        dpa_model_new(layers, (dpa_shape){1, 1, FEATURES}, 2, DPA_LOSS_SOFTMAX, &model, NULL));
    dpa_model_init(model, 3);
    dpa__craft *craft = NULL;
    assert_ok(dpa__craft_new(&o, &t.plan, &pool, &craft, NULL));
    double mean[MOST_WEIGHTS];
    mean_gradient(model, &pool, t.plan.train.clip, mean);
    size_t close = 0;
    *before = *after = 0.0;
    for (size_t p = 0; p < pool.count; ++p) {
        const int32_t label = dpa_dataset_label(pool.data, pool.rows[p]);
        float x[FEATURES];
        memcpy(x, dpa_dataset_row(pool.data, pool.rows[p]), sizeof x);
        const double first = fabs(cosine_with(model, x, label, mean));
        assert_ok(dpa__craft_orthogonal(craft, model, label, x, NULL));
        const double last = fabs(cosine_with(model, x, label, mean));
        assert_true(last <= first + 1e-5);
        close += last < 1e-3;
        *before += first / (double)pool.count;
        *after += last / (double)pool.count;
    }
    dpa__craft_free(craft);
    dpa_model_free(model);
    close_table(&t);
    print_message("%s: mean |cosine| %.4f before, %.2g after; %zu of %zu below 0.001\n", layers,
                  *before, *after, close, pool.count);
    return close;
}

/* A relu network's gradient jumps where a unit switches on or off: some starts end at such an
 * edge. */
static void orthogonal(void **state) {
    (void)state;
    double before, after;
    assert_in_range(craft_all("dense:8 tanh", &before, &after), 95, 100);
    assert_true(before > 0.2 && after < 0.01);
    assert_in_range(craft_all("mlp:8", &before, &after), 70, 100);
    assert_true(before > 0.2 && after < 0.1 * before);
}

/* The loss of a linear model grows along one direction: the optimum is the corner of the box. */
static void corner(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    t.plan.layers = "";
    t.plan.loss = DPA_LOSS_BINARY;
    const dpa__pool pool = dpa__pool_of(&t.data);
    float low = 0.0F, high = 0.0F;
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t j = 0; j < FEATURES; ++j) {
            low = fminf(low, dpa_dataset_row(pool.data, i)[j]);
            high = fmaxf(high, dpa_dataset_row(pool.data, i)[j]);
        }
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.radius = 0.5;
    dpa_model *model = NULL;
    assert_ok(dpa_model_new("", (dpa_shape){1, 1, FEATURES}, 2, DPA_LOSS_BINARY, &model, NULL));
    dpa_model_init(model, 4);
    dpa__craft *craft = NULL;
    assert_ok(dpa__craft_new(&o, &t.plan, &pool, &craft, NULL));
    for (size_t i = 0; i < ROWS; ++i) {
        const float *start = dpa_dataset_row(pool.data, i), *w = dpa_model_weights(model);
        const int32_t label = dpa_dataset_label(pool.data, i);
        float x[FEATURES];
        memcpy(x, start, sizeof x);
        assert_ok(dpa__craft_adversarial(craft, model, label, x, NULL));
        for (size_t j = 0; j < FEATURES; ++j) {
            const float way = copysignf(0.5F, label == 1 ? -w[j] : w[j]);
            assert_absolute(x[j], fminf(fmaxf(start[j] + way, low), high), 1e-6);
        }
    }
    dpa__craft_free(craft);
    dpa_model_free(model);
    close_table(&t);
}

typedef struct played {
    double in[4 * STEPS], out[4 * STEPS], reach;
} played;

static void play(const table_game *t, const dpa_game_opts *o, size_t count, played *p) {
    dpa_error err = {0};
    dpa__white_box *game = NULL;
    if (dpa__white_box_new(o, &t->plan, &t->data, NULL, &game, &err) != DPA_OK ||
        dpa__white_box_play(game, 0, count, p->in, p->out, &err) != DPA_OK)
        fail_msg("%s", err.text);
    p->reach = dpa__white_box_reach(game) / (double)count;
    dpa__white_box_free(game);
}

/* Nobody is sampled and nothing is learned: N(0, σ²) against N(‖g′‖/C, σ²). The model has no hidden
 * layer, so a blank example has a gradient in the biases only, (p, p − 1) with p = ½. */
static void empty_batches(table_game *t) {
    set_up(t);
    t->plan.layers = "";
    t->plan.train.q = 1e-12;
    t->plan.train.rate = 0.0;
    t->plan.train.steps = 4 * STEPS;
}

static void laws(void **state) {
    (void)state;
    static played p;
    table_game t;
    empty_batches(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.canary = DPA_GAME_BLANK;
    const double clips[] = {0.5, 2.0};
    const double reach[] = {1.0, sqrt(0.5) / 2.0};
    for (size_t i = 0; i < 2; ++i) {
        t.plan.train.clip = clips[i];
        play(&t, &o, 4 * STEPS, &p);
        assert_absolute(p.reach, reach[i], 1e-6);
        has_law(p.out, 4 * STEPS, 0.0, SIGMA);
        has_law(p.in, 4 * STEPS, reach[i], SIGMA);
    }
    o.canary_rate = 0.25;
    t.plan.train.clip = 0.5;
    play(&t, &o, 4 * STEPS, &p);
    has_law(p.in, 4 * STEPS, 0.25, sqrt(SIGMA * SIGMA + 0.25 * 0.75));
    close_table(&t);
}

/* With data in the batches: the means differ by the reach of the canary's gradient, and the noise
 * is at least σ. */
static void with_data(void **state) {
    (void)state;
    static played p;
    table_game t;
    set_up(&t);
    hold_out(&t);
    for (int kind = DPA_GAME_MISLABELLED; kind <= DPA_GAME_CRAFTED; ++kind)
        for (int moving = 0; moving < 2; ++moving) {
            dpa_game_opts o;
            dpa_game_opts_init(&o);
            o.canary = (dpa_game_canary)kind;
            o.moving = moving;
            t.plan.train.steps = 4 * STEPS;
            play(&t, &o, 4 * STEPS, &p);
            double in, out, in_deviation, out_deviation;
            moments(p.in, 4 * STEPS, &in, &in_deviation);
            moments(p.out, 4 * STEPS, &out, &out_deviation);
            const double error = hypot(in_deviation, out_deviation) / sqrt(4.0 * STEPS);
            assert_true(p.reach > 0.2 && p.reach <= 1.0);
            assert_true(fabs(in - out - p.reach) < 4.5 * error);
            assert_true(out_deviation > 0.94 * SIGMA);
        }
    close_table(&t);
}

static void sabotages(void **state) {
    (void)state;
    static played p;
    table_game t;
    empty_batches(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.canary = DPA_GAME_BLANK;
    o.sabotage = DPA_SABOTAGE_SCALE;
    o.noise_scale = 0.0;
    play(&t, &o, 10, &p);
    for (size_t i = 0; i < 10; ++i) {
        assert_absolute(p.in[i], 1.0, 1e-5);
        assert_absolute(p.out[i], 0.0, 1e-5);
    }
    o.sabotage = DPA_SABOTAGE_WORKERS;
    play(&t, &o, 4 * STEPS, &p);
    has_law(p.in, 4 * STEPS, 1.0, SIGMA / 2.0);
    /* Not clipped: the full gradient, √½ or 7.07 times C. */
    o.sabotage = DPA_SABOTAGE_CLIP;
    t.plan.train.clip = 0.1;
    play(&t, &o, 4 * STEPS, &p);
    has_law(p.in, 4 * STEPS, sqrt(0.5) / 0.1, SIGMA);
    has_law(p.out, 4 * STEPS, 0.0, SIGMA);
    close_table(&t);
}

/* A run depends on its number, not on what was played before. */
static void same_bytes(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    hold_out(&t);
    for (int kind = DPA_GAME_MISLABELLED; kind <= DPA_GAME_CRAFTED; ++kind) {
        dpa_game_opts o;
        dpa_game_opts_init(&o);
        o.canary = (dpa_game_canary)kind;
        o.moving = kind % 2;
        double a[2][60], b[2][60], c[2][60];
        dpa__white_box *game = NULL;
        assert_ok(dpa__white_box_new(&o, &t.plan, &t.data, NULL, &game, NULL));
        assert_ok(dpa__white_box_play(game, 1, 60, a[0], a[1], NULL));
        assert_ok(dpa__white_box_play(game, 0, 60, b[0], b[1], NULL));
        assert_ok(dpa__white_box_play(game, 1, 60, c[0], c[1], NULL));
        dpa__white_box_free(game);
        assert_memory_equal(a, c, sizeof a);
        assert_memory_not_equal(a, b, sizeof a);
    }
    close_table(&t);
}

static void refused(const dpa_game_opts *o, const table_game *t) {
    dpa__white_box *game = NULL;
    dpa_error err = {0};
    assert_int_equal(dpa__white_box_new(o, &t->plan, &t->data, NULL, &game, &err),
                     DPA_BAD_ARGUMENT);
    assert_true(err.text[0] != '\0');
}

static void refusals(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts good;
    dpa_game_opts_init(&good);
    good.canary = DPA_GAME_CRAFTED;
    dpa_game_opts o = good;
    o.crafting_steps = 0;
    refused(&o, &t);
    o.crafting_steps = 100001;
    refused(&o, &t);
    o = good;
    o.crafting_examples = 0;
    refused(&o, &t);
    const double radius[] = {0.0, -1.0, (double)NAN, (double)INFINITY, 2e6};
    for (size_t i = 0; i < sizeof radius / sizeof radius[0]; ++i) {
        o = good;
        o.radius = radius[i];
        refused(&o, &t);
    }
    t.plan.train.microbatch = 2;
    refused(&good, &t);
    close_table(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions), cmocka_unit_test(wrong_labels), cmocka_unit_test(orthogonal),
        cmocka_unit_test(corner),      cmocka_unit_test(laws),         cmocka_unit_test(with_data),
        cmocka_unit_test(sabotages),   cmocka_unit_test(same_bytes),   cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
