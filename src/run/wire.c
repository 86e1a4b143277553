/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as bytes. A worker's messages are not trusted: it may have crashed in the middle of one,
 * or a library in it may have printed into the pipe. */
#include "run/wire.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "game/rules.h"

enum { MAGIC = 0x57415044, HEADER = 32 }; /* "DPAW" */

/* 32 GiB: a larger size must be garbage, because no trial has that many numbers. */
static const uint64_t most = UINT64_C(1) << 35;

typedef struct header {
    uint32_t magic;
    uint16_t kind, stage;
    uint64_t index;
    double seconds;
    uint64_t size;
} header;

_Static_assert(sizeof(header) == HEADER, "the header has no gaps");

void dpa__wire_put(dpa__text *to, const dpa__message *m) {
    const header head = {MAGIC,    (uint16_t)m->kind, (uint16_t)m->stage,
                         m->index, m->seconds,        m->size};
    dpa__text_add_bytes(to, (const char *)&head, sizeof head);
    if (m->size > 0) dpa__text_add_bytes(to, (const char *)m->payload, m->size);
}

void dpa__wire_put_failure(dpa__text *to, int stage, uint64_t index, const dpa_error *error) {
    unsigned char payload[4 + DPA_PLACE_SIZE + DPA_TEXT_SIZE];
    const uint32_t status = (uint32_t)error->status;
    const size_t place = strnlen(error->place, DPA_PLACE_SIZE - 1);
    const size_t text = strnlen(error->text, DPA_TEXT_SIZE - 1);
    memcpy(payload, &status, 4);
    memcpy(payload + 4, error->place, place);
    payload[4 + place] = '\0';
    memcpy(payload + 5 + place, error->text, text);
    payload[5 + place + text] = '\0';
    const dpa__message m = {.kind = DPA__WIRE_FAILURE,
                            .stage = stage,
                            .index = index,
                            .payload = payload,
                            .size = 6 + place + text};
    dpa__wire_put(to, &m);
}

dpa_status dpa__wire_take(const unsigned char *bytes, size_t count, dpa__message *out, size_t *used,
                          dpa_error *err) {
    header head;
    *used = 0;
    if (count < HEADER) return DPA_OK;
    memcpy(&head, bytes, HEADER);
    if (head.magic != MAGIC || head.kind < DPA__WIRE_READY || head.kind > DPA__WIRE_PROGRESS ||
        head.size > most)
        return dpa__fail(err, DPA_BAD_INPUT, "bytes that are no message between dpaudit processes");
    if (count - HEADER < head.size) return DPA_OK;
    *out = (dpa__message){.kind = (dpa__wire_kind)head.kind,
                          .stage = head.stage,
                          .index = head.index,
                          .seconds = head.seconds,
                          .payload = bytes + HEADER,
                          .size = (size_t)head.size};
    *used = HEADER + (size_t)head.size;
    return DPA_OK;
}

dpa_status dpa__wire_values(const dpa__message *m, dpa_values *out, dpa_error *err) {
    *out = (dpa_values){0};
    if (m->size % sizeof(double) != 0)
        return dpa__fail(err, DPA_BAD_INPUT, "a message of %zu bytes where numbers were expected",
                         m->size);
    return dpa__values_copy(m->payload, m->size / sizeof(double), out, err);
}

dpa_status dpa__wire_failure(const dpa__message *m, dpa_error *failure, dpa_error *err) {
    uint32_t status;
    const char *text = (const char *)m->payload + 4;
    const char *second =
        m->size > 5 ? memchr(text, '\0', m->size - 5) : NULL; /* a NUL inside the text */
    if (second == NULL || m->payload[m->size - 1] != '\0')
        return dpa__fail(err, DPA_BAD_INPUT, "a message where an error was expected");
    memcpy(&status, m->payload, 4);
    failure->status = status > DPA_OK && status <= DPA_INTERNAL ? (dpa_status)status : DPA_INTERNAL;
    (void)snprintf(failure->place, sizeof failure->place, "%s", text);
    (void)snprintf(failure->text, sizeof failure->text, "%s", second + 1);
    return DPA_OK;
}

dpa_status dpa__wire_keys(const dpa_game *game, dpa__text *to, dpa_error *err) {
    for (int i = 0; i < dpa_game_stages(game); ++i) {
        char key[DPA_SHA256_SIZE];
        DPA_TRY(dpa_game_key(game, i, key, err));
        dpa__text_add(to, key);
    }
    return to->failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for the keys of a game") : DPA_OK;
}
