/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NPY files, versions 1 to 3 (numpy/lib/format.py documents them): magic, version, the length of a
 * header, the header as a Python dictionary with exactly the keys descr, fortran_order and shape,
 * then the elements. The header is parsed by a grammar of its own, never evaluated. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"

enum { PREFIX_V1 = 10, PREFIX_V2 = 12, LONGEST_HEADER = 1 << 16 };

static const char magic[6] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The header text, and where in the file it starts. */
typedef struct header {
    const dpa__stream *stream;
    const char *start, *at, *end;
    uint64_t offset;
    unsigned seen; /* a bit for each of the entries */
    dpa__layout layout;
    dpa_array *array;
} header;

int dpa__npy_matches(const unsigned char *bytes, size_t count) {
    return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static dpa_status fail_at(const header *h, const char *at, const char *want, dpa_error *err) {
    char found[DPA__EXCERPT_SIZE];
    return dpa__fail_offset(
        err, DPA_BAD_INPUT, dpa__stream_name(h->stream), h->offset + (uint64_t)(at - h->start),
        "found '%s' in the NPY header; %s is right", dpa__excerpt(found, at, h->end), want);
}

static void skip_blanks(header *h) {
    while (h->at < h->end && strchr(" \t\n\r", *h->at) != NULL && *h->at != '\0') ++h->at;
}

static int take(header *h, char c) {
    skip_blanks(h);
    if (h->at == h->end || *h->at != c) return 0;
    ++h->at;
    return 1;
}

static int take_word(header *h, const char *word) {
    const size_t length = strlen(word);
    skip_blanks(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0) return 0;
    h->at += length;
    return 1;
}

/* A quoted text without escapes. */
static int take_string(header *h, const char **text, size_t *length) {
    skip_blanks(h);
    if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return 0;
    const char *close = memchr(h->at + 1, *h->at, (size_t)(h->end - h->at - 1));
    if (close == NULL) return 0;
    *text = h->at + 1;
    *length = (size_t)(close - *text);
    h->at = close + 1;
    return 1;
}

static int find_dtype(header *h, const char *text, size_t length) {
    if (length != 3 || strchr("<>|=", text[0]) == NULL || text[0] == '\0') return 0;
    for (dpa_dtype type = DPA_BOOL; type <= DPA_F64; ++type)
        if (memcmp(dpa__dtypes[type].npy, text + 1, 2) == 0) {
            h->array->dtype = type;
            if (text[0] == '|') return dpa__dtypes[type].size == 1;
            h->layout.swapped = text[0] == (DPA__IS_LITTLE_ENDIAN ? '>' : '<');
            return 1;
        }
    return 0;
}

static dpa_status parse_descr(header *h, dpa_error *err) {
    const char *text, *const at = (skip_blanks(h), h->at);
    size_t length;
    if (take_string(h, &text, &length) && find_dtype(h, text, length)) return DPA_OK;
    return fail_at(h, at, "one type out of b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 with its byte order",
                   err);
}

static dpa_status parse_order(header *h, dpa_error *err) {
    h->layout.fortran = take_word(h, "True");
    if (h->layout.fortran || take_word(h, "False")) return DPA_OK;
    return fail_at(h, h->at, "True or False", err);
}

static int take_size(header *h, size_t *out) {
    size_t value = 0;
    skip_blanks(h);
    const char *const first = h->at;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; ++h->at) {
        const size_t digit = (size_t)(*h->at - '0');
        if (value > (SIZE_MAX - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return h->at > first;
}

static dpa_status parse_shape(header *h, dpa_error *err) {
    dpa_array *const a = h->array;
    int comma = 0;
    if (!take(h, '(')) return fail_at(h, h->at, "a tuple of sizes", err);
    while (!take(h, ')')) {
        if (a->ndim == DPA_MAX_DIMS) return fail_at(h, h->at, "a shape of at most 8 sizes", err);
        if (a->ndim > 0 && !comma) return fail_at(h, h->at, "',' or ')'", err);
        if (!take_size(h, &a->shape[a->ndim])) return fail_at(h, h->at, "a size", err);
        (void)take_word(h, "L"); /* the suffix that Python 2 wrote */
        ++a->ndim;
        comma = take(h, ',');
    }
    if (a->ndim == 1 && !comma) return fail_at(h, h->at, "a tuple: ',' after its one size", err);
    return DPA_OK;
}

static const struct {
    const char *key;
    dpa_status (*parse)(header *h, dpa_error *err);
} entries[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
enum { ENTRIES = 3, ALL_SEEN = (1 << ENTRIES) - 1 };

static dpa_status parse_entry(header *h, dpa_error *err) {
    const char *text = NULL, *const at = (skip_blanks(h), h->at);
    size_t length = 0, i = 0;
    (void)take_string(h, &text, &length);
    while (i < ENTRIES &&
           (strlen(entries[i].key) != length || memcmp(entries[i].key, text, length) != 0))
        ++i;
    if (i == ENTRIES || (h->seen >> i & 1U) != 0)
        return fail_at(h, at, "each of 'descr', 'fortran_order', 'shape' once", err);
    h->seen |= 1U << i;
    if (!take(h, ':')) return fail_at(h, h->at, "':'", err);
    return entries[i].parse(h, err);
}

static dpa_status parse_header(header *h, dpa_error *err) {
    int comma = 1;
    if (!take(h, '{')) return fail_at(h, h->at, "'{'", err);
    while (!take(h, '}')) {
        if (!comma) return fail_at(h, h->at, "',' or '}'", err);
        DPA_TRY(parse_entry(h, err));
        comma = take(h, ',');
    }
    skip_blanks(h);
    if (h->at != h->end) return fail_at(h, h->at, "nothing after '}'", err);
    if (h->seen != ALL_SEEN)
        return fail_at(h, h->start, "each of 'descr', 'fortran_order', 'shape' once", err);
    return DPA_OK;
}

/* The length of the header, and of the bytes before it. */
static dpa_status read_prefix(dpa__stream *stream, size_t *prefix, size_t *length, dpa_error *err) {
    size_t count;
    DPA_TRY(dpa__stream_need(stream, PREFIX_V2, err));
    const unsigned char *b = dpa__stream_window(stream, &count);
    if (count >= 8 && (b[6] < 1 || b[6] > 3 || b[7] != 0))
        return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), 6,
                                "found NPY version %d.%d; 1.0, 2.0 or 3.0 is right", b[6], b[7]);
    *prefix = count >= 8 && b[6] == 1 ? PREFIX_V1 : PREFIX_V2;
    if (count < *prefix)
        return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), count,
                                "the file ends inside the NPY header");
    *length = (size_t)b[8] | (size_t)b[9] << 8;
    if (*prefix == PREFIX_V2) *length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (*length > LONGEST_HEADER)
        return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), 8,
                                "found an NPY header of %zu bytes; at most %d are right", *length,
                                LONGEST_HEADER);
    return DPA_OK;
}

dpa_status dpa__npy_read(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    size_t prefix = 0, length = 0, count;
    DPA_TRY(read_prefix(stream, &prefix, &length, err));
    DPA_TRY(dpa__stream_need(stream, prefix + length, err));
    const char *text = (const char *)dpa__stream_window(stream, &count) + prefix;
    if (count < prefix + length)
        return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), count,
                                "the file ends inside the NPY header");
    header h = {.stream = stream,
                .start = text,
                .at = text,
                .end = text + length,
                .offset = prefix,
                .array = out};
    DPA_TRY(parse_header(&h, err));
    dpa__stream_skip(stream, prefix + length);
    return dpa__array_fill(stream, h.layout, out, err);
}

void dpa__npy_header(const dpa_array *array, dpa__text *out) {
    const dpa__dtype_row *type = &dpa__dtypes[array->dtype];
    const char order = type->size == 1 ? '|' : DPA__IS_LITTLE_ENDIAN ? '<' : '>';
    dpa__text dict = {0};
    dpa__text_printf(&dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                     type->npy);
    for (unsigned i = 0; i < array->ndim; ++i)
        dpa__text_printf(&dict, "%s%zu%s", i > 0 ? ", " : "", array->shape[i],
                         array->ndim == 1 ? "," : "");
    dpa__text_add(&dict, "), }");
    /* blanks and a newline, so that the elements start at a multiple of 64 */
    while (!dict.failed && (PREFIX_V1 + dict.length + 1) % 64 != 0) dpa__text_add(&dict, " ");
    dpa__text_add(&dict, "\n");
    const char version_and_length[4] = {1, 0, (char)(dict.length & 255), (char)(dict.length >> 8)};
    dpa__text_add_bytes(out, magic, sizeof magic);
    dpa__text_add_bytes(out, version_and_length, sizeof version_and_length);
    if (dict.failed)
        out->failed = 1;
    else
        dpa__text_add_bytes(out, dict.data, dict.length);
    dpa__text_free(&dict);
}
