/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as losses of one model: one file of both sides, two files, predictions with labels, or
 * the numbers themselves. They are refused in words, or every method gives an ε* that is a number
 * at or above 0, with rates that are rates. The first byte says which form, the second where to
 * cut. All methods together take 30 ms, so most inputs are given to the quickest alone. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "estimate/losses/epsilon_star.h"

enum { MOST = 300, PARTS = 4, RARE = 256 };

static int is_rare;

static void must(int condition) {
    if (!condition) abort();
}

static void check_results(const dpa_results *results) {
    for (size_t i = 0; i < results->count; ++i) {
        const dpa_result *r = &results->items[i];
        must((r->kind == DPA_BOUND ? r->epsilon_lower : r->epsilon) >= 0.0);
        must(strstr(r->note, "does not bound") != NULL);
    }
}

static void estimate(const dpa_losses *losses) {
    dpa_star_opts opts;
    dpa_request request;
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa_error err = {0};
    dpa_star star;
    dpa__star_opts_init(&opts);
    dpa__request_init(&request);
    opts.bootstrap = 3;
    opts.mixture.components = 2;
    request.threads = 1;
    if (!is_rare) (void)snprintf(request.method, sizeof request.method, "empirical");
    fuzz_check(dpa__losses_lint(losses, &lints, &err), &err);
    fuzz_check(dpa__star_results(losses, &opts, &request, &results, &lints, &err), &err);
    check_results(&results);
    if (dpa__star_empirical(losses, 0.0, &star, &err) == DPA_OK && star.ratio != DPA_STAR_NONE)
        must(star.fpr >= 0.0 && star.fpr <= 1.0 && star.fnr >= 0.0 && star.fnr <= 1.0);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
}

/* The losses are used when there are few enough for a quick run. */
static void finish(dpa_status status, dpa_losses *losses, const dpa_error *err) {
    fuzz_check(status, err);
    if (status != DPA_OK) return;
    if (losses->train_count + losses->heldout_count <= MOST) estimate(losses);
    dpa__losses_free(losses);
}

static void try_numbers(const uint8_t *data, size_t size, uint8_t cut) {
    double value[MOST];
    dpa_losses losses;
    dpa_error err = {0};
    const size_t count = size / sizeof *value < MOST ? size / sizeof *value : MOST;
    const size_t train = cut % (count + 1);
    memcpy(value, data, count * sizeof *value);
    finish(dpa__losses_new(value, train, value + train, count - train, &losses, &err), &losses,
           &err);
}

/* `count` files of equal parts of the bytes; 1: both sides in one, 2: losses, 4: with labels. */
static void try_files(const uint8_t *data, size_t size, size_t count) {
    int file[PARTS];
    char path[PARTS][FUZZ_PATH];
    dpa_losses losses;
    dpa_error err = {0};
    size_t made = 0;
    for (; made < count; ++made) {
        const size_t from = made * size / count, to = (made + 1) * size / count;
        file[made] = fuzz_file(data + from, to - from, path[made]);
        if (file[made] < 0) break;
    }
    if (made == count) {
        const dpa_losses_files files = {path[0], count > 1 ? path[1] : NULL,
                                        count > 2 ? path[2] : NULL, count > 2 ? path[3] : NULL};
        finish(dpa__losses_read(&files, &losses, &err), &losses, &err);
    }
    for (size_t i = 0; i < made; ++i) (void)close(file[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    is_rare = fuzz_is_rare(data, size, RARE);
    if (data[0] == 'v') try_numbers(data + 2, size - 2, data[1]);
    if (data[0] == '1') try_files(data + 2, size - 2, 1);
    if (data[0] == '2') try_files(data + 2, size - 2, 2);
    if (data[0] == '4') try_files(data + 2, size - 2, 4);
    return 0;
}
