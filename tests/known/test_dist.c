/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions compared with tests/known/dist.txt, made to 25 digits by scripts/make-known-dist.
 * Each row says how exact a function of doubles can be, and that is the tolerance. */
#include "check.h"

#include "math/dist.h"

static double log_interval(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__norm_log_interval(x[0], x[1]);
}
static double norm_cdf(const double *x, dpa__tail tail) {
    return dpa__norm_cdf(x[0], tail);
}
static double norm_quantile(const double *x, dpa__tail tail) {
    return dpa__norm_quantile(x[0], tail);
}
static double beta_log_pdf(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__beta_log_pdf(x[0], x[1], x[2]);
}
static double beta_cdf(const double *x, dpa__tail tail) {
    return dpa__beta_cdf(x[0], x[1], x[2], tail);
}
static double binom_log_pmf(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__binom_log_pmf(x[0], x[1], x[2]);
}
static double binom_cdf(const double *x, dpa__tail tail) {
    return dpa__binom_cdf(x[0], x[1], x[2], tail);
}
static double gamma_cdf(const double *x, dpa__tail tail) {
    return dpa__gamma_cdf(x[0], x[1], x[2], tail);
}
static double gamma_quantile(const double *x, dpa__tail tail) {
    return dpa__gamma_quantile(x[0], x[1], x[2], tail);
}
static double t_cdf(const double *x, dpa__tail tail) {
    return dpa__t_cdf(x[0], x[1], tail);
}
static double t_quantile(const double *x, dpa__tail tail) {
    return dpa__t_quantile(x[0], x[1], tail);
}
static double cp_lower(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__cp_lower(x[0], x[1], x[2]);
}
static double cp_upper(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__cp_upper(x[0], x[1], x[2]);
}
static double jeffreys_lower(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__jeffreys_lower(x[0], x[1], x[2]);
}
static double jeffreys_upper(const double *x, dpa__tail tail) {
    (void)tail;
    return dpa__jeffreys_upper(x[0], x[1], x[2]);
}

static const struct function {
    const char *name;
    double (*call)(const double *x, dpa__tail tail);
    int arguments;
} functions[] = {
    {"norm_cdf", norm_cdf, 1},
    {"norm_quantile", norm_quantile, 1},
    {"norm_log_interval", log_interval, 2},
    {"beta_log_pdf", beta_log_pdf, 3},
    {"beta_cdf", beta_cdf, 3},
    {"binom_log_pmf", binom_log_pmf, 3},
    {"binom_cdf", binom_cdf, 3},
    {"gamma_cdf", gamma_cdf, 3},
    {"gamma_quantile", gamma_quantile, 3},
    {"t_cdf", t_cdf, 2},
    {"t_quantile", t_quantile, 2},
    {"cp_lower", cp_lower, 3},
    {"cp_upper", cp_upper, 3},
    {"jeffreys_lower", jeffreys_lower, 3},
    {"jeffreys_upper", jeffreys_upper, 3},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static dpa__tail tail_of(const char *name) {
    static const char *const names[] = {"lower", "upper", "log_lower", "log_upper"};
    for (int i = 0; i < 4; ++i) {
        if (strcmp(name, names[i]) == 0) return (dpa__tail)i;
    }
    fail_msg("tail '%s'", name);
    return DPA_LOWER;
}

/* The largest error of each function, in units of what its row allows. */
static double worst[FUNCTIONS];
static int rows[FUNCTIONS];

static int check_row(char *line) {
    char *rest = NULL;
    const char *name = strtok_r(line, " \n", &rest), *tail = strtok_r(NULL, " \n", &rest);
    assert_non_null(tail);
    size_t which = 0;
    while (which < FUNCTIONS && strcmp(name, functions[which].name) != 0) ++which;
    if (which == FUNCTIONS) fail_msg("function '%s'", name);
    double number[5] = {0};
    for (int i = 0; i < functions[which].arguments + 2; ++i) {
        const char *word = strtok_r(NULL, " \n", &rest);
        assert_non_null(word);
        number[i] = strtod(word, NULL);
    }
    const double want = number[functions[which].arguments];
    const double allowed = number[functions[which].arguments + 1] * fabs(want);
    const double got = functions[which].call(number, tail_of(tail));
    ++rows[which];
    if (got == want) return 1;
    worst[which] = fmax(worst[which], fabs(got - want) / allowed);
    if (fabs(got - want) <= allowed) return 1;
    print_error("%s %s %.17g %.17g %.17g: got %.17g, want %.17g, off by %.3g, allowed %.3g\n", name,
                tail, number[0], number[1], number[2], got, want, fabs(got - want), allowed);
    return 0;
}

static void table(void **state) {
    (void)state;
    FILE *file = fopen(DPA_SOURCE "/tests/known/dist.txt", "r");
    assert_non_null(file);
    char line[512];
    int bad = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] != '#') bad += !check_row(line);
    }
    (void)fclose(file);
    for (size_t i = 0; i < FUNCTIONS; ++i) {
        print_message("%-18s %4d rows, worst error %.2f of what is allowed\n", functions[i].name,
                      rows[i], worst[i]);
        assert_true(rows[i] > 0);
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
