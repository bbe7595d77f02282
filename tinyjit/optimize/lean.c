/* lean.c: finds the parts of the prelude that a text needs, for urgent jobs. Unneeded declarations take a
 * tenth of such a compilation.
 *
 * The names that a text uses are known if it includes no file, does not use ##, and contains no macros except
 * its own and ours. Then it gets those headers of the prelude that define or declare one of its names, and
 * tj_mathematics() if it names one of those functions. Unneeded headers are harmless. A missing one is a
 * compiler error, except for functions of tj_mathematics(). */
#include "internal.h"

#include <string.h>

/* ---- the prelude's parts ------------------------------------------------------ */

/* Headers that no other part of the prelude needs. */
static const char *const headers[] = {
    "STDINT", "LIMITS", "FLOAT", "MATH", "STRING", "STDLIB", "STDIO", NULL,
};

static const char guard[] = "#ifndef CWJ_ISO_";

typedef struct part {
    const char *text; /* points into the prelude */
    size_t length;
    bool is_header;
} part;

static bool starts(const char *at, const char *with)
{
    return !strncmp(at, with, strlen(with));
}

static const char *behind_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

static bool is_header(const char *at)
{
    if (!starts(at, guard))
        return false;
    const char *name = at + sizeof guard - 1;
    for (const char *const *header = headers; *header; header++)
        if (starts(name, *header) && starts(name + strlen(*header), "_H\n"))
            return true;
    return false;
}

/* Returns the part at `at`: a header, which begins with #if, or all before the next one. The prelude has no blanks before
 * a #. */
static part part_at(const char *at)
{
    bool header = is_header(at);
    const char *end = at;
    int depth = 0;
    do {
        depth += starts(end, "#if") - starts(end, "#endif");
        end = behind_line(end);
    } while (*end && (header ? depth > 0 : !is_header(end)));
    return (part){at, (size_t)(end - at), header};
}

/* ---- the names of a text ------------------------------------------------------ */

static bool reads_files(const tj_names *names)
{
    return tj_names_have(names, "include") || tj_names_have(names, "include_next") ||
           tj_names_have(names, "import") || tj_names_have(names, "embed");
}

static bool knows_other_macros(const tj_environment *environment)
{
    for (char **macro = environment->define_macros.items; macro && *macro; macro++)
        if (!starts(*macro, "CWJ_ARRAY_LAYOUT="))
            return true;
    return false;
}

static bool names_mathematics(const tj_names *names)
{
    static const char directive[] = "\n#define ";
    tj_text name = {0};
    bool found = false;
    for (const char *at = tj_mathematics(); !found && (at = strstr(at, directive)) != NULL;) {
        at += sizeof directive - 1;
        name.length = 0;
        tj_text_add(&name, at, strcspn(at, " (\n"));
        found = name.failed || tj_names_have(names, name.data);
    }
    tj_text_clear(&name);
    return found;
}

void tj_needs_init(tj_needs *needs, const tj_environment *environment, const char *text)
{
    *needs = (tj_needs){.names = tj_names_new()};
    if (!needs->names)
        return;
    if (!tj_names_collect(needs->names, text, strlen(text)) || tj_names_may_paste(needs->names) ||
        strstr(text, "%:") || strstr(text, "__builtin_") || /* # spelled otherwise, builtins */
        reads_files(needs->names) || knows_other_macros(environment)) {
        tj_needs_clear(needs);
        return;
    }
    needs->mathematics = !environment->own_mathematics && names_mathematics(needs->names);
    if (needs->mathematics &&
        !tj_names_collect(needs->names, tj_mathematics(), strlen(tj_mathematics())))
        tj_needs_clear(needs);
}

void tj_needs_clear(tj_needs *needs)
{
    tj_names_free(needs->names);
    *needs = (tj_needs){0};
}

bool tj_needs_name(const tj_needs *needs, const char *name)
{
    return !needs->names || tj_names_have(needs->names, name);
}

/* ---- the prelude ------------------------------------------------------------------ */

/* Returns true if the part has one of the wanted names that is not usual. Ignores names of one letter: headers declare
 * none, but their parameters have such names. */
static bool is_needed(const part *this, const tj_names *wanted, const tj_names *usual)
{
    tj_names *names = tj_names_new();
    bool found = !names || !tj_names_collect(names, this->text, this->length);
    const char *name;
    for (size_t at = 0; !found && (name = tj_names_next(names, &at));)
        found = name[1] && tj_names_have(wanted, name) && !tj_names_have(usual, name);
    tj_names_free(names);
    return found;
}

/* Collects the names that every text uses; they require no header. */
static bool collect_usual(tj_names *names)
{
    static const char keywords[] = "define undef if ifdef ifndef else elif endif defined "
                                   "char short int long float double signed unsigned";
    bool complete = tj_names_collect(names, keywords, sizeof keywords - 1);
    for (const char *at = tj_prelude(); *at && complete;) {
        part this = part_at(at);
        complete = this.is_header || tj_names_collect(names, this.text, this.length);
        at += this.length;
    }
    return complete;
}

void tj_needs_prelude(const tj_needs *needs, tj_text *text)
{
    tj_names *usual = needs->names ? tj_names_new() : NULL;
    if (!usual || !collect_usual(usual)) {
        tj_text_puts(text, tj_prelude());
    } else {
        for (const char *at = tj_prelude(); *at;) {
            part this = part_at(at);
            if (!this.is_header || is_needed(&this, needs->names, usual))
                tj_text_add(text, this.text, this.length);
            at += this.length;
        }
    }
    tj_names_free(usual);
}
