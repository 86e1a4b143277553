/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page from results as JSON values. */
#ifndef DPA_REPORT_HTML_H
#define DPA_REPORT_HTML_H

#include <jansson.h>

#include "base/text.h"

/* The whole page for one or several results; every string in them may be hostile. */
void dpa__html_page(dpa__text *out, json_t *const *results, size_t count);

/* ── what the parts of a page share ──────────────────────────────────────────────────── */

/* Text with &, <, >, " and ' made harmless, fit for content and for quoted attributes. */
void dpa__html_escape(dpa__text *out, const char *text);
/* A scalar of any type, escaped; nothing for others. */
void dpa__html_value(dpa__text *out, const json_t *value);
/* A key as people read it: "fnr_lower" is "fnr lower". */
void dpa__html_label(dpa__text *out, const char *key);
/* Flat objects of the same keys as a table. */
void dpa__html_rows(dpa__text *out, const char *name, const json_t *rows);
/* <tag>text</tag> with the text escaped; tag is ours. */
void dpa__html_element(dpa__text *out, const char *tag, const char *text);

/* ── the parts, in the order of the page ─────────────────────────────────────────────── */

/* One result: `number` makes its ids unique, `level` is that of its heading. */
typedef struct dpa__html_part {
    const json_t *result, *charts;
    size_t number;
    int level;
} dpa__html_part;

/* "✗ Claim refuted": the verdict as a mark that needs no colour. */
const char *dpa__html_mark(const json_t *result);
/* What was done to what, as a heading: "White-box game: run.yaml", "Audit of attack scores:
 * members.npy, nonmembers.npy". */
void dpa__html_title(dpa__text *out, const json_t *result);
void dpa__html_verdict(dpa__text *out, const dpa__html_part *part);
/* The verdict in words of everyday, where there is a bound. */
void dpa__html_plain(dpa__text *out, const json_t *result);
void dpa__html_basis(dpa__text *out, const dpa__html_part *part);
void dpa__html_bounds(dpa__text *out, const dpa__html_part *part);
void dpa__html_evidence(dpa__text *out, const dpa__html_part *part);
void dpa__html_provenance(dpa__text *out, const dpa__html_part *part);
/* The charts of one place ("bounds", "evidence") as figures; gives how many. */
size_t dpa__html_charts(dpa__text *out, const dpa__html_part *part, const char *place);
/* All specifications, for the script. */
void dpa__html_chart_data(dpa__text *out, json_t *const *charts, size_t count);

#endif
