/* paths.c: implements os/paths.h. */
#define _GNU_SOURCE 1 /* getcwd without a buffer, realpath */
#include "os/paths.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool tj_path_exists(const char *path)
{
    return !access(path, F_OK);
}

bool tj_path_is_endless(const char *path)
{
    struct stat about;
    return !stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

bool tj_path_is_program(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISREG(about.st_mode) && !access(path, X_OK);
}

char *tj_path_here(void)
{
    return getcwd(NULL, 0);
}

char *tj_path_real(const char *path)
{
    return realpath(path, NULL);
}
