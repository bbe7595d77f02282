/* replay.c: runs a target on the named files, to test the findings of fuzzing without a fuzzer. */
#include "fuzz.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        fprintf(stderr, "%s\n", argv[i]);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    return 0;
}
