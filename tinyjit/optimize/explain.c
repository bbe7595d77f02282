/* explain.c: reports the optimizations of a text's loops: the compiler's messages, the sizes of functions,
 * and the functions that they call. */
#include "internal.h"

#include "os/shared_object.h"

static const tj_environment no_environment;

/* Returns the file that contains a function, as the loader finds it; "" if there is none, or for code in memory. */
static const char *file_of(const tj_environment *environment, const char *name, bool libm)
{
    tj_symbol symbol = {0};
    tj_compile_lock(); /* guards the cache of the process' symbols */
    bool found = tj_environment_find(environment, name, true, libm, &symbol);
    const void *address = found ? symbol.address : tj_compiler_symbol(name, libm);
    if (address && tj_in_program(address) && tj_libm_symbol(name))
        address = tj_libm_symbol(name);
    tj_compile_unlock();
    const char *file = address ? tj_loaded_from(address) : NULL;
    return file ? file : "";
}

tj_status tj_explain(const tj_environment *environment, int said, const tj_object *object,
                     tj_text *told, tj_error *error)
{
    tj_said_read(said, told);
    for (size_t i = 0; i < told->length; i++) /* clang writes two streams into one file */
        told->data[i] = told->data[i] ? told->data[i] : '\n';
    tj_text_puts(told, "\n");
    tj_status status = tj_object_sizes(object, told, error);
    for (size_t i = 0; i < object->undefined.count; i++)
        tj_text_printf(told, "cwrapjit calls %s %s\n", object->undefined.items[i],
                       file_of(environment ? environment : &no_environment,
                               object->undefined.items[i], object->libm));
    return status ? status : told->failed ? tj_fail_no_memory(error) : TJ_OK;
}
