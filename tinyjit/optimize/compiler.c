/* compiler.c: finds the system's compiler and chooses its flags.
 *
 * The flags give the same bits as the tcc tier, unless fastmath is requested: nothing is fused or reordered,
 * and no function of libm is replaced or folded, except those with exact results. -mno-fma alone is not
 * enough (see fused_x86_64.c): the machine code is checked, and compiled without AVX-512 if necessary.
 * Optimizations that only change errno are allowed if the text cannot read it.
 *
 * Both gcc and clang accept all flags, so nothing must be tried first. */
#include "internal.h"

#include "os/paths.h"
#include "os/shared_object.h"
#include "os/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of words --------------------------------------------------------- */

/* Adds words that blanks separate. */
static void add(tj_words *words, const char *flags)
{
    for (size_t length; *flags; flags += length + (flags[length] == ' ')) {
        length = strcspn(flags, " ");
        tj_words_add(words, flags, length);
    }
}

/* Adds "-I" and "dir" as one word. */
static void add_joined(tj_words *words, const char *flag, const char *value)
{
    tj_text word = {0};
    tj_text_printf(&word, "%s%s", flag, value);
    if (word.failed)
        words->failed = true;
    else
        tj_words_add(words, word.data, word.length);
    tj_text_clear(&word);
}

/* Splits a command line. Returns false if a quote is not closed. */
static bool split(const char *line, tj_words *words)
{
    static const char blanks[] = " \t\n\r\f\v";
    tj_text word = {0};
    bool fine = true;
    for (line += strspn(line, blanks); fine && *line; line += strspn(line, blanks)) {
        tj_text_clear(&word);
        tj_text_puts(&word, "");
        while (fine && *line && !strchr(blanks, *line)) {
            char quote = *line == '"' || *line == '\'' ? *line : '\0';
            size_t length =
                quote ? strcspn(line + 1, (char[]){quote, '\0'}) : strcspn(line, " \t\n\r\f\v\"'");
            fine = !quote || line[length + 1] == quote;
            tj_text_add(&word, quote ? line + 1 : line, length);
            line += quote && fine ? length + 2 : quote ? length + 1 : length;
        }
        if (word.failed)
            words->failed = true;
        else if (fine)
            tj_words_add(words, word.data, word.length);
    }
    tj_text_clear(&word);
    return fine;
}

/* ---- finding a compiler ----------------------------------------------------- */

/* Sets path to dir/name. Returns true if that is a program. */
static bool is_program_in(const char *dir, size_t length, const char *name, tj_text *path)
{
    tj_text_clear(path);
    tj_text_add(path, dir, length);
    tj_text_puts(path, "/");
    tj_text_puts(path, name);
    return path->failed || tj_path_is_program(path->data);
}

/* Looks name up in the absolute folders of path. Returns true with the path in found. */
static bool look_up(const char *name, const char *path, tj_text *found)
{
    if (strchr(name, '/')) {
        char *here = name[0] == '/' ? NULL : tj_path_here(); /* it may change later */
        bool fine = here && is_program_in(here, strlen(here), name, found);
        if (!here) {
            tj_text_puts(found, name);
            fine = found->failed || tj_path_is_program(name);
        }
        free(here);
        return fine;
    }
    while (path && *path) {
        size_t length = strcspn(path, TJ_BETWEEN_FOLDERS);
        if (path[0] == '/' && is_program_in(path, length, name, found))
            return true;
        path += length + (path[length] != '\0');
    }
    return false;
}

/* Replaces the first word by the program's path. */
static tj_status resolve(tj_words *words, const char *path, tj_error *error)
{
    tj_text found = {0};
    tj_status status = TJ_OK;
    if (!look_up(words->items[0], path, &found)) {
        status = tj_fail(error, TJ_NO_BACKEND, "'%s' is not a program%s", words->items[0],
                         strchr(words->items[0], '/') ? "" : " in PATH");
    } else if (found.failed) {
        status = tj_fail_no_memory(error);
    } else {
        tj_free(words->items[0]);
        words->items[0] = found.data;
        found = (tj_text){0};
    }
    tj_text_clear(&found);
    return status;
}

static tj_status find_wanted(const char *wanted, const char *path, tj_words *words, tj_error *error)
{
    if (!split(wanted, words))
        return tj_fail(error, TJ_NO_BACKEND, "a quote in '%s' is not closed", wanted);
    if (words->failed)
        return tj_fail_no_memory(error);
    if (words->count == 0 || words->items[0][0] == '\0')
        return tj_fail(error, TJ_NO_BACKEND, "the command line is empty");
    return resolve(words, path, error);
}

static tj_status find_any(const char *path, tj_words *words, tj_error *error)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        tj_words_clear(words);
        add(words, usual[i]);
        if (words->failed)
            return tj_fail_no_memory(error);
        tj_status status = resolve(words, path, error);
        if (status != TJ_NO_BACKEND)
            return status;
        tj_error_clear(error);
    }
    return tj_fail(error, TJ_NO_BACKEND, "none of cc, gcc, clang is in PATH");
}

tj_status tj_compiler_find(const char *wanted, const char *path, tj_compiler *compiler,
                           tj_error *error)
{
    tj_words words = {0};
    *compiler = (tj_compiler){0};
    tj_status status =
        wanted ? find_wanted(wanted, path, &words, error) : find_any(path, &words, error);
    if (status) {
        tj_words_clear(&words);
        return status;
    }
    compiler->words = words.items;
    return TJ_OK;
}

void tj_compiler_clear(tj_compiler *compiler)
{
    if (!compiler)
        return;
    for (char **word = compiler->words; word && *word; word++)
        tj_free(*word);
    tj_free(compiler->words);
    compiler->words = NULL;
}

tj_status tj_compiler_copy(const tj_compiler *compiler, tj_compiler *copy, tj_error *error)
{
    tj_words words = {0};
    tj_words_add_list(&words, (const char *const *)compiler->words);
    if (words.failed || words.count == 0) {
        tj_words_clear(&words);
        return tj_fail_no_memory(error);
    }
    copy->words = words.items;
    return TJ_OK;
}

/* ---- flags ------------------------------------------------------------------ */

static const char common_flags[] =
    "-std=gnu11 -O3 "
    "-fPIC " /* without it libtcc silently uses wrong addresses */
    "-fno-semantic-interposition -fno-strict-aliasing -fwrapv -fno-common "
    "-fno-delete-null-pointer-checks -fno-asynchronous-unwind-tables -fno-stack-protector "
    "-g1 -gdwarf-4 " /* lines only, for code that is left (unit/lines.c); libtcc does not see them */
    "-U_FORTIFY_SOURCE " /* its functions would bypass our entry points */
    "-Uunix -Ulinux " /* libtcc treats these as ordinary names */
    "-pipe";

#if defined(__x86_64__)
static const char this_machine[] = "-march=native";
/* gcc 12 fuses complex products with instructions of AVX-512, despite -mno-fma. */
static const char not_fusing[] = "-march=native -mno-avx512f";
/* gcc takes long to set up AVX-512 before its first function, and tries it on each loop. */
static const char without_avx512[] = "-march=x86-64 -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt";

/* Returns true if the flags above suit the processor. Those that have AVX2 and FMA also have lzcnt. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}
#else
/* clang 14 does not support -march=native here. */
static const char this_machine[] = "-mcpu=native";
/* gcc 12 fuses complex products with FCMLA, which this architecture lacks. */
static const char not_fusing[] = "-march=armv8-a";
#endif

/* Functions that compilers fold or replace, with other bits than libm's. */
static const char *const inexact_functions[] = {
    "acos",  "acosh",    "asin",      "asinh",       "atan",  "atan2", "atanh",
    "cbrt",  "cos",      "cosh",      "erf",         "erfc",  "exp",   "exp10",
    "exp2",  "expm1",    "fmod",      "gamma",       "hypot", "j0",    "j1",
    "jn",    "lgamma",   "log",       "log10",       "log1p", "log2",  "logb",
    "pow",   "pow10",    "remainder", "remquo",      "sin",   "sinh",  "sincos",
    "tan",   "tanh",     "tgamma",    "y0",          "y1",    "yn",    "drem",
    "scalb", "lgamma_r", "gamma_r",   "significand", "fmax",  "fmin", /* zeros' signs differ by the order */
    NULL,
};

static const char *const suffixes[] = {"", "f", "l", NULL};

/* Adds the names of inexact functions that the text may contain, after a prefix. */
static void add_inexact(const tj_needs *needs, const char *prefix, tj_words *words)
{
    tj_text word = {0};
    for (const char *const *name = inexact_functions; *name; name++)
        for (const char *const *suffix = suffixes; *suffix; suffix++) {
            word.length = 0;
            tj_text_printf(&word, "%s%s", *name, *suffix);
            if (!word.failed && tj_needs_name(needs, word.data))
                add_joined(words, prefix, word.data);
            words->failed |= word.failed;
        }
    tj_text_clear(&word);
}

void tj_compiler_hide_builtins(const tj_needs *needs, tj_text *text)
{
    tj_words names = {0};
    add_inexact(needs, "", &names);
    for (size_t i = 0; i < names.count; i++)
        tj_text_printf(text, "#define __builtin_%s %s\n", names.items[i], names.items[i]);
    text->failed |= names.failed;
    tj_words_clear(&names);
}

static void add_machine(const char *text, bool urgent, bool narrow, tj_words *words)
{
#if defined(__x86_64__)
    if (!tj_maths_may_use("avx2") && has_avx2()) {
        add(words, "-march=x86-64");
        return;
    }
    if ((urgent || !tj_maths_may_use("avx512")) && !narrow && has_avx2() &&
        !strstr(text, "avx512")) { /* target("avx512f") */
        add(words, without_avx512);
        if (tj_compiler_calls_fma(text))
            add(words, "-mfma");
        return;
    }
#else
    (void)urgent;
    if (strstr(text, "atomic") || strstr(text, "__sync"))
        add(words,
            "-mno-outline-atomics"); /* functions for machines without LSE are only in the static libgcc */
#endif
    add(words, narrow ? not_fusing : this_machine);
}

static void add_flags(bool fastmath, bool calls_fma, bool unrolls, const tj_needs *needs,
                      tj_words *words)
{
    add(words, common_flags);
    if (unrolls) /* 8 takes longer to compile and runs no faster */
        add(words, "-funroll-loops --param=max-unroll-times=4");
    if (fastmath) { /* tests for NaN and infinity keep their meaning */
        add(words, "-ffast-math -fno-finite-math-only");
        return;
    }
    add(words, "-ffp-contract=off");
#if defined(__x86_64__)
    add(words, "-mno-fma4");
    if (!calls_fma) /* otherwise the check of the code accepts its instructions */
        add(words, "-mno-fma");
#else
    (void)calls_fma;
#endif
    add_inexact(needs, "-fno-builtin-", words);
}

char *tj_optimizer_flags(bool fastmath)
{
    tj_words words = {0};
    tj_text text = {0};
    add_machine("", false, false, &words);
    add_flags(fastmath, false, true, &(tj_needs){0}, &words);
    for (size_t i = 0; i < words.count; i++)
        tj_text_printf(&text, "%s%s", i ? " " : "", words.items[i]);
    if (words.failed || text.failed)
        tj_text_clear(&text);
    tj_words_clear(&words);
    return text.data;
}

static bool names_any(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (strstr(text, *names))
            return true;
    return false;
}

bool tj_compiler_calls_fma(const char *text)
{
    for (const char *at = text; (at = strstr(at, "fma")) != NULL; at += 3) {
        const char *end = at + (at[3] == 'f' ? 4 : 3);
        end += strspn(end, " \t");
        if (*end == '(')
            return true;
    }
    return false;
}

bool tj_compiler_sees_environment(const char *text)
{
    static const char *const words[] = {
        "fenv",       "fetestexcept", "feclearexcept", "feraise", "feenable",
        "fesetround", "fegetround",   "_MM_SET_",      "##",      NULL};
    return names_any(text, words);
}

/* Allows the compiler to ignore errno, and to assume the usual rounding mode, if the text cannot tell. */
static void add_blind_flags(const char *text, tj_words *words)
{
    static const char *const errors[] = {"errno", "##", NULL};
    if (!names_any(text, errors))
        add(words, "-fno-math-errno");
    if (tj_compiler_sees_environment(text))
        add(words, "-frounding-math");
}

static bool has_name(const char *path, const char *part)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strstr(slash ? slash + 1 : path, part);
}

/* Returns true if the compiler's name contains `part`: perhaps after resolving a link such as cc, or before that and
 * behind other programs, as with ccache. */
static bool is_called(const tj_compiler *compiler, const char *part)
{
    char *real = tj_path_real(compiler->words[0]);
    bool found = has_name(real, part);
    free(real);
    for (char **word = compiler->words; *word && **word != '-' && !found; word++)
        found = has_name(*word, part);
    return found;
}

int tj_compiler_object_number(const tj_compiler *compiler)
{
    for (char **word = compiler->words; *word; word++) {
        const char *slash = strrchr(*word, '/');
        if (!strncmp(slash ? slash + 1 : *word, "zig", 3))
            return 1;
    }
    return 3;
}

static bool is_clang(const tj_compiler *compiler)
{
    return is_called(compiler, "clang") || tj_compiler_object_number(compiler) == 1;
}

/* Newer compilers refuse these by default, since such code does not compute what it seems to. Other warnings
 * are neither enabled nor shown. */
static void add_refused(const tj_compiler *compiler, tj_words *words)
{
    add(words, "-Werror=implicit-int -Werror=implicit-function-declaration -Werror=int-conversion "
               "-Werror=incompatible-pointer-types");
    if (is_clang(compiler)) /* gcc's flag does not include lost qualifiers */
        add(words, "-Wno-error=incompatible-pointer-types-discards-qualifiers");
}

/* Adds folders and macros. The compilers' own headers need their own macros. */
static void add_environment(const tj_environment *environment, bool as_libtcc, tj_words *words)
{
    const char *const *folders = tj_backend_include_dirs();
    for (char **dir = environment->include_dirs.items; dir && *dir; dir++)
        add_joined(words, "-I", *dir);
    for (char **macro = environment->define_macros.items; macro && *macro; macro++)
        add_joined(words, "-D", *macro);
    if (as_libtcc) /* without the compiler's own macros and folders */
        add(words, "-undef -nostdinc");
    for (size_t i = 0; folders[i] && (as_libtcc || i == 0); i++) {
        add(words, "-isystem");
        add_joined(words, "", folders[i]);
    }
}

void tj_compiler_command(const tj_compiler *compiler, const tj_environment *environment,
                         const char *text, bool as_libtcc, tj_code_flags flags, tj_words *words)
{
    bool clang = is_clang(compiler);
    tj_words_add_list(words, (const char *const *)compiler->words);
    add_machine(text, flags.urgent && !flags.fastmath, flags.narrow, words);
    add_flags(flags.fastmath, !flags.narrow && tj_compiler_calls_fma(text), !flags.urgent,
              flags.needs, words);
    if (!flags.fastmath)
        add_blind_flags(text, words);
    /* gcc moves a call of a function without side effects to where its value is used. If that is under a condition, the
     * loop has no vectors. */
    if (!clang && !flags.libm)
        add(words, "-fno-tree-sink");
    add_refused(compiler, words);
    /* Graphs are nested blocks. gcc takes about 15 % longer with -g1, with these 5 %. */
    add(words, clang ? "-fbracket-depth=100000" : "-fno-var-tracking -gno-statement-frontiers");
    if (!clang &&
        flags.urgent) /* these passes take a twentieth of the time and make loops no faster */
        add(words, "-fno-gcse -fno-schedule-insns2 --param=vect-epilogues-nomask=0");
    /* Loop optimizations are reported on standard error. For text from standard input, clang's remarks have no
     * positions; its optimization records have them if the code has line information. */
    if (flags.explains)
        add(words, clang ? "-foptimization-record-passes=loop-vectorize"
                         : "-fopt-info-vec-optimized-missed");
    if (flags.explains && clang)
        add_joined(words, "-foptimization-record-file=", tj_process_path(2));
#if defined(__x86_64__)
    if (clang && flags.fastmath)
        add(words, "-fveclib=libmvec");
#endif
    add_environment(environment, as_libtcc, words);
    add(words, "-c -xc - -o");
    add(words, tj_compiler_object_number(compiler) == 1 ? "-" : tj_process_path(3));
}

/* -fsyntax-only would be faster for checks, but gcc finds a missing return and uninitialised variables only in its
 * optimizer, before these passes have used them, and only in functions that it keeps. */
static const char gcc_check_flags[] =
    "-fno-tree-ccp -fno-tree-fre -fno-tree-copy-prop -fno-tree-dominator-opts "
    "-fkeep-static-functions -fkeep-inline-functions";

void tj_compiler_check_command(const tj_compiler *compiler, const tj_environment *environment,
                               tj_job_kind kind, const char *file, bool as_libtcc, tj_words *words)
{
    bool checks = kind == TJ_JOB_CHECK, clang = is_clang(compiler);
    tj_words_add_list(words, (const char *const *)compiler->words);
    add(words, "-std=gnu11 -fwrapv -fno-strict-aliasing -fPIC -U_FORTIFY_SOURCE -ftabstop=1 -pipe");
    add(words, checks ? "-S -O1 -Wall -Wno-unused-label -Wno-unused-function -o " TJ_NULL_FILE
                      : "-fsyntax-only");
    if (!checks)
        add_refused(compiler, words);
    if (clang)
        add(words, "-fbracket-depth=100000");
    if (checks)
        add(words, clang ? "-Wconditional-uninitialized" : gcc_check_flags);
    add_environment(environment, as_libtcc, words);
    add(words, "-xc");
    add_joined(words, "", file ? file : "-");
}

/* ---- functions that compilers call implicitly ------------------------------- */

/* The library is never closed, because code that uses it may outlive the last call of its function. */
static const void *ask_library(void **handle, const char *library, const char *name)
{
    if (!*handle)
        *handle = tj_shared_object_open(library);
    return *handle ? tj_shared_object_symbol(*handle, name) : NULL;
}

const void *tj_compiler_symbol(const char *name, bool libm)
{
    static void *libmvec, *libgcc;
    for (size_t i = 0; i < tj_helper_count; i++)
        if (!strcmp(tj_helper_symbols[i].name, name))
            return tj_helper_symbols[i].address;
    if (!strncmp(name, "_ZGV", 4))
        return libm ? ask_library(&libmvec, TJ_LIBMVEC, name) : tj_maths_vector(name);
    return name[0] == '_' ? ask_library(&libgcc, TJ_LIBGCC, name) : NULL;
}

/* gcc's names for vector functions of this machine: instruction set, mask or none, and lanes. Sources: System
 * V ABI for x86-64, vector functions; Vector Function ABI for AArch64. */
#if defined(__x86_64__)
static const char *const variants[2][4] = {{"bN2", "cN4", "dN4", "eN8"},
                                           {"bN4", "cN8", "dN8", "eN16"}};
#else
static const char *const variants[2][4] = {{"nN2", "sMx"}, {"nN2", "nN4", "sMx"}};
#endif

/* Returns true if a function's vector forms exist: all, because gcc uses the widest that the processor supports. */
static bool has_vectors(const char *name, bool is_float, int arguments)
{
    char symbol[64];
    for (int i = 0; i < 4 && variants[is_float][i]; i++) {
        snprintf(symbol, sizeof symbol, "_ZGV%s%s_%s%s", variants[is_float][i],
                 arguments == 2 ? "vv" : "v", name, is_float ? "f" : "");
        if (!tj_compiler_symbol(symbol, true))
            return false;
    }
    return true;
}

static const char *const parameters[2][2] = {{"double", "double, double"},
                                             {"float", "float, float"}};

static void declare(const char *name, int arguments, tj_text *text)
{
    for (int is_float = 0; is_float < 2; is_float++)
        if (has_vectors(name, is_float, arguments))
            tj_text_printf(text, "__attribute__((simd(\"notinbranch\"))) %s %s%s(%s);\n",
                           parameters[is_float][0], name, is_float ? "f" : "",
                           parameters[is_float][arguments - 1]);
}

/* Without `const`, gcc makes no vectors. With SVE, newer compilers would ask for forms that we do not have. */
void tj_compiler_declare_maths(const tj_environment *environment, const tj_needs *needs,
                               tj_text *text)
{
    const char *vectors = TJ_HAS_SVE ? "" : "simd(\"notinbranch\"), ", *name;
    tj_compile_lock();
    for (size_t i = 0; (name = tj_maths_name(i)); i++) {
        bool is_float = tj_maths_is_float(i);
        if (tj_needs_name(needs, name) && !tj_environment_brings(environment, name))
            tj_text_printf(text, "__attribute__((%sconst)) %s %s(%s);\n", vectors,
                           parameters[is_float][0], name,
                           parameters[is_float][tj_maths_arity(i) - 1]);
    }
    tj_compile_unlock();
}

void tj_compiler_declare_vectors(tj_text *text)
{
    static const char *const unary[] = {"sin",   "cos",   "exp",  "log",   "tan",  "asin",
                                        "acos",  "atan",  "sinh", "cosh",  "tanh", "asinh",
                                        "acosh", "atanh", "exp2", "expm1", "log2", "log10",
                                        "log1p", "cbrt",  "erf",  "erfc"};
    static const char *const binary[] = {"pow", "atan2", "hypot"};
    tj_compile_lock();
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
        declare(unary[i], 1, text);
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        declare(binary[i], 2, text);
    tj_compile_unlock();
}
