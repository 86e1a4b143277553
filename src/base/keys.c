/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of structs from text. */
#include "base/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"

static dpa_status set_number(const dpa__key *k, const char *value, char *place, dpa_error *err) {
    double number;
    if (!dpa__number_whole(value, &number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a number", k->name, value);
    memcpy(place, &number, sizeof number);
    return DPA_OK;
}

static dpa_status set_count(const dpa__key *k, const char *value, char *place, dpa_error *err) {
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (end == value || *end != '\0' || value[0] == '-' || errno == ERANGE)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a whole number from 0 to 2^64-1",
                         k->name, value);
    const uint64_t wide = number, fits = k->size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
    const uint64_t most = k->most != 0 ? k->most : fits;
    if (wide > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: at most %" PRIu64 ", not %s", k->name, most,
                         value);
    const uint32_t narrow = (uint32_t)wide;
    memcpy(place, k->size == sizeof narrow ? (const void *)&narrow : (const void *)&wide, k->size);
    return DPA_OK;
}

int dpa__word_place(const char *word, const char *words) {
    int index = 0;
    if (word == NULL) return -1;
    const size_t length = strlen(word);
    for (const char *at = words; at != NULL; at = strchr(at, '|'), ++index) {
        if (index > 0) ++at;
        if (strcspn(at, "|") == length && strncmp(at, word, length) == 0) return index;
    }
    return -1;
}

static dpa_status set_word(const dpa__key *k, const char *words, const char *value, char *place,
                           dpa_error *err) {
    const int index = dpa__word_place(value, words);
    if (index < 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is none of %s", k->name, value, words);
    memcpy(place, &index, sizeof index);
    return DPA_OK;
}

static dpa_status set_text(const dpa__key *k, const char *value, char *place, dpa_error *err) {
    if (strlen(value) >= k->size)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: longer than %zu characters", k->name,
                         k->size - 1);
    memcpy(place, value, strlen(value) + 1);
    return DPA_OK;
}

static dpa_status set(const dpa__key *k, char *place, const char *value, dpa_error *err) {
    if (value == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", k->name);
    switch (k->type) {
    case DPA__KEY_NUMBER:
        return set_number(k, value, place, err);
    case DPA__KEY_COUNT:
        return set_count(k, value, place, err);
    case DPA__KEY_FLAG:
        return set_word(k, "0|1", value, place, err);
    case DPA__KEY_WORD:
        return set_word(k, k->words, value, place, err);
    case DPA__KEY_TEXT:
        return set_text(k, value, place, err);
    case DPA__KEY_NAME:
        memcpy(place, &value, sizeof value);
        return DPA_OK;
    }
    return dpa__fail(err, DPA_INTERNAL, "key of no type");
}

dpa_status dpa__keys_set(const dpa__key *keys, void *object, const char *key, const char *value,
                         dpa_error *err) {
    for (; keys->name != NULL; ++keys)
        if (strcmp(key, keys->name) == 0)
            return set(keys, (char *)object + keys->offset, value, err);
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no option is called '%s'", key);
}
