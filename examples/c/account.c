/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training with DP-SGD promises: ε between two bounds that are proved.
 *   cc account.c -o account $(pkg-config --cflags --libs dpaudit) */
#include <dpaudit/account.h>
#include <stdio.h>

int main(void) {
    const dpa_phase phase = {.mechanism = DPA_GAUSSIAN, .sigma = 1.3, .q = 0.1, .steps = 100};
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_interval epsilon = {0};
    dpa_error err = {0};
    dpa_account_opts_init(&opts);
    dpa_status status = dpa_account_new(&phase, 1, &opts, &account, &err);
    if (status == DPA_OK) status = dpa_account_epsilon(account, 1e-5, &epsilon, &err);
    if (status == DPA_OK) {
        (void)printf("epsilon is between %.4f and %.4f\n", epsilon.lower, epsilon.upper);
    } else {
        (void)fprintf(stderr, "account: %s\n", err.text);
    }
    dpa_account_free(account);
    return status == DPA_OK ? 0 : 4;
}
