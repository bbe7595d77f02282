/* anonymous_file.c: implements os/anonymous_file.h with files in memory, which seals make unchangeable. */
#define _GNU_SOURCE 1 /* memfd_create, seals */
#include "os/anonymous_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_FD = 10 /* above the descriptors that a started process gets */
};

int tj_file_new(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || fd >= FIRST_FD)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    close(fd);
    return moved;
}

void tj_file_close(int file)
{
    if (file >= 0)
        close(file);
}

bool tj_file_write(int file, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return lseek(file, 0, SEEK_SET) == 0;
}

size_t tj_file_read(int file, size_t at, char *bytes, size_t size)
{
    ssize_t length = pread(file, bytes, size, (off_t)at);
    return length > 0 ? (size_t)length : 0;
}

size_t tj_file_size(int file)
{
    struct stat about;
    return fstat(file, &about) || about.st_size < 0 ? 0 : (size_t)about.st_size;
}

void tj_file_path(int file, char path[TJ_FILE_PATH])
{
    snprintf(path, TJ_FILE_PATH, "/proc/self/fd/%d", file);
}

void tj_file_close_others(int file)
{
    struct stat own, other;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir || fstat(file, &own)) {
        if (dir)
            closedir(dir);
        return;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        int each = atoi(entry->d_name);
        if (each > 2 && each != file && each != dirfd(dir) && !fstat(each, &other) &&
            other.st_dev == own.st_dev && other.st_ino == own.st_ino)
            close(each);
    }
    closedir(dir);
}

/* ---- as memory ---------------------------------------------------------------- */

static void *map(int file, size_t size, int protection, int flags)
{
    void *bytes = mmap(NULL, size, protection, flags, file, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

const void *tj_file_map(int file, size_t size)
{
    return map(file, size, PROT_READ, MAP_PRIVATE);
}

void *tj_file_map_to_write(int file, size_t size)
{
    return map(file, size, PROT_READ | PROT_WRITE, MAP_SHARED);
}

void tj_file_unmap(const void *bytes, size_t size)
{
    munmap((void *)bytes, size);
}

bool tj_file_fix_size(int file)
{
    return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
}

bool tj_file_fix_bytes(int file)
{
    return fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}
