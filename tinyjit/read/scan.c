/* scan.c: refuses text that must not reach libtcc (scan.h).
 *
 * libtcc ends the process if its stack or memory is used up, and some inputs make it hang or exit. All of
 * these are refused here, before libtcc reads the text. Text that lets a snippet leave the function whose
 * body it becomes is refused, too: brackets that do not match, an unterminated comment.
 *
 * Some faults are found in the text as written, the others after macro expansion (expand.c): depth
 * (nesting.c), and faults that libtcc accepts silently: declarations without a type (typeless.c) and code
 * that it compiles wrongly (silent.c). */
#include <stdio.h>

#include "os/paths.h"
#include "read/scan.h"

struct tj_scanner {
    tj_expander *expander; /* owned */
    tj_declared declared;  /* owned */
    tj_expanded text;      /* owned: the last text */
    int seen;              /* the features below that occurred anywhere so far */
    bool is_part;          /* generated text follows */
    const tj_spec *spec;   /* the spec of the generated text, or NULL */
};

/* Features that are harmless alone. */
enum {
    PASTES = 1,     /* ## */
    SLASHES = 2,    /* a lone / as a macro's argument or body */
    ASSEMBLES = 4,  /* asm */
    REPEATS = 8,    /* a string with an assembler directive that repeats */
    WIDENS = 16,    /* a wide string */
    JOINS = 32      /* adjacent strings, perhaps by a macro */
};

/* The scan of one piece. */
typedef struct scan {
    tj_scanner *shared;
    const tj_piece *piece;
    tj_messages *messages;
    bool refused;
} scan;

void tj_scanner_free(tj_scanner *scanner)
{
    if (!scanner)
        return;
    tj_expanded_clear(&scanner->text);
    tj_expander_free(scanner->expander);
    tj_map_clear(&scanner->declared.types);
    tj_free(scanner);
}

const tj_expanded *tj_scanner_text(const tj_scanner *scanner)
{
    return &scanner->text;
}

/* ---- messages -------------------------------------------------------------- */

/* Reports only the first fault. "%.*s" in the text stands for the text at this place. */
static void refuse(scan *this, size_t start, size_t end, const char *text)
{
    if (!this->refused)
        tj_messages_add_at(this->messages, this->piece, start, end, text, (int)(end - start),
                           this->piece->text + start);
    this->refused = true;
}

static void refuse_token(scan *this, const tj_token *token, const char *text)
{
    refuse(this, token->start, token->end, text);
}

/* ---- the text as it was written ---------------------------------------------- */

static bool check_bytes(scan *this)
{
    const tj_piece *piece = this->piece;
    if (piece->length > TJ_MAX_TEXT) {
        tj_messages_add(this->messages, true, piece->file, 1,
                        "the text is too long: more than 16 MiB");
        return false;
    }
    for (size_t i = 0; i < piece->length; i++) {
        unsigned char byte = (unsigned char)piece->text[i];
        if ((byte < 0x20 && (byte < '\t' || byte > '\r')) || byte == 0x7f) {
            char text[64];
            snprintf(text, sizeof(text), "the control byte 0x%02x is not C text", byte);
            refuse(this, i, i + 1, text);
            return false;
        }
    }
    if (piece->length && piece->text[piece->length - 1] == '\\') {
        refuse(this, piece->length - 1, piece->length, "the text ends with a backslash");
        return false;
    }
    return true;
}

/* Returns true for directives of the assembler that expand to much code. */
static bool has_repeating_directive(const tj_token *token)
{
    static const char *const words[] = {".rept", ".fill", ".space", ".skip", ".org", NULL};
    bool found = false;
    for (size_t w = 0; words[w] && !found; w++)
        found = tj_bytes_hold(token->text, token->length, words[w]);
    return found;
}

/* Returns true if token i is a / next to the end of an argument or a body: ## might join two of them to //. */
static bool is_lone_slash(const tj_tokens *raw, size_t i)
{
    if (!tj_token_at(raw, i, "/"))
        return false;
    bool begins = i > 0 && !raw->items[i].first &&
                  (tj_token_in(raw, i - 1, "(,") || tj_token_at(raw, i - 1, "##"));
    bool ends = i + 1 == raw->count || raw->items[i + 1].first;
    return begins || ends || tj_token_in(raw, i + 1, ",)") || tj_token_at(raw, i + 1, "##");
}

/* Returns WIDENS for a wide string, JOINS for strings that may be joined. libtcc writes outside its memory when it
 * joins strings of different widths. A macro can make them adjacent, so a text must not contain both, wherever they
 * are. There is a token before i. */
static int look_at_strings(const tj_tokens *raw, size_t i)
{
    if (raw->items[i - 1].kind == TJ_TOKEN_STRING)
        return tj_token_is_name(raw, i) || raw->items[i].kind == TJ_TOKEN_STRING ? JOINS : 0;
    if (raw->items[i].kind != TJ_TOKEN_STRING || !tj_token_is_name(raw, i - 1))
        return 0;
    return tj_token_among(raw, i - 1, "L u U u8")                        ? WIDENS
           : tj_token_among(raw, i - 1, "return sizeof else do include") ? 0
                                                                         : JOINS;
}

/* Returns the features of the token at i. */
static int look_at_token(const tj_tokens *raw, size_t i)
{
    const tj_token *token = &raw->items[i];
    int seen = i > 0 ? look_at_strings(raw, i) : 0;
    if (tj_token_is(token, "##"))
        seen |= PASTES;
    if (is_lone_slash(raw, i))
        seen |= SLASHES;
    if (tj_token_word(raw, i, TJ_ASSEMBLER))
        seen |= ASSEMBLES;
    if (token->kind == TJ_TOKEN_STRING && has_repeating_directive(token))
        seen |= REPEATS;
    return seen;
}

/* Returns the reason why these features must not occur together, or NULL. */
static const char *danger_of(int seen)
{
    static const struct {
        int both;
        const char *text;
    } dangers[] = {
        {PASTES | SLASHES, "'/' as a macro's argument together with ## is not supported"},
        {ASSEMBLES | REPEATS, "directives that repeat or fill are not supported in asm"},
        {WIDENS | JOINS, "wide strings together with strings that are joined are not supported"}};
    for (size_t i = 0; i < sizeof(dangers) / sizeof(*dangers); i++)
        if ((seen & dangers[i].both) == dangers[i].both)
            return dangers[i].text;
    return NULL;
}

static void check_token(scan *this, const tj_tokens *raw, size_t i)
{
    const tj_token *token = &raw->items[i];
    int before = this->shared->seen;
    this->shared->seen |= look_at_token(raw, i);
    if (token->kind == TJ_TOKEN_COMMENT)
        refuse_token(this, token, token->text);
    if (this->shared->seen != before && !danger_of(before) && danger_of(this->shared->seen))
        refuse_token(this, token, danger_of(this->shared->seen));
}

/* Refuses `#pragma comment(option, ...)`, because libtcc exits on some options. */
static void check_pragma(scan *this, const tj_tokens *raw, size_t at)
{
    size_t end = tj_tokens_behind_line(raw, at);
    if (!tj_token_at(raw, at + 1, "pragma") || !tj_token_at(raw, at + 2, "comment"))
        return;
    for (size_t i = at + 3; i < end; i++)
        if (tj_token_at(raw, i, "option"))
            refuse_token(this, &raw->items[i], "#pragma comment(option, ...) is not supported");
}

/* Refuses `#include "/dev/zero"`: libtcc would read for ever. */
static void check_include(scan *this, const tj_tokens *raw, size_t at)
{
    tj_text path = {0};
    if (!tj_token_at(raw, at + 1, "include") || at + 2 >= raw->count ||
        raw->items[at + 2].kind != TJ_TOKEN_STRING)
        return;
    tj_text_add(&path, raw->items[at + 2].text + 1, raw->items[at + 2].length - 2);
    if (!path.failed && path.data && tj_path_is_endless(path.data))
        refuse_token(this, &raw->items[at + 2], "include file %.*s is no regular file");
    this->messages->failed |= path.failed;
    tj_text_clear(&path);
}

static void check_raw(scan *this, const tj_tokens *raw)
{
    for (size_t i = 0; i < raw->count && !this->refused; i++) {
        check_token(this, raw, i);
        if (tj_token_directs(raw, i)) {
            check_pragma(this, raw, i);
            check_include(this, raw, i);
        }
        /* libtcc ignores _Pragma, and this one affects more than speed. */
        if (tj_token_at(raw, i, "_Pragma") && i + 2 < raw->count &&
            tj_bytes_hold(raw->items[i + 2].text, raw->items[i + 2].length, "pack"))
            refuse_token(this, &raw->items[i], "'%.*s' cannot pack: write #pragma pack");
    }
}

/* ---- the text after macro expansion ---------------------------------------- */

/* Checks the tokens outside all conditions. libtcc reports faults under conditions, because it knows what it skips. */
static void check_unconditional(scan *this, const tj_tokens *tokens)
{
    size_t conditions = 0;
    for (size_t i = 0; i < tokens->count && !this->refused; i++) {
        const tj_token *token = &tokens->items[i];
        conditions += token->kind == TJ_TOKEN_IF;
        conditions -= token->kind == TJ_TOKEN_ENDIF;
        if (conditions > 0)
            continue;
        if (token->word == TJ_THREAD_LOCAL)
            refuse_token(this, token, "'%.*s': thread locals are not supported");
        else if (token->kind == TJ_TOKEN_BAD)
            refuse_token(this, token, token->text);
    }
}

/* Returns true if generated text uses this name with a different meaning in each slice. */
static bool is_generated(const tj_spec *spec, const tj_token *name)
{
    bool found = spec && tj_token_starts(name, "cwj_");
    for (const char *const *prefix = tj_value_prefixes; spec && !found && *prefix; prefix++)
        for (int k = 0; k < spec->noperands && !found; k++)
            found = tj_token_is_joined(name, *prefix, spec->operands[k].name);
    return found;
}

/* Refuses the directive at i if it defines, undefines or pushes a macro with a name of generated text. */
static void check_generated(scan *this, const tj_tokens *raw, size_t i)
{
    bool keeps = tj_token_at(raw, i + 1, "pragma") &&
                 tj_token_among(raw, i + 2, "push_macro pop_macro") && i + 4 < raw->count &&
                 raw->items[i + 4].kind == TJ_TOKEN_STRING;
    if (!keeps && !(tj_token_among(raw, i + 1, "define undef") && tj_token_is_name(raw, i + 2)))
        return;
    tj_token name = raw->items[keeps ? i + 4 : i + 2];
    if (keeps) { /* without the quotes */
        name.text++;
        name.length -= 2;
        name.start++;
        name.end--;
    }
    if (is_generated(this->shared->spec, &name))
        refuse_token(this, &name, "'%.*s' is a name of generated code: a macro needs another one");
}

static void check_words(scan *this, const tj_tokens *raw)
{
    for (size_t i = 0; i < raw->count && !this->refused; i++)
        if (tj_token_directs(raw, i))
            check_generated(this, raw, i);
    for (size_t i = 0; i < raw->count && !this->refused; i++)
        if (tj_token_directs(raw, i) && tj_token_at(raw, i + 1, "define") &&
            tj_token_among(raw, i + 2, TJ_OUR_WORDS) &&
            tj_expander_defines(this->shared->expander, &raw->items[i + 2]))
            refuse_token(this, &raw->items[i + 2],
                         "the macro '%.*s' changes code around this text, too: give it another "
                         "name, or #undef it at the end");
}

/* Returns false if out of memory. */
static bool check_declarations(scan *this, tj_scope scope)
{
    tj_scanner *shared = this->shared;
    shared->declared.includes = tj_expander_includes(shared->expander);
    return tj_typeless_check(&shared->declared, &shared->text, this->piece, scope, this->messages);
}

/* Returns false if out of memory. */
static bool check_text(scan *this, tj_scope scope)
{
    tj_scanner *shared = this->shared;
    tj_expanded *text = &shared->text;
    tj_fault fault = {0};
    tj_expanded_clear(text);
    if (!check_bytes(this))
        return true;
    if (!tj_expand(shared->expander, this->piece, text))
        return false;
    check_raw(this, &text->raw);
    if (!this->refused && text->fault.text)
        refuse(this, text->fault.start, text->fault.end, text->fault.text);
    check_unconditional(this, &text->tokens);
    if (shared->is_part)
        check_words(this, &text->raw);
    if (this->refused)
        return true;
    if (!tj_nesting_check(&text->tokens, false, &fault))
        return false;
    if (fault.text)
        refuse(this, fault.start, fault.end, fault.text);
    return this->refused || check_declarations(this, scope);
}

static tj_status status_of(const tj_messages *messages, size_t before)
{
    return messages->failed ? TJ_NO_MEMORY : messages->count > before ? TJ_COMPILE_FAILED : TJ_OK;
}

tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_scope scope,
                           tj_messages *messages)
{
    scan this = {.shared = scanner, .piece = piece, .messages = messages};
    size_t before = messages->count;
    messages->failed |= !check_text(&this, scope);
    return status_of(messages, before);
}

/* Handles "NAME=VALUE" as a #define. */
static tj_status define(tj_scanner *scanner, const char *macro, tj_messages *messages)
{
    size_t length = strcspn(macro, "=");
    tj_text line = {0};
    tj_status status = TJ_NO_MEMORY;
    tj_text_printf(&line, "#define %.*s %s\n", (int)length, macro,
                   macro[length] ? macro + length + 1 : "1");
    if (!line.failed)
        status = tj_scanner_check(scanner, &(tj_piece){"<define_macros>", line.data, line.length},
                                  TJ_FILE_SCOPE, messages);
    tj_expanded_clear(&scanner->text); /* its text will be freed */
    tj_text_clear(&line);
    return status;
}

tj_scanner *tj_scanner_new(const tj_environment *environment, bool is_part, const tj_spec *spec,
                           tj_messages *messages)
{
    tj_scanner *scanner = tj_alloc_zeroed(1, sizeof *scanner);
    tj_status status = TJ_NO_MEMORY;
    if (scanner) {
        scanner->expander = tj_expander_new();
        scanner->is_part = is_part;
        scanner->spec = spec;
    }
    if (scanner && scanner->expander)
        status = TJ_OK;
    for (char **macro = environment ? environment->define_macros.items : NULL; macro && *macro;
         macro++)
        if (!status)
            status = define(scanner, *macro, messages);
    if (status != TJ_NO_MEMORY)
        return scanner;
    messages->failed = true;
    tj_scanner_free(scanner);
    return NULL;
}

tj_status tj_scan_check(const tj_environment *environment, const tj_piece *piece, bool is_part,
                        tj_messages *messages)
{
    size_t before = messages->count;
    tj_scanner *scanner = tj_scanner_new(environment, is_part, NULL, messages);
    if (scanner && messages->count == before)
        tj_scanner_check(scanner, piece, TJ_FILE_SCOPE, messages);
    tj_scanner_free(scanner);
    return status_of(messages, before);
}

tj_status tj_check_types(const tj_piece *piece, tj_messages *messages)
{
    size_t before = messages->count;
    tj_scanner *scanner = tj_scanner_new(NULL, false, NULL, messages);
    scan this = {.shared = scanner, .piece = piece, .messages = messages};
    if (scanner) {
        scanner->declared.complete = true;
        messages->failed |= !tj_expand(scanner->expander, piece, &scanner->text) ||
                            !check_declarations(&this, TJ_FILE_SCOPE);
    }
    tj_scanner_free(scanner);
    return status_of(messages, before);
}
