/* emit_implied.c: includes headers of the package that a function gets without asking.
 *
 * Here C has no operators for complex numbers and float16, so functions with such operands compute by calls.
 * Snippets that name such a function get the header, after the function's own header. It is omitted if the
 * header, or a file that it includes, may define a function or macro of that name. */
#include <string.h>

#include "emit/emit.h"
#include "read/tokens.h"

static const struct {
    const char *ctypes, *names, *include;
} implied[] = {
    {"npy_complex64 npy_complex128",
     "CMPLX CMPLXF cadd caddf csub csubf cmul cmulf cscale cscalef cdiv cdivf cpow cpowf cneg "
     "cnegf conj "
     "conjf creal crealf cimag cimagf cabs cabsf carg cargf cproj cprojf ceq ceqf cne cnef clt "
     "cltf cle "
     "clef cgt cgtf cge cgef cisnan cisnanf cisinf cisinff cisfinite cisfinitef cexp cexpf clog "
     "clogf csqrt "
     "csqrtf csin csinf ccos ccosf ctan ctanf casin casinf cacos cacosf catan catanf csinh csinhf "
     "ccosh "
     "ccoshf ctanh ctanhf casinh casinhf cacosh cacoshf catanh catanhf",
     "complex.h"},
    {"cwj_half", "half_to_float half_to_double float_to_half double_to_half", "numpy/halffloat.h"},
};
_Static_assert(sizeof implied / sizeof *implied == TJ_IMPLIED_HEADERS, "one for each bit");

/* Returns true if an operand, or a field of a structured dtype, has a type that the header supports. */
static bool fits(int header, const tj_spec *spec)
{
    const char *field = header == TJ_HALF_HEADER ? "cwj_half" : "npy_complex";
    bool found = spec->records && strstr(spec->records, field);
    for (int t = 0; t < spec->ntypesets; t++)
        for (int k = 0; k < spec->noperands && !found; k++) {
            const char *ctype = spec->typesets[t].types[k].ctype;
            found = ctype && tj_word_among(ctype, strlen(ctype), implied[header].ctypes);
        }
    return found;
}

/* How texts use the names of a header. */
typedef struct use {
    const char *names;
    bool calls, own, failed;
} use;

static void look(use *this, const tj_piece *piece, bool is_header)
{
    tj_tokens tokens = {0};
    if (!piece->length || this->failed)
        return;
    this->failed = !tj_tokens_list(&tokens, piece->text, piece->length);
    for (size_t i = 0; i < tokens.count && !this->failed; i++) {
        bool named = tokens.items[i].kind == TJ_TOKEN_NAME && tj_token_in(&tokens, i + 1, "(") &&
                     tj_token_among(&tokens, i, this->names);
        bool files = is_header && tj_token_at(&tokens, i, "include") && i + 1 < tokens.count &&
                     tokens.items[i + 1].kind == TJ_TOKEN_STRING;
        /* `double cabs(...)` or `#define cabs(...)`, but not `return cabs(...)`: */
        bool declared = i > 0 && tokens.items[i - 1].kind == TJ_TOKEN_NAME &&
                        !tj_token_among(&tokens, i - 1, "return else do");
        this->own |= files || (named && (is_header || declared));
        this->calls |= named;
    }
    tj_tokens_clear(&tokens);
}

static bool is_implied(const tj_spec *spec, int header, bool *failed)
{
    use this = {.names = implied[header].names};
    if (!fits(header, spec))
        return false;
    look(&this, &spec->header, true);
    look(&this, &spec->validate, false);
    look(&this, &spec->cleanup, false);
    for (int t = 0; t < spec->ntypesets; t++)
        look(&this, &spec->typesets[t].body, false);
    *failed |= this.failed;
    return this.calls && !this.own;
}

int tj_implied_headers(const tj_spec *spec, bool *failed)
{
    int found = 0;
    for (int header = 0; header < TJ_IMPLIED_HEADERS; header++)
        if (is_implied(spec, header, failed))
            found |= 1 << header;
    return found;
}

const char *tj_implied_header(int header)
{
    return implied[header].include;
}

bool tj_implied_header_has(int header, const char *name)
{
    return tj_word_among(name, strlen(name), implied[header].names);
}
