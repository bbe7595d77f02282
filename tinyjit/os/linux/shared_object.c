/* shared_object.c: implements os/shared_object.h. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT, dladdr1 */
#include "os/shared_object.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

void *tj_shared_object_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const char *tj_shared_object_error(void)
{
    const char *reason = dlerror();
    return reason ? reason : "no reason given";
}

void tj_shared_object_close(void *object)
{
    dlclose(object);
}

void *tj_shared_object_symbol(void *object, const char *name)
{
    return dlsym(object, name);
}

bool tj_shared_object_has(void *object, const void *address)
{
    struct link_map *wanted = NULL, *found = NULL;
    Dl_info info;
    return !dlinfo(object, RTLD_DI_LINKMAP, &wanted) &&
           dladdr1(address, &info, (void **)&found, RTLD_DL_LINKMAP) && found == wanted;
}

typedef struct code {
    const struct link_map *of;
    const char *first, *behind;
} code;

static int find_code(struct dl_phdr_info *info, size_t size, void *context)
{
    code *this = context;
    (void)size;
    for (int i = 0; info->dlpi_addr == this->of->l_addr && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            this->first = (const char *)(info->dlpi_addr + part->p_vaddr);
            this->behind = this->first + part->p_memsz;
        }
    }
    return this->first != NULL;
}

bool tj_shared_object_code(void *object, const void **first, const void **behind)
{
    code found = {0};
    if (dlinfo(object, RTLD_DI_LINKMAP, &found.of) ||
        tj_shared_object_has(object, dlsym(object, "malloc")))
        return false;
    dl_iterate_phdr(find_code, &found);
    *first = found.first;
    *behind = found.behind;
    return found.first;
}

void *tj_program_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

bool tj_in_program(const void *address)
{
    struct link_map *found = NULL;
    Dl_info info;
    return dladdr1(address, &info, (void **)&found, RTLD_DL_LINKMAP) && !found->l_name[0];
}

bool tj_is_variable(const void *address)
{
    const ElfW(Sym) *found = NULL;
    Dl_info info;
    return dladdr1(address, &info, (void **)&found, RTLD_DL_SYMENT) && found &&
           info.dli_saddr == address && ELF64_ST_TYPE(found->st_info) == STT_OBJECT;
}

const char *tj_loaded_from(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fname : NULL;
}
