/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports trials from files into the store. The result depends on what the files say, not on their
 * names or on the order in which they came: of two records of one trial (an array task that ran
 * twice) the one that began first counts, and a record that is already in the store stays. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/rules.h"
#include "run/health.h"
#include "run/record.h"
#include "run/schedule.h"

/* The record that counts for a trial. */
typedef struct choice {
    dpa__record record; /* end DPA_TRIAL_NONE: there is none */
    int is_blamed;      /* there is a failed one for which its machine is to blame */
} choice;

typedef struct import {
    dpa_game *game;
    dpa_store *store;
    const dpa__record_files *files;
    dpa__stage *stage;
    choice *choices;
    dpa__suspects suspects;
    dpa_import_summary *out;
    uint64_t records, own; /* records in the files; records of the stages so far */
    char *text;            /* place, reason and output of one record, each ended by NUL */
    size_t room;
} import;

static int same_outcome(const dpa__record *a, const dpa__record *b) {
    return a->end == b->end && a->count == b->count &&
           (a->count == 0 || memcmp(a->numbers, b->numbers, a->count * sizeof(double)) == 0);
}

/* A lost trial is replaced by any other record. */
static int is_better(const dpa__record *a, const dpa__record *b) {
    const int lost_a = a->end == DPA_TRIAL_LOST, lost_b = b->end == DPA_TRIAL_LOST;
    return lost_a != lost_b ? lost_b : a->started < b->started;
}

static int is_own(const import *m, const dpa__record *r) {
    return dpa__stage_owns(m->stage, r->key) && r->end != DPA_TRIAL_NONE;
}

/* First pass: which records there are, and where they were played. */
static dpa_status survey(void *user, size_t file, const dpa__record *r, dpa_error *err) {
    import *m = user;
    (void)file;
    ++m->records;
    if (!is_own(m, r)) return DPA_OK;
    ++m->own;
    return dpa__suspects_add(&m->suspects, r, err);
}

static dpa_status count_rows(void *user, size_t file, const dpa__record *r, dpa_error *err) {
    import *m = user;
    (void)file;
    return is_own(m, r) ? dpa__suspects_count(&m->suspects, r, err) : DPA_OK;
}

static dpa_status choose(void *user, size_t file, const dpa__record *r, dpa_error *err) {
    import *m = user;
    int is_blamed = 0;
    (void)file;
    if (!is_own(m, r) || r->index >= m->stage->planned) return DPA_OK; /* of a larger experiment */
    choice *to = &m->choices[r->index];
    dpa__record new = *r;
    if (m->out->broken > 0) DPA_TRY(dpa__suspects_blame(&m->suspects, r, &is_blamed, err));
    if (is_blamed) {
        new.end = DPA_TRIAL_LOST;
        ++m->out->blamed;
    }
    to->is_blamed |= is_blamed;
    if (to->record.end != DPA_TRIAL_NONE) {
        ++m->out->duplicates;
        if (to->record.end != DPA_TRIAL_LOST && new.end != DPA_TRIAL_LOST)
            m->out->differing += !same_outcome(&to->record, &new);
        if (!is_better(&new, &to->record)) return DPA_OK;
    }
    to->record = new;
    return DPA_OK;
}

/* Place, reason and output; NULL for those that are empty. */
static dpa_status take_texts(import *m, const dpa__record *c, const char *out[3], dpa_error *err) {
    const size_t sizes[3] = {c->place_size, c->reason_size, c->said_size};
    const size_t need = sizes[0] + sizes[1] + sizes[2] + 3;
    if (need > m->room) {
        char *more = dpa__realloc(m->text, 2 * need, 1, err);
        if (more == NULL) return DPA_NO_MEMORY;
        m->text = more;
        m->room = 2 * need;
    }
    const char *from = c->place; /* the others follow */
    char *to = m->text;
    for (int i = 0; i < 3; ++i) {
        memcpy(to, from, sizes[i]);
        to[sizes[i]] = '\0';
        out[i] = sizes[i] > 0 ? to : NULL;
        from += sizes[i];
        to += sizes[i] + 1;
    }
    return DPA_OK;
}

static dpa_status put(import *m, uint64_t index, const dpa__record *c, dpa_error *err) {
    const char *texts[3];
    dpa__stage *s = m->stage;
    DPA_TRY(take_texts(m, c, texts, err));
    dpa_values *to = &s->items[index];
    if (c->end == DPA_TRIAL_PLAYED) {
        DPA_TRY(dpa__values_copy(c->numbers, c->count, to, err));
    } else {
        const dpa__failure failure = {.index = index,
                                      .reason = texts[1] != NULL ? texts[1] : "",
                                      .said = texts[2],
                                      .place = texts[0],
                                      .machine = c->end == DPA_TRIAL_LOST};
        DPA_TRY(dpa__store_put_failure(m->store, s->row, &failure, err));
    }
    s->ends[index] = (uint8_t)c->end;
    m->out->imported += c->end != DPA_TRIAL_LOST;
    const dpa__ended ended = {index, c->end, c->seconds, *to, texts[2], texts[0]};
    return dpa__store_put(m->store, s->row, s->key, &ended, err);
}

static dpa_status put_all(import *m, dpa_error *err) {
    for (uint64_t i = 0; i < m->stage->planned; ++i) {
        const dpa__record *c = &m->choices[i].record;
        const dpa_trial_end has = (dpa_trial_end)m->stage->ends[i];
        if (c->end == DPA_TRIAL_NONE || has == DPA_TRIAL_PLAYED) continue;
        if (has == DPA_TRIAL_FAILED && (!m->choices[i].is_blamed || c->end == has)) continue;
        if (has == DPA_TRIAL_FAILED) /* stored by an import that had fewer trials to compare with */
            DPA_TRY(dpa__store_forget(m->store, m->stage->row, i, err));
        if (has == DPA_TRIAL_LOST && c->end == DPA_TRIAL_LOST) continue;
        DPA_TRY(put(m, i, c, err));
    }
    return DPA_OK;
}

/* Lists the trials without an outcome, as "3,17-20". */
static dpa_status list_missing(const dpa__stage *s, dpa_import_summary *out, dpa_error *err) {
    dpa__text text = {0};
    out->missing = 0;
    free(out->ranges);
    out->ranges = NULL;
    dpa__text_add(&text, "");
    for (uint64_t i = 0; i < s->planned; ++i) {
        if (s->ends[i] == DPA_TRIAL_PLAYED || s->ends[i] == DPA_TRIAL_FAILED) continue;
        uint64_t last = i;
        while (last + 1 < s->planned && s->ends[last + 1] != DPA_TRIAL_PLAYED &&
               s->ends[last + 1] != DPA_TRIAL_FAILED)
            ++last;
        out->missing += last - i + 1;
        dpa__text_printf(&text, "%s%" PRIu64, text.length > 0 ? "," : "", i);
        if (last > i) dpa__text_printf(&text, "-%" PRIu64, last);
        i = last;
    }
    return dpa__text_take(&text, &out->ranges, err);
}

/* If anything failed, finds the broken places; then chooses the record that counts for each
 * trial. */
static dpa_status look(import *m, dpa_error *err) {
    dpa_import_summary *out = m->out;
    m->records = 0;
    dpa_status status = dpa__record_files_visit(m->files, survey, m, &out->damaged, err);
    if (status == DPA_OK && m->suspects.failed > 0) {
        status = dpa__record_files_visit(m->files, count_rows, m, &out->damaged, err);
        if (status == DPA_OK)
            out->broken += dpa__suspects_decide(&m->suspects, out->places, sizeof out->places);
    }
    if (status == DPA_OK) status = dpa__record_files_visit(m->files, choose, m, &out->damaged, err);
    dpa__suspects_free(&m->suspects);
    return status;
}

static dpa_status import_stage(import *m, const dpa_values *brief, dpa_error *err) {
    dpa__stage *s = m->stage;
    dpa_run_summary unused = {0};
    DPA_TRY(dpa__stage_enter(m->store, m->game, s, brief, err));
    DPA_TRY(dpa__stage_load(m->store, s, &unused, err));
    m->choices = dpa__calloc((size_t)s->planned, sizeof *m->choices, err);
    if (m->choices == NULL) return DPA_NO_MEMORY;
    dpa_status status = look(m, err);
    if (status == DPA_OK) status = dpa__store_begin(m->store, err);
    if (status == DPA_OK) status = dpa__store_end(m->store, put_all(m, err), err);
    free(m->choices);
    m->choices = NULL;
    if (status == DPA_OK) status = list_missing(s, m->out, err);
    m->out->stage = s->number;
    m->out->foreign = m->records - m->own;
    m->out->planned += s->planned;
    m->out->stored += s->planned - m->out->missing;
    return status;
}

static dpa_status import_all(import *m, const char *folder, dpa__stages *all, dpa_error *err) {
    for (int i = 0; i < all->count; ++i) {
        dpa_values brief = {0};
        DPA_TRY(dpa_game_brief(m->game, i, all->trials, &brief, err));
        m->stage = &all->items[i];
        dpa_status status = import_stage(m, &brief, err);
        if (status == DPA_OK && i > 0)
            status = dpa__brief_write(folder, i, m->stage->key, &brief, err);
        dpa_values_free(&brief);
        DPA_TRY(status);
        if (m->out->missing > 0) break;
    }
    return DPA_OK;
}

void dpa_import_summary_free(dpa_import_summary *summary) {
    free(summary->ranges);
    summary->ranges = NULL;
}

dpa_status dpa_import(const dpa_run_opts *opts, const char *folder, dpa_game *game,
                      dpa_import_summary *out, dpa_error *err) {
    dpa__stages all;
    dpa__record_files files;
    char *path = NULL;
import m = {.game = game, .files = & files, .out = out };
    *out = (dpa_import_summary){.stages = dpa_game_stages(game)};
    DPA_TRY(dpa__run_check(opts, err));
    DPA_TRY(dpa__run_path(opts, game, &path, err));
    dpa_status status = dpa__stages_init(opts, game, &all, err);
    if (status == DPA_OK) {
        status = dpa__record_files_open(folder, "", &files, err);
        if (status == DPA_OK) {
            status = dpa_store_open(path, DPA_STORE_WRITE, &m.store, err);
            if (status == DPA_OK) status = import_all(&m, folder, &all, err);
            dpa_store_close(m.store);
            dpa__record_files_close(&files);
        }
        dpa__stages_free(&all);
    }
    free(m.text);
    free(path);
    if (status != DPA_OK) dpa_import_summary_free(out);
    return status;
}
