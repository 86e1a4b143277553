/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzz target over the files of a folder, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    static uint8_t buffer[1 << 20];
    const size_t size = fread(buffer, 1, sizeof buffer, file);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(buffer, size);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    DIR *folder = opendir(argv[1]);
    if (folder == NULL) {
        perror(argv[1]);
        return 1;
    }
    int count = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        count += replay(path);
    }
    (void)closedir(folder);
    (void)printf("replayed %d inputs\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus would test nothing */
}
