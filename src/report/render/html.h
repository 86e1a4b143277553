/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page from results as JSON values. */
#ifndef DPA_REPORT_HTML_H
#define DPA_REPORT_HTML_H

#include <jansson.h>

#include "base/text.h"

/* The whole page for one or several results. `paths` (may be NULL) names them after their files.
 * Every string in a result may be hostile. */
void dpa__html_page(dpa__text *out, json_t *const *results, const char *const *paths, size_t count);

/* ── what the parts of a page share ──────────────────────────────────────────────────── */

/* Escapes &, <, >, " and ', for content and for quoted attributes. */
void dpa__html_escape(dpa__text *out, const char *text);
/* A scalar of any type, escaped; prints nothing for other types. */
void dpa__html_value(dpa__text *out, const json_t *value);
/* A key in readable form: "fnr_lower" becomes "fnr lower". */
void dpa__html_label(dpa__text *out, const char *key);
/* A list of flat objects with the same keys as a table. */
void dpa__html_rows(dpa__text *out, const char *name, const json_t *rows);
/* The text, escaped, between what is ours. */
void dpa__html_between(dpa__text *out, const char *before, const char *text, const char *after);

/* ── the parts, in the order of the page ─────────────────────────────────────────────── */

/* One result. `number` makes its ids unique, `level` is that of its heading; `path` is its file, if
 * that distinguishes it from others. */
typedef struct dpa__html_part {
    const json_t *result, *charts;
    size_t number;
    int level;
    const char *path;
} dpa__html_part;

/* 1 if the data contradict what the deciding test stands on: then its number says nothing. */
int dpa__html_is_void(const json_t *result);
/* "✗ Claim refuted": the verdict as a mark that does not rely on colour. */
const char *dpa__html_mark(const json_t *result);
/* What was done to what, as a heading: "White-box game: run.yaml", "Audit of attack scores:
 * members.npy, nonmembers.npy". */
void dpa__html_title(dpa__text *out, const json_t *result);
void dpa__html_verdict(dpa__text *out, const dpa__html_part *part);
void dpa__html_basis(dpa__text *out, const dpa__html_part *part);
void dpa__html_bounds(dpa__text *out, const dpa__html_part *part);
void dpa__html_evidence(dpa__text *out, const dpa__html_part *part);
void dpa__html_provenance(dpa__text *out, const dpa__html_part *part);
/* The charts of one place ("bounds", "evidence") as figures. */
void dpa__html_charts(dpa__text *out, const dpa__html_part *part, const char *place);
/* All specifications, for the script. */
void dpa__html_chart_data(dpa__text *out, json_t *const *charts, size_t count);

/* ── several stored audits as one trend ──────────────────────────────────────────────── */

/* The file name without folder and extension: "audits/epoch-05.json" becomes epoch-05. */
void dpa__html_stem(const char *path, char *out, size_t size);
/* {"trend": [{audit, verdict, epsilon, claim, detects, delta, time, number}]} of the results that
 * show a bound, named after their files; NULL if memory ran out. */
json_t *dpa__trend(json_t *const *results, const char *const *paths, size_t count);
/* The section of the trend: part->result is what dpa__trend returned, with at least two rows. */
void dpa__html_trend(dpa__text *out, const dpa__html_part *part);

/* ── embedded at build time (assets.c) ───────────────────────────────────────────────── */

const char *dpa__report_style(void);
/* The script's text and length; length 0 if the library was built without npm. */
const char *dpa__report_script(size_t *length);
/* The script's hash as a Content-Security-Policy needs it: "sha256-…". */
const char *dpa__report_script_hash(void);

#endif
