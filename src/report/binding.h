/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For bindings in other languages, which see no struct: pointers, numbers and names only. A C
 * program does not need it. */
#ifndef DPA_REPORT_BINDING_H
#define DPA_REPORT_BINDING_H

#include <stddef.h>
#include <stdint.h>

#include "attack/attack.h"
#include "evidence/canary.h"
#include "report/model/report.h"

/* A progress that stops a call once dpa__stop_set was called, from any thread; NULL if there is no
 * memory. Free it with dpa_free when no call uses it any more. */
DPA_API dpa_progress *dpa__stop_new(void);
DPA_API void dpa__stop_set(dpa_progress *stop);

/* The size of a dpa_error, and what one says. */
DPA_API size_t dpa__error_size(void);
DPA_API const char *dpa__error_place(const dpa_error *err);
DPA_API const char *dpa__error_text(const dpa_error *err);

/* The size of a dpa_rng. */
DPA_API size_t dpa__rng_size(void);

/* A request with its defaults; free it with dpa_free. */
DPA_API dpa_status dpa__request_new(dpa_request **out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__request_progress(dpa_request *request, const dpa_progress *progress);

/* What a call is asked, with the defaults of its struct: "account" (dpa_account_query), "attack"
 * (dpa_leak_opts), "canaries" (dpa_canaries_opts), "ideal" (dpa_ideal), "losses" (dpa_losses_query)
 * or "plan" (dpa_plan_query). Free it with dpa__query_free. */
DPA_API dpa_status dpa__query_new(const char *kind, void **out, dpa_error *err) DPA_MUST_USE;
/* Sets a field by its name, from text; the tables are in binding.c. Names of files, columns and
 * families are not copied: the caller keeps `value` as long as the query. */
DPA_API dpa_status dpa__query_set(const char *kind, void *query, const char *key, const char *value,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__query_free(const char *kind, void *query);

/* Adds a phase; the pair (NULL unless DPA_PAIR) is not copied. */
DPA_API dpa_status dpa__account_query_phase(dpa_account_query *query, dpa_mechanism mechanism,
                                            double sigma, double q, uint64_t steps,
                                            const dpa_pair *pair, dpa_error *err) DPA_MUST_USE;
/* The account of the phases, to be asked with the following. */
DPA_API dpa_status dpa__account_open(const dpa_account_query *query, dpa_account **out,
                                     dpa_error *err) DPA_MUST_USE;
/* The ends of the intervals for ε at δ = at[i], δ at ε = at[i], or FNR at FPR = at[i]: `what` is
 * "epsilon", "delta" or "fnr". */
DPA_API dpa_status dpa__account_ask(const dpa_account *account, const char *what, const double *at,
                                    size_t count, double *lower, double *upper,
                                    dpa_error *err) DPA_MUST_USE;

/* A view of a model or a change of one; one of f32 and f64 is NULL. The numbers are not copied,
 * here and below. Free it with dpa_free. */
DPA_API dpa_status dpa__vector_view(const float *f32, const double *f64, size_t dim,
                                    dpa_vector **out, dpa_error *err) DPA_MUST_USE;
/* dpa__canaries_own without its struct. */
DPA_API dpa_status dpa__canaries_own_of(dpa_canaries *canaries, const dpa_vector *released,
                                        double unit, const size_t *candidate, size_t candidates,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* Views of signals (`member` NULL: of a population) and of features; free them with dpa_free. */
DPA_API dpa_status dpa__signals_view(dpa_signal_kind kind, size_t models, size_t points,
                                     size_t augmentations, double *signal, uint8_t *member,
                                     dpa_signals **out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__features_view(size_t points, size_t count, double *value,
                                      dpa_features **out, dpa_error *err) DPA_MUST_USE;
/* What an attack is given besides the signals; each may be NULL. */
DPA_API void dpa__attack_data(dpa_leak_opts *opts, const dpa_signals *population,
                              const dpa_features *features, const dpa_features *of_population,
                              const size_t *exclude, size_t exclude_count);
/* dpa__attack_run with opts->attack and opts->how. */
DPA_API dpa_status dpa__attack_score(const dpa_leak_opts *opts, const dpa_signals *signals,
                                     double *scores, dpa_error *err) DPA_MUST_USE;
/* Room for the leaks of so many points; free it with dpa_free. */
DPA_API dpa_status dpa__leaks_new(size_t points, dpa_leak **out, dpa_error *err) DPA_MUST_USE;
/* point, in, out, accuracy, epsilon and gap of leaks[index]. */
enum { DPA__LEAK_NUMBERS = 6 };
DPA_API void dpa__leak_row(const dpa_leak *leaks, size_t index, double row[DPA__LEAK_NUMBERS]);

#endif
