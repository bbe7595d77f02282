/* build.c: compiles one text with the system's compiler, step by step: the text that it reads, its run, and
 * its object as code in memory.
 *
 * The object is not trusted. Its form is checked before libtcc reads it. A function after each text shows
 * whether its references to data are correct after libtcc has placed them. */
#include "internal.h"

#include <stdint.h>
#include <string.h>

#include "read/divisors.h"
#include "read/tokens.h"

static const tj_environment no_environment;

static const tj_environment *environment_of(const tj_build *build)
{
    return build->environment ? build->environment : &no_environment;
}

/* ---- the parts of a build ------------------------------------------------ */

/* Copies the process' environment, except the language, because the compiler's messages are parsed. */
static void copy_variables(tj_words *variables)
{
    static const char *const languages[] = {"LC_ALL=", "LANGUAGE="};
    static const char plain[] = "LC_ALL=C";
    for (char **variable = tj_process_variables(); variable && *variable; variable++)
        if (strncmp(*variable, languages[0], strlen(languages[0])) != 0 &&
            strncmp(*variable, languages[1], strlen(languages[1])) != 0)
            tj_words_add(variables, *variable, strlen(*variable));
    tj_words_add(variables, plain, sizeof plain - 1);
}

bool tj_build_init(tj_build *build, tj_environment *environment, const char *text,
                   const tj_job_options *options)
{
    *build = (tj_build){.kind = options->kind,
                        .fastmath = options->fastmath,
                        .keeps_state = options->keeps_state,
                        .urgent = options->urgent};
    build->text = tj_copy_string(text);
    build->symbol = tj_copy_string(options->symbol ? options->symbol : "");
    build->file = options->file ? tj_copy_string(options->file) : NULL;
    copy_variables(&build->variables);
    if (!build->text || !build->symbol || (options->file && !build->file) ||
        build->variables.failed || tj_compiler_copy(options->compiler, &build->compiler, NULL)) {
        tj_build_clear(build);
        return false;
    }
    build->environment = tj_environment_ref(environment);
    return true;
}

void tj_build_clear(tj_build *build)
{
    tj_environment_free(build->environment);
    tj_compiler_clear(&build->compiler);
    tj_free(build->text);
    tj_free(build->symbol);
    tj_free(build->file);
    tj_words_clear(&build->variables);
    *build = (tj_build){0};
}

/* ---- the steps of a build ------------------------------------------------ */

/* Follows each text: a function that shows whether its addresses are correct in memory. */
static const char self_check[] =
    "\nstatic const unsigned cwj_check_own[16] __attribute((aligned(64))) = {0x5eed1234u, 77};\n"
    "extern const unsigned cwj_check_shared;\n"
    "const unsigned cwj_check_shared = 0x600dc0deu;\n"
    "extern const void *cwj_check(int which);\n"
    "const void *cwj_check(int which)\n"
    "{ return which ? (const void *)&cwj_check_shared : (const void *)cwj_check_own; }\n";

/* The same for urgent jobs, in assembler only. */
static const char quick_check[] =
#if defined(__x86_64__)
    "\nstatic const unsigned cwj_check_own[16] __attribute((aligned(64), used)) = {0x5eed1234u, "
    "77};\n"
    "extern const unsigned cwj_check_shared;\n"
    "const unsigned cwj_check_shared = 0x600dc0deu;\n"
    "__asm__(\".text\\n.globl cwj_check\\n.type cwj_check, @function\\ncwj_check:\\n\"\n"
    "\"testl %edi, %edi\\njne 1f\\nleaq cwj_check_own(%rip), %rax\\nret\\n\"\n"
    "\"1:\\nmovq cwj_check_shared@GOTPCREL(%rip), %rax\\nret\\n.size cwj_check, "
    ".-cwj_check\\n\");\n";
#else
    "";
#endif

static bool is_sound(const tj_unit *unit)
{
    const void *(*check)(int);
    void *address = tj_unit_symbol(unit, "cwj_check");
    if (!address)
        return false;
    memcpy(&check, &address, sizeof check);
    const unsigned *own = check(0), *shared = check(1);
    return own && (uintptr_t)own % 64 == 0 && own[0] == 0x5eed1234u && own[1] == 77 &&
           shared == tj_unit_symbol(unit, "cwj_check_shared") && *shared == 0x600dc0deu;
}

/* Used if mathematics.h is not: the package's <tgmath.h> calls functions such as cwj_pow. */
static const char usual_names[] =
    "#define cwj_pow pow\n#define cwj_powf powf\n#define cwj_fmin fmin\n#define cwj_fminf fminf\n"
    "#define cwj_fmax fmax\n#define cwj_fmaxf fmaxf\n#define cwj_fdim fdim\n#define cwj_fdimf "
    "fdimf\n";

/* Returns true if libtcc also compiles the text. It does not if the code keeps state, because no other tier of that code
 * runs, or if the build checks a file. */
static bool reads_as_libtcc(const tj_build *build)
{
    return !build->file && (build->kind != TJ_JOB_CODE || !build->keeps_state);
}

bool tj_build_makes_code(const tj_build *build)
{
    return build->kind == TJ_JOB_CODE || build->kind == TJ_JOB_EXPLAIN;
}

/* Finds what the text needs: everything, unless the job is urgent and compilers call no functions implicitly. */
static void find_needs(const tj_build *build, tj_needs *needs)
{
    *needs = (tj_needs){0};
    if (build->urgent && build->kind == TJ_JOB_CODE && !build->fastmath)
        tj_needs_init(needs, environment_of(build), build->text);
}

bool tj_build_uses_libm(const tj_build *build)
{
    return build->fastmath || tj_uses_libm(environment_of(build), build->text);
}

/* Gives functions of mathematics the forms in which compilers may use them. */
static void declare_functions(const tj_build *build, const tj_needs *needs, tj_text *text)
{
    bool sees_exceptions = tj_compiler_sees_environment(build->text);
    if (build->fastmath)
        tj_compiler_declare_vectors(text);
    else
        tj_compiler_hide_builtins(needs, text);
    if (!tj_build_uses_libm(build) && tj_build_makes_code(build) && !sees_exceptions)
        tj_compiler_declare_maths(environment_of(build), needs, text);
    if (sees_exceptions)
        tj_text_puts(text, "#define CWJ_SEES_EXCEPTIONS\n");
    if (!tj_build_uses_libm(build))
        tj_text_puts(text, "#define CWJ_OWN_MATHS\n");
    if (!tj_build_makes_code(build) || environment_of(build)->own_mathematics)
        tj_text_puts(text, usual_names); /* checks report names as in the text */
    else if (needs->mathematics || !needs->names)
        tj_text_printf(text, "%s%s", build->fastmath ? "#define CWJ_FASTMATH\n" : "",
                       tj_mathematics());
}

/* Appends macros that hide libm's functions with these names, or (hides: false) ends them. */
static void put_names(const tj_names *names, bool hides, tj_text *text)
{
    const char *name;
    tj_compile_lock();
    for (size_t at = 0; (name = tj_names_next(names, &at));)
        if (tj_libm_symbol(name))
            tj_text_printf(text, hides ? "#define %s " TJ_HIDDEN_PREFIX "%s\n" : "#undef %s\n",
                           name, name);
    tj_compile_unlock();
}

/* Appends what precedes the text. If the text defines a function that libm has, such as a static exp(), the latter gets
 * another name. */
static void put_prelude(const tj_build *build, const tj_needs *needs, tj_text *text)
{
    tj_names *defined = tj_names_new();
    if (!defined || !tj_defined_collect(build->text, defined))
        text->failed = true;
    else
        put_names(defined, true, text);
    tj_needs_prelude(needs, text);
    tj_text_puts(text, "\n");
    declare_functions(build, needs, text);
    if (defined)
        put_names(defined, false, text);
    tj_names_free(defined);
}

bool tj_build_write(const tj_build *build, bool hides, tj_text *text)
{
    tj_needs needs;
    find_needs(build, &needs);
    tj_reading_write(reads_as_libtcc(build), text);
    put_prelude(build, &needs, text);
    tj_needs_clear(&needs);
    hides &= tj_build_makes_code(build);
    tj_text_puts(text, hides ? tj_divisors_macro() : "");
    size_t before = text->length;
    if (hides)
        tj_divisors_write(build->text, text);
    else
        tj_text_puts(text, build->text);
    hides = text->length - before > strlen(build->text);
    if (build->kind == TJ_JOB_CODE)
        tj_text_puts(text, build->urgent && *quick_check ? quick_check : self_check);
    return hides;
}

tj_status tj_build_compile(const tj_build *build, bool narrow, const tj_pipework *files,
                           double seconds, bool (*given_up)(void *context), void *context,
                           tj_error *error)
{
    tj_words words = {0};
    tj_needs needs;
    find_needs(build, &needs);
    if (tj_build_makes_code(build))
        tj_compiler_command(
            &build->compiler, environment_of(build), build->text, reads_as_libtcc(build),
            (tj_code_flags){build->fastmath, narrow, build->urgent, build->kind == TJ_JOB_EXPLAIN,
                            tj_build_uses_libm(build), &needs},
            &words);
    else
        tj_compiler_check_command(&build->compiler, environment_of(build), build->kind, build->file,
                                  reads_as_libtcc(build), &words);
    tj_needs_clear(&needs);
    tj_status status = words.failed ? tj_fail_no_memory(error)
                                    : tj_process_run(words.items, build->variables.items, files,
                                                     seconds, given_up, context, error);
    tj_words_clear(&words);
    return status;
}

tj_status tj_build_load(const tj_build *build, const tj_object *object, tj_unit **unit,
                        tj_lines **lines, const void **address, tj_error *error)
{
    *unit = NULL;
    tj_status status = tj_load_object(build->environment, object, unit, error);
    if (!status && !is_sound(*unit))
        status = tj_fail(error, TJ_COMPILE_FAILED, "the compiler's object is wrong in memory");
    if (!status && !(*address = tj_unit_symbol(*unit, build->symbol)))
        status = tj_fail(error, TJ_NO_SYMBOL, "the compiler's object does not define '%s'",
                         build->symbol);
    if (status) {
        tj_unit_free(*unit);
        *unit = NULL;
    } else {
        const tj_anchor anchors[] = {{"cwj_check", tj_unit_symbol(*unit, "cwj_check")},
                                     {NULL, NULL}};
        tj_lines_read(object->fd, build->text, anchors, lines, NULL);
    }
    return status;
}
