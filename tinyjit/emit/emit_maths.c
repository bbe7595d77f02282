/* emit_maths.c: gives standalone modules the functions of maths/ that their text uses. They have the same bits as in memory.
 *
 * Macros with the usual names lead to them. A name that the text only has for a variable does not count. */
#include <string.h>

#include "emit/emit.h"
#include "maths/maths.h"
#include "read/tokens.h"

/* These call two of the functions. */
enum {
    SINCOS = TJ_MATHS_COUNT,
    SINCOSF,
    COUNT
};

_Static_assert(COUNT <= 64, "a set has a bit for each function");

static const char begin[] =
    "\n/* ---- functions of mathematics with the same bits everywhere: error below 1 ulp ---- */\n"
    "#if defined __GNUC__ && !defined __FAST_MATH__ && __FLT_EVAL_METHOD__ % 16 == 0\n"
    "#define CWJ_MATHS\n"
    "#define tj_whole_power cwj_quick_pow\n#define tj_whole_powerf "
    "cwj_quick_powf\n" TJ_FUSE_NOTHING;
static const char end[] = TJ_FUSE_AS_BEFORE "#endif\n";

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << i;
}

static const char *name_of(size_t i)
{
    return i == SINCOS ? "sincos" : i == SINCOSF ? "sincosf" : i < COUNT ? tj_maths_name(i) : NULL;
}

static bool is_float(size_t i)
{
    return i < TJ_MATHS_COUNT ? tj_maths_is_float(i) : i == SINCOSF;
}

static bool is_power(size_t i)
{
    return i == TJ_MATHS_pow || i == TJ_MATHS_powf;
}

/* ---- which functions --------------------------------------------------------------------- */

/* What the texts of a module say of our functions. */
typedef struct mentions {
    uint64_t calls, macros; /* sets: they use it; they have a macro of that name */
    bool joins, failed; /* they contain ##; out of memory */
} mentions;

static bool is_named(const tj_tokens *tokens, size_t i, const char *name)
{
    const tj_token *token = &tokens->items[i];
    return token->kind == TJ_TOKEN_NAME && token->length == strlen(name) &&
           !memcmp(token->text, name, token->length);
}

static bool uses(const tj_tokens *tokens, const char *name)
{
    bool called = false, value = false, variable = false;
    for (size_t i = 0; i < tokens->count; i++) {
        if (!is_named(tokens, i, name))
            continue;
        size_t before = i > 0 ? i - 1 : tokens->count;
        bool returned = tj_token_at(tokens, before, "return");
        bool other =
            tj_token_among(tokens, before, ". -> double float void"); /* or it is declared */
        called |= (tj_token_in(tokens, i + 1, "(") && !other) || tj_token_at(tokens, i + 1, "##");
        value |= tj_token_in(tokens, i + 1, "),;:}") &&
                 (tj_token_in(tokens, before, "(,=&?:{") || returned);
        variable |=
            tj_token_is_name(tokens, before) && !returned && tj_token_in(tokens, i + 1, "=,;)[");
    }
    return called || (value && !variable);
}

static void look(mentions *this, const tj_piece *piece)
{
    tj_tokens tokens = {0};
    const char *name;
    if (!piece->length || this->failed)
        return;
    this->failed = !tj_tokens_list(&tokens, piece->text, piece->length);
    this->joins |= tj_bytes_hold(piece->text, piece->length, "##");
    if (uses(&tokens, "carg"))
        this->calls |= bit(TJ_MATHS_atan2) | bit(TJ_MATHS_atan2f);
    if (uses(&tokens, "cargf"))
        this->calls |= bit(TJ_MATHS_atan2f);
    for (size_t i = 0; (name = name_of(i)); i++) {
        this->calls |= uses(&tokens, name) ? bit(i) : 0;
        for (size_t k = 1; k < tokens.count; k++)
            if (tj_token_at(&tokens, k - 1, "define") && is_named(&tokens, k, name))
                this->macros |= bit(i);
    }
    tj_tokens_clear(&tokens);
}

static bool calls_libm(const tj_spec *spec)
{
    return spec->libm || spec->fastmath;
}

/* The functions that sincos calls. */
static uint64_t both(size_t i)
{
    return i == SINCOS    ? bit(TJ_MATHS_sin) | bit(TJ_MATHS_cos)
           : i == SINCOSF ? bit(TJ_MATHS_sinf) | bit(TJ_MATHS_cosf)
                          : 0;
}

uint64_t tj_maths_find(const tj_environment *environment, int nspecs, const tj_spec *const *specs,
                       const tj_names *defined, bool *failed)
{
    mentions found = {0};
    const char *name;
    for (int i = 0; i < nspecs; i++) {
        const tj_spec *spec = specs[i];
        if (calls_libm(spec))
            continue;
        look(&found, &spec->header);
        look(&found, &spec->validate);
        look(&found, &spec->cleanup);
        for (int k = 0; k < spec->nextras; k++)
            look(&found, &spec->extras[k].default_value);
        for (int t = 0; t < spec->ntypesets; t++)
            look(&found, &spec->typesets[t].body);
    }
    tj_compile_lock();
    for (size_t i = COUNT; i-- > 0;) { /* sincos before sin and cos */
        name = name_of(i);
        if (found.joins && is_float(i) && found.calls & bit(i - 1)) /* exp##f */
            found.calls |= bit(i);
        found.calls |= found.calls & bit(i) ? both(i) : 0;
        if (tj_names_have(defined, name) ||
            (environment && (tj_environment_brings(environment, name) ||
                             (is_power(i) && environment->own_mathematics))))
            found.calls &= ~bit(i);
    }
    tj_compile_unlock();
    *failed |= found.failed;
    found.calls &= ~found.macros;
    for (size_t i = SINCOS; i < COUNT; i++)
        if ((found.calls & both(i)) != both(i))
            found.calls &= ~bit(i);
    return found.calls;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Emits a function that is not always inlined. That of a constant power is: mathematics.h has its text. */
static void emit_function(size_t i, tj_text *text)
{
    const char *type = is_float(i) ? "float" : "double", *name = name_of(i),
               *suffix = is_float(i) ? "f" : "";
    if (i >= TJ_MATHS_COUNT)
        tj_text_printf(text,
                       "static inline void cwj_math_%s(%s x, %s *sine, %s *cosine)\n{\n"
                       "*sine = cwj_math_sin%s(x);\n*cosine = cwj_math_cos%s(x);\n}\n",
                       name, type, type, type, suffix, suffix);
    else if (tj_maths_arity(i) == 1)
        tj_text_printf(text, "static inline %s cwj_math_%s(%s x)\n{\nreturn tjv_%s(x);\n}\n", type,
                       name, type, name);
    else
        tj_text_printf(text,
                       "static inline %s cwj_math_%s%s(%s x, %s y)\n{\nreturn tjv_%s(x, y);\n}\n",
                       type, is_power(i) ? "any_" : "", name, type, type, name);
    if (is_power(i))
        tj_text_printf(text,
                       "TJV_INLINE %s cwj_math_%s(%s x, %s y)\n{\n"
                       "if (__builtin_constant_p(y) && y == 2)\nreturn x * x;\n"
                       "return __builtin_constant_p(y) && "
                       "tjv_%s_is_whole(y) ? cwj_quick_%s(x, y) : cwj_math_any_%s(x, y);\n}\n",
                       type, name, type, type, name, name, name);
}

/* Emits macros with the usual names (on), or ends them; mathematics.h has a macro for pow, too. */
static void emit_names(uint64_t set, bool on, tj_text *text)
{
    const char *name;
    tj_text_puts(text, set ? "#ifdef CWJ_MATHS\n" : "");
    for (size_t i = 0; (name = name_of(i)); i++)
        if (set & bit(i)) {
            tj_text_printf(text, "#undef %s\n", name);
            if (on || is_power(i))
                tj_text_printf(text, "#define %s cwj_%s%s\n", name, on ? "math_" : "", name);
        }
    tj_text_puts(text, set ? "#endif\n" : "");
}

void tj_emit_maths_switch(const tj_spec *spec, uint64_t set, bool on, tj_text *text)
{
    emit_names(calls_libm(spec) ? set : 0, on, text);
}

void tj_emit_maths(const tj_maths_piece *pieces, uint64_t set, tj_text *text)
{
    if (!set)
        return;
    tj_text_puts(text, begin);
    for (; pieces->text; pieces++)
        if (pieces->users & set)
            tj_text_puts(text, pieces->text);
    for (size_t i = 0; i < COUNT; i++)
        if (set & bit(i))
            emit_function(i, text);
    tj_text_puts(text, end);
    emit_names(set, true, text);
}
