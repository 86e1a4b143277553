/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams: files, pipes, standard input, gzip, xz, hashes, and headers that lie. */
#include "readers.h"

#include <lzma.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/sha256.h"

static void gzip(dpa__text *out, const char *text, size_t size) {
    unsigned char block[4096];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    do {
        z.next_out = block;
        z.avail_out = sizeof block;
        assert_true(deflate(&z, Z_FINISH) != Z_STREAM_ERROR);
        dpa__text_add_bytes(out, (char *)block, sizeof block - z.avail_out);
    } while (z.avail_out == 0);
    assert_int_equal(deflateEnd(&z), Z_OK);
}

static void xz(dpa__text *out, const char *text, size_t size) {
    unsigned char block[4096];
    size_t used = 0;
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, size,
                                             block, &used, sizeof block),
                     LZMA_OK);
    dpa__text_add_bytes(out, (char *)block, used);
}

static void hash_of(const char *bytes, size_t size, char hex[65]) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    dpa__sha256_add(&sha, bytes, size);
    dpa__sha256_hex(&sha, hex);
}

static void assert_three(const dpa_array *a) {
    assert_int_equal(a->count, 3);
    for (int i = 0; i < 3; ++i) assert_true(((double *)a->data)[i] == i + 1);
}

/* Compressed numbers, complete and truncated at every byte; the hash is of the stored bytes. */
static void check_compressed(const dpa__text *file, const char *codec) {
    dpa_array a;
    dpa_error err;
    char hex[65];
    assert_ok(read_bytes(file->data, file->length, NULL, &a, &err));
    assert_three(&a);
    hash_of(file->data, file->length, hex);
    assert_string_equal(a.sha256, hex);
    dpa__array_free(&a);
    for (size_t n = 0; n < file->length; ++n) {
        char *cut = malloc(n > 0 ? n : 1);
        assert_non_null(cut);
        memcpy(cut, file->data, n);
        assert_int_equal(read_bytes(cut, n, NULL, &a, &err), DPA_BAD_INPUT);
        if (n > 8) assert_non_null(strstr(err.text, codec));
        free(cut);
    }
}

static void compressed(void **state) {
    (void)state;
    dpa__text file = {0};
    dpa_array a;
    dpa_error err;
    gzip(&file, "1\n2\n3\n", 6);
    check_compressed(&file, "gzip data");
    file.data[file.length - 6] ^= 1; /* the checksum */
    assert_int_equal(read_bytes(file.data, file.length, NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "damaged"));
    file.length = 0;
    xz(&file, "1\n2\n3\n", 6);
    check_compressed(&file, "xz data");
    dpa__text_free(&file);
    assert_ok(dpa__array_read(data_file("numbers.txt.xz"), NULL, &a, &err));
    assert_three(&a);
    dpa__array_free(&a);
}

static void several_members(void **state) {
    (void)state;
    dpa__text file = {0};
    dpa_array a;
    dpa_error err;
    gzip(&file, "1\n2", 3);
    gzip(&file, "\n3\n", 3);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_three(&a);
    dpa__array_free(&a);
    dpa__text_add(&file, "junk");
    assert_int_equal(read_bytes(file.data, file.length, NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "gzip data are damaged"));
    dpa__text_free(&file);
}

/* A header that promises much more than there is, in a stream of unknown size. */
static void lying_header(void **state) {
    (void)state;
    dpa__text npy = {0}, file = {0};
    dpa_array a;
    dpa_error err;
    make_npy(&npy, 1, "{'descr':'<f8','fortran_order':False,'shape':(100000000000,)}", "12345678",
             8);
    gzip(&file, npy.data, npy.length);
    assert_int_equal(read_bytes(file.data, file.length, NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "after 8 of the 800000000000 bytes"));
    dpa__text_free(&npy);
    dpa__text_free(&file);
}

/* At most so many bytes, whether the size is known (memory) or not (gzip): that many are read, one
 * more is refused. The block of unknown size has to grow on the way. */
static void at_most(void **state) {
    (void)state;
    enum { SIZE = 3000001 };
    char *bytes = malloc(SIZE), *out;
    dpa__text file = {0};
    size_t count;
    dpa_error err;
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; ++i) bytes[i] = (char)('a' + i * i % 23);
    gzip(&file, bytes, SIZE);
    for (int k = 0; k < 2; ++k)
        for (size_t most = SIZE - 1; most <= SIZE + 1; ++most) {
            dpa__stream *s;
            assert_ok(dpa__stream_open_memory("mem", k ? file.data : bytes, k ? file.length : SIZE,
                                              &s, &err));
            const dpa_status status = dpa__stream_read_most(s, most, &out, &count, &err);
            dpa__stream_close(s);
            assert_int_equal(status, most < SIZE ? DPA_BAD_INPUT : DPA_OK);
            if (status != DPA_OK) {
                assert_string_equal(err.text, "longer than 3000000 bytes");
                assert_null(out);
                continue;
            }
            assert_int_equal(count, SIZE);
            assert_memory_equal(out, bytes, SIZE);
            assert_int_equal(out[SIZE], '\0');
            free(out);
        }
    dpa__text_free(&file);
    const char *path = make_file(bytes, SIZE); /* longer than what is hashed at once */
    char hex[65], want[65];
    hash_of(bytes, SIZE, want);
    assert_ok(dpa__file_sha256(path, hex, &err));
    assert_string_equal(hex, want);
    free(bytes);
    (void)unlink(path);
    path = make_file("abc", 3);
    assert_ok(dpa__file_read(path, DPA__ANY_SIZE, &out, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(out, "abc");
    free(out);
    assert_ok(dpa__file_read(path, 3, &out, &count, &err));
    free(out);
    assert_int_equal(dpa__file_read(path, 2, &out, &count, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, path);
    (void)unlink(path);
    assert_int_equal(dpa__file_read(path, DPA__ANY_SIZE, &out, &count, &err), DPA_BAD_INPUT);
}

/* The window grows to what is needed, and what was skipped is gone from it. */
static void windows(void **state) {
    (void)state;
    enum { SIZE = 1000000, SKIP = 7 };
    char *bytes = malloc(SIZE), hex[65], want[65];
    size_t count;
    dpa__stream *s;
    dpa_error err;
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; ++i) bytes[i] = (char)('a' + i * i % 23);
    assert_ok(dpa__stream_open_memory("mem", bytes, SIZE, &s, &err));
    assert_ok(dpa__stream_need(s, 100, &err));
    dpa__stream_skip(s, SKIP);
    assert_int_equal(dpa__stream_offset(s), SKIP);
    assert_ok(dpa__stream_need(s, SIZE - SKIP, &err));
    const unsigned char *window = dpa__stream_window(s, &count);
    assert_int_equal(count, SIZE - SKIP);
    assert_memory_equal(window, bytes + SKIP, SIZE - SKIP);
    assert_int_equal(dpa__stream_finish(s, "the start", hex, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "mem: offset 7");
    assert_string_equal(err.text, "the start has ended, but bytes follow it");
    dpa__stream_skip(s, SIZE - SKIP);
    assert_ok(dpa__stream_finish(s, "the start", hex, &err));
    hash_of(bytes, SIZE, want);
    assert_string_equal(hex, want);
    dpa__stream_close(s);
    free(bytes);
}

static ptrdiff_t one_by_one(void *user, void *to, size_t max, dpa_error *e) {
    size_t *left = user;
    (void)e;
    if (*left == 0 || max == 0) return 0;
    *(char *)to = (char)('a' + --*left % 26);
    return 1;
}

/* A window that gets one byte at a time grows with its bytes, not with the number of calls. */
static void trickle(void **state) {
    (void)state;
    size_t left = 300, count;
    dpa__stream *s;
    dpa_error err;
    assert_ok(dpa__stream_open_call("call", one_by_one, &left, &s, &err));
    assert_ok(dpa__stream_need(s, 200, &err));
    const unsigned char *window = dpa__stream_window(s, &count);
    assert_int_equal(count, 200);
    for (size_t i = 0; i < count; ++i) assert_int_equal(window[i], 'a' + (299 - i) % 26);
    assert_ok(dpa__stream_need(s, 1000, &err));
    (void)dpa__stream_window(s, &count);
    assert_int_equal(count, 300);
    dpa__stream_close(s);
}

/* 200 times as many bytes and 64 MB more are let through, nothing beyond. */
static void bombs(void **state) {
    (void)state;
    enum { SIZE = 100000000 };
    assert_true(dpa__may_expand(0, 64000000));
    assert_true(dpa__may_expand(0, 64000199)); /* the factor is a whole number */
    assert_false(dpa__may_expand(0, 64000200));
    assert_true(dpa__may_expand(1000, 64200000));
    assert_false(dpa__may_expand(1000, 64200200));
    assert_true(dpa__may_expand(UINT64_MAX / 2, UINT64_MAX / 2));
    char *zeros = calloc(1, SIZE), *out = NULL;
    dpa__text file = {0};
    dpa__stream *s;
    size_t count;
    dpa_error err;
    assert_non_null(zeros);
    gzip(&file, zeros, SIZE);
    free(zeros);
    assert_ok(dpa__stream_open_memory("mem", file.data, file.length, &s, &err));
    assert_int_equal(dpa__stream_read_all(s, &out, &count, &err), DPA_BAD_INPUT);
    assert_null(out);
    assert_string_equal(err.place, "mem");
    assert_memory_equal(err.text, "unpacks to more than 200 times its size;", 40);
    dpa__stream_close(s);
    dpa__text_free(&file);
}

static void failures(void **state) {
    (void)state;
    dpa_array a;
    dpa_error err;
    /* a magic number and nothing else is a file that was cut, not text */
    assert_int_equal(read_bytes("\xfd"
                                "7zXZ\0",
                                6, NULL, &a, &err),
                     DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "the xz data"));
    assert_int_equal(read_bytes("\x1f\x8b", 2, NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "the gzip data"));
    assert_int_equal(dpa__array_read("/nonexistent/x", NULL, &a, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "/nonexistent/x");
    assert_string_equal(err.text, "No such file or directory");
    assert_int_equal(dpa__array_read("/tmp", NULL, &a, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "Is a directory");
    assert_int_equal(dpa__array_read("/nonexistent/x", NULL, &a, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__array_read("/dev/null", NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "empty"));
}

/* The bytes arrive one by one through a pipe. */
static void feed_slowly(int fd, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (write(fd, bytes + i, 1) != 1) _exit(1);
    _exit(0);
}

static void wait_for(pid_t child) {
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void check_stdin(const char *bytes, size_t size) {
    int ends[2];
    dpa_array a;
    dpa_error err;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        feed_slowly(ends[1], bytes, size);
    }
    (void)close(ends[1]);
    const int saved = dup(STDIN_FILENO);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    assert_ok(dpa__array_read("-", NULL, &a, &err));
    assert_three(&a);
    dpa__array_free(&a);
    assert_int_equal(dpa__array_read("-", NULL, &a, &err), DPA_BAD_INPUT); /* all was read */
    assert_string_equal(err.place, "standard input");
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    (void)close(saved);
    (void)close(ends[0]);
    wait_for(child);
}

static void standard_input(void **state) {
    (void)state;
    const double values[3] = {1, 2, 3};
    dpa__text file = {0};
    check_stdin("1\n2\n3\n", 6);
    make_npy(&file, 1, "{'descr':'<f8','fortran_order':False,'shape':(3,)}", values, sizeof values);
    check_stdin(file.data, file.length);
    file.length = 0;
    gzip(&file, "1\n2\n3\n", 6);
    check_stdin(file.data, file.length);
    dpa__text_free(&file);
}

static void named_pipe(void **state) {
    (void)state;
    const char *path = make_file("", 0);
    dpa_array a;
    dpa_error err;
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(path, O_WRONLY);
        feed_slowly(fd, "1\n2\n3\n", 6);
    }
    assert_ok(dpa__array_read(path, NULL, &a, &err));
    assert_three(&a);
    dpa__array_free(&a);
    wait_for(child);
    (void)unlink(path);
}

/* Ten million doubles need their 80 MB, once. The file is a hole: no disk is used. */
static void peak_memory(void **state) {
    (void)state;
    enum { COUNT = 10000000 };
    dpa__text head = {0};
    make_npy(&head, 1, "{'descr':'<f8','fortran_order':False,'shape':(10000000,)}", "", 0);
    const char *path = make_file(head.data, head.length);
    assert_int_equal(truncate(path, (off_t)(head.length + COUNT * sizeof(double))), 0);
    dpa__text_free(&head);
    struct rusage before, after;
    dpa_array a;
    dpa_error err;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_ok(dpa__array_read(path, NULL, &a, &err));
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(a.count, COUNT);
    dpa__array_free(&a);
    (void)unlink(path);
#if !defined(__SANITIZE_ADDRESS__)
    assert_between((double)(after.ru_maxrss - before.ru_maxrss), 0, 1.05 * 80e6 / 1024);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed),     cmocka_unit_test(several_members),
        cmocka_unit_test(lying_header),   cmocka_unit_test(failures),
        cmocka_unit_test(standard_input), cmocka_unit_test(named_pipe),
        cmocka_unit_test(peak_memory),    cmocka_unit_test(at_most),
        cmocka_unit_test(windows),        cmocka_unit_test(bombs),
        cmocka_unit_test(trickle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
