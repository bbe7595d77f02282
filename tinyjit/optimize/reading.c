/* reading.c: gives the system's compiler the macros that libtcc predefines.
 *
 * Both compilers must read a text and its included files in the same way: the layout of a struct and the length of an
 * array may depend on __GNUC__ or __OPTIMIZE__. So the system's compiler drops its own macros (-undef), gets libtcc's,
 * and searches the same folders. libtcc is asked once for its macros; this file lists the names that it may define.
 *
 * Our own text tests CWJ_CC, CWJ_CLANG and CWJ_GCC (a version) instead. */
#include "internal.h"

#include "os/system.h"

#include <string.h>

/* clang-format off */
/* A name, with its parameters, and its replacement if libtcc need not be asked for it. */
static const char *const usual[] = {
    "__TINYC__", "__TCC_RUN__", "__PRETTY_FUNCTION__",
    /* machine and system */
    "__x86_64__", "__x86_64", "__amd64__", "__amd64", "__aarch64__", "__AARCH64EL__", "__CHAR_UNSIGNED__", "__uint128_t",
    TJ_SYSTEM_MACROS,
    "__LP64__", "_LP64", "__CHAR_BIT__", "__BYTE_ORDER__", "__ORDER_LITTLE_ENDIAN__",
    "__ORDER_BIG_ENDIAN__", "__ORDER_PDP_ENDIAN__",
    /* types */
    "__SIZEOF_SHORT__", "__SIZEOF_INT__", "__SIZEOF_LONG__", "__SIZEOF_LONG_LONG__",
    "__SIZEOF_POINTER__", "__SIZEOF_FLOAT__", "__SIZEOF_DOUBLE__", "__SIZEOF_LONG_DOUBLE__",
    "__SIZEOF_SIZE_T__", "__SIZEOF_PTRDIFF_T__", "__SIZEOF_WCHAR_T__", "__SIZEOF_WINT_T__",
    "__SCHAR_MAX__", "__SHRT_MAX__", "__INT_MAX__", "__LONG_MAX__", "__LONG_LONG_MAX__",
    "__SIZE_TYPE__", "__PTRDIFF_TYPE__", "__WCHAR_TYPE__", "__WINT_TYPE__", "__INTPTR_TYPE__",
    "__UINTPTR_TYPE__", "__INT8_TYPE__", "__INT16_TYPE__", "__INT32_TYPE__", "__INT64_TYPE__",
    "__UINT8_TYPE__", "__UINT16_TYPE__", "__UINT32_TYPE__", "__UINT64_TYPE__",
    /* features of C and of other compilers */
    "__STDC_NO_ATOMICS__", "__STDC_NO_COMPLEX__", "__STDC_NO_THREADS__", "__STDC_NO_VLA__",
    "__OPTIMIZE__", "__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__", "__GNUC_STDC_INLINE__",
    "_Nonnull", "_Nullable", "_Nullable_result", "_Null_unspecified",
    "__REDIRECT(name, proto, alias) name proto __asm__ (#alias)",
    "__REDIRECT_NTH(name, proto, alias) name proto __asm__ (#alias) __THROW",
    "__REDIRECT_NTHNL(name, proto, alias) name proto __asm__ (#alias) __THROWNL",
};

/* Macros that the system's compiler defines even with -undef. */
static const char *const built_in[] = {
    "__STDC_VERSION__", "__STDC_HOSTED__", "__STDC_UTF_16__", "__STDC_UTF_32__",
    "__STDC_IEC_559__", "__STDC_IEC_559_COMPLEX__", "__STDC_IEC_60559_BFP__",
    "__STDC_IEC_60559_COMPLEX__", "__STDC_ISO_10646__", "__STDC_EMBED_NOT_FOUND__",
    "__STDC_EMBED_FOUND__", "__STDC_EMBED_EMPTY__", "__GCC_HAVE_DWARF2_CFI_ASM",
    "__has_attribute(x)", "__has_builtin(x)", "__has_feature(x)", "__has_extension(x)",
    "__has_c_attribute(x)", "__has_cpp_attribute(x)", "__has_declspec_attribute(x)",
    "__has_constexpr_builtin(x)", "__has_warning(x)", "__has_embed(x)", "__is_identifier(x)",
    "__is_target_arch(x)", "__is_target_vendor(x)", "__is_target_os(x)",
    "__is_target_environment(x)", "__is_target_variant_os(x)",
    "__is_target_variant_environment(x)", "__building_module(x)", "__MODULE__",
    "__TIMESTAMP__", "__INCLUDE_LEVEL__", "__FILE_NAME__", "__BASE_FILE__",
};
/* clang-format on */

/* Systems with glibc 2.28 have at least gcc 8. */
static const char front[] = "#define CWJ_CC\n"
                            "#ifdef __is_identifier\n#define CWJ_CLANG\n"
                            "#else\n#define CWJ_GCC 8\n#endif\n";

/* Ordinary names for libtcc; the system's headers define them as types. */
static const char keywords[] = "#define _Float16 cwj_Float16\n#define _Float32 cwj_Float32\n"
                               "#define _Float64 cwj_Float64\n#define _Float128 cwj_Float128\n"
                               "#define _Float32x cwj_Float32x\n#define _Float64x cwj_Float64x\n";

/* Attributes that change types, but that libtcc ignores. They are errors here, so that libtcc's code stays in use. */
static const char *const passed_over[] = {"mode(x)", "vector_size(x)", "ext_vector_type(x)",
                                          "scalar_storage_order(x)", "ms_struct"};

/* An attribute is joined to cwj_passes_. If there is a macro of that name, its error becomes the second
 * argument; otherwise the attribute itself is. Accepts at most eight attributes; they may be empty. */
static const char attributes[] = "#define CWJ_SECOND(a, b, ...) b\n"
                                 "#define CWJ_CHOOSE(...) CWJ_SECOND(__VA_ARGS__)\n"
                                 "#define CWJ_ONE(a) CWJ_CHOOSE(cwj_passes_##a, a, )\n"
                                 "#define CWJ_EIGHT(a, b, c, d, e, f, g, h, ...) CWJ_ONE(a), "
                                 "CWJ_ONE(b), CWJ_ONE(c), CWJ_ONE(d), \\\n"
                                 "    CWJ_ONE(e), CWJ_ONE(f), CWJ_ONE(g), CWJ_ONE(h), __VA_ARGS__\n"
                                 "#define CWJ_ALL(...) CWJ_EIGHT(__VA_ARGS__, , , , , , , , )\n"
                                 "#define __attribute__(x) __attribute__((CWJ_ALL x))\n"
                                 "#define __attribute(x) __attribute((CWJ_ALL x))\n";

/* Appends text that makes libtcc output a line that defines this macro, or one that undefines it. */
static void put_question(const char *macro, bool is_built_in, tj_text *question)
{
    int length = (int)strcspn(macro, "( ");
    const char *body = strstr(macro, ") ");
    tj_text_printf(question, "#ifdef %.*s\n", length, macro);
    if (!is_built_in)
        tj_text_printf(question, "\"#ifndef %.*s\\n\"", length, macro);
    tj_text_printf(question, "\"#define %s \" ", macro);
    if (!body)
        tj_text_printf(question, "CWJ_SPELL(%s) ", macro);
    tj_text_puts(question, is_built_in ? "\"\\n\"\n" : "\"\\n#endif\\n\"\n");
    if (is_built_in)
        tj_text_printf(question, "#else\n\"#undef %.*s\\n\"\n", length, macro);
    tj_text_puts(question, "#endif\n");
}

/* Compile lock held. Returns NULL if out of memory. */
static char *ask(void)
{
    tj_text question = {0};
    tj_text_puts(&question, "#define CWJ_SPELLED(...) #__VA_ARGS__\n"
                            "#define CWJ_SPELL(...) CWJ_SPELLED(__VA_ARGS__)\n"
                            "const char answer[] = \"\"\n");
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        put_question(usual[i], false, &question);
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        put_question(built_in[i], true, &question);
    tj_text_puts(&question, ";\n");
    tj_text answer = {0};
    char *known = question.failed ? NULL : tj_backend_ask(question.data);
    if (known)
        tj_text_printf(&answer, "%s%s", known, keywords);
    tj_free(known);
    tj_text_clear(&question);
    return tj_text_take(&answer);
}

const char *tj_backend_macros(void)
{
    static char *macros;
    tj_compile_lock();
    if (!macros)
        macros = ask();
    tj_compile_unlock();
    return macros;
}

/* Marks the text as a system header, because compilers do not warn there about redefined macros of theirs. */
void tj_reading_write(bool as_libtcc, tj_text *text)
{
    const char *macros = as_libtcc ? tj_backend_macros() : "";
    tj_text_printf(text, "# 1 \"<libtcc>\" 3\n%s%s%s", front, macros ? macros : "",
                   as_libtcc ? attributes : "");
    for (size_t i = 0; as_libtcc && i < 2 * (sizeof passed_over / sizeof *passed_over); i++) {
        const char *name = passed_over[i / 2], *bars = i % 2 ? "__" : "";
        int length = (int)strcspn(name, "(");
        tj_text_printf(
            text,
            "#define cwj_passes_%s%.*s%s%s , _Pragma(\"GCC error \\\"libtcc passes over the "
            "attribute '%.*s'\\\"\")\n",
            bars, length, name, bars, name + length, length, name);
    }
    tj_text_puts(text, "# 1 \"<cwrapjit>\"\n");
    text->failed |= !macros;
}
