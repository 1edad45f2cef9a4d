/* SPDX-License-Identifier: MIT
 *
 * Gives a fuzz target the files it is told, and all those in the folders it is
 * told: a corpus as a test, with any compiler.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

#define INPUT_MAX (1 << 20)

static size_t replayed;

static int
replay_file(const char *path)
{
    uint8_t *bytes = malloc(INPUT_MAX);
    FILE *file = fopen(path, "rb");
    size_t len;

    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(2);
    }
    len = fread(bytes, 1, INPUT_MAX, file);
    if (ferror(file) || len == INPUT_MAX) {
        fprintf(stderr, "%s was not read to its end\n", path);
        exit(2);
    }
    (void)fclose(file);
    fprintf(stderr, "%s\n", path); /* the last line before an abort */
    (void)LLVMFuzzerTestOneInput(bytes, len);
    free(bytes);
    replayed++;
    return 0;
}

static int
replay_folder(const char *path)
{
    char name[4096];
    struct dirent *entry;
    DIR *folder = opendir(path);

    if (folder == NULL) {
        perror(path);
        return -1;
    }
    for (entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        (void)replay_file(name);
    }
    (void)closedir(folder);
    return 0;
}

int
main(int argc, char **argv)
{
    struct stat status;

    for (int i = 1; i < argc; i++) {
        int failed = stat(argv[i], &status);

        if (failed != 0)
            perror(argv[i]);
        else if (S_ISDIR(status.st_mode))
            failed = replay_folder(argv[i]);
        else
            failed = replay_file(argv[i]);
        if (failed != 0)
            return 1;
    }
    printf("%zu inputs\n", replayed);
    return replayed == 0; /* a corpus that is not there is no test */
}
