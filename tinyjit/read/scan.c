/* scan.c: what libtcc must not see (scan.h).
 *
 * libtcc ends the process when its stack or memory is used up, and some inputs
 * make it hang or exit outright. All of that is refused here, before it sees a
 * text, together with what would let a snippet reach out of the function that
 * it becomes the body of: brackets that do not match, a comment without end.
 *
 * Some of it is seen in the text as it was written, the rest behind its macros
 * (expand.c): depth (nesting.c), and what libtcc takes in silence, declarations without
 * a type (typeless.c) and locals with much alignment (aligned.c).
 */
#include <stdio.h>

#include "read/scan.h"
#include "read/nesting.h"
#include "read/typeless.h"

struct tj_scanner {
    tj_expander *expander;     /* owned */
    tj_typeless *typeless; /* owned */
    tj_expanded text;      /* owned: the last one */
    bool pastes;           /* ## was seen */
    bool slashes;          /* a lone / as a macro's argument or body */
    bool assembles;        /* asm was seen */
    bool repeats;          /* a string with a directive that repeats was seen */
    bool widens;           /* a wide string was seen */
    bool joins;            /* strings side by side, perhaps by a macro, were seen */
};

/* The scan of one piece. */
typedef struct scan {
    tj_scanner *shared;
    const tj_piece *piece;
    tj_messages *messages;
    bool refused;
} scan;

tj_scanner *tj_scanner_new(void)
{
    tj_scanner *scanner = tj_alloc_zeroed(1, sizeof(tj_scanner));
    if (!scanner)
        return NULL;
    scanner->expander = tj_expander_new();
    scanner->typeless = tj_typeless_new();
    if (!scanner->expander || !scanner->typeless) {
        tj_scanner_free(scanner);
        return NULL;
    }
    return scanner;
}

void tj_scanner_free(tj_scanner *scanner)
{
    if (!scanner)
        return;
    tj_expanded_clear(&scanner->text);
    tj_expander_free(scanner->expander);
    tj_typeless_free(scanner->typeless);
    tj_free(scanner);
}

const tj_expanded *tj_scanner_text(const tj_scanner *scanner)
{
    return &scanner->text;
}

/* ---- messages -------------------------------------------------------------- */

/* The first fault is enough. */
static void refuse(scan *this, size_t start, size_t end, const char *text)
{
    if (!this->refused)
        tj_messages_add_at(this->messages, this->piece, start, end, text);
    this->refused = true;
}

static void refuse_token(scan *this, const tj_token *token, const char *text)
{
    refuse(this, token->start, token->end, text);
}

static void refuse_word(scan *this, const tj_token *token, const char *text)
{
    tj_text whole = {0};
    tj_text_printf(&whole, "'%.*s': %s", (int)token->length, token->text, text);
    refuse_token(this, token, whole.failed ? text : whole.data);
    tj_text_clear(&whole);
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

/* Directives of the assembler that make much of little. */
static bool has_repeating_directive(const tj_token *token)
{
    static const char *const words[] = {"rept", "fill", "space", "skip", "org"};
    for (size_t i = 0; i + 4 < token->length; i++)
        for (size_t w = 0; token->text[i] == '.' && w < sizeof(words) / sizeof(*words); w++)
            if (token->length - i - 1 >= strlen(words[w]) &&
                !memcmp(token->text + i + 1, words[w], strlen(words[w])))
                return true;
    return false;
}

/* Token i is a / next to what ends an argument or a body: ## might make // of two. */
static bool is_lone_slash(const tj_tokens *raw, size_t i)
{
    static const char *const before[] = {"(", ",", "##", NULL};
    static const char *const behind[] = {",", ")", "##", NULL};
    if (!tj_token_at(raw, i, "/"))
        return false;
    bool begins = i > 0 && !raw->items[i].first && tj_token_among(raw, i - 1, before);
    bool ends = i + 1 == raw->count || raw->items[i + 1].first;
    return begins || ends || tj_token_among(raw, i + 1, behind);
}

/* libtcc writes past its memory when it joins strings of different widths. A macro can
 * bring them together, so both anywhere is what is looked for. i stands behind another
 * token. */
static void note_strings(tj_scanner *shared, const tj_tokens *raw, size_t i)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8", NULL};
    static const char *const stand_before[] = {"return", "sizeof", "else", "do", "include", NULL};
    bool is_string = raw->items[i].kind == TJ_TOKEN_STRING;
    bool after_string = raw->items[i - 1].kind == TJ_TOKEN_STRING;
    bool after_name = tj_token_is_name(raw, i - 1);
    bool after_prefix = after_name && tj_token_among(raw, i - 1, prefixes);
    after_name = after_name && !after_prefix && !tj_token_among(raw, i - 1, stand_before);
    if (is_string && after_prefix)
        shared->widens = true;
    if ((is_string && (after_string || after_name)) || (tj_token_is_name(raw, i) && after_string))
        shared->joins = true;
}

static bool is_dangerous(const tj_scanner *shared)
{
    return (shared->pastes && shared->slashes) || (shared->assembles && shared->repeats) ||
           (shared->widens && shared->joins);
}

static void check_token(scan *this, const tj_tokens *raw, size_t i)
{
    tj_scanner *shared = this->shared;
    const tj_token *token = &raw->items[i];
    bool was_dangerous = is_dangerous(shared);
    shared->pastes |= tj_token_is(token, "##");
    shared->slashes |= is_lone_slash(raw, i);
    shared->assembles |= tj_token_word(raw, i, TJ_ASSEMBLER);
    shared->repeats |= token->kind == TJ_TOKEN_STRING && has_repeating_directive(token);
    if (i > 0)
        note_strings(shared, raw, i);
    if (token->kind == TJ_TOKEN_COMMENT)
        refuse_token(this, token, token->text);
    if (was_dangerous)
        return; /* that has been said */
    if (shared->pastes && shared->slashes)
        refuse_token(this, token, "'/' as a macro's argument together with ## is not supported");
    if (shared->assembles && shared->repeats)
        refuse_token(this, token, "directives that repeat or fill are not supported in asm");
    if (shared->widens && shared->joins)
        refuse_token(this, token,
                     "wide strings together with strings that are joined are not supported");
}

/* libtcc exits on some of the options that `#pragma comment(option, ...)` gives. */
static void check_pragma(scan *this, const tj_tokens *raw, size_t at)
{
    size_t end = tj_tokens_behind_line(raw, at);
    if (!tj_token_at(raw, at + 1, "pragma") || !tj_token_at(raw, at + 2, "comment"))
        return;
    for (size_t i = at + 3; i < end; i++)
        if (tj_token_at(raw, i, "option"))
            refuse_token(this, &raw->items[i], "#pragma comment(option, ...) is not supported");
}

static void check_raw(scan *this, const tj_tokens *raw)
{
    for (size_t i = 0; i < raw->count && !this->refused; i++) {
        check_token(this, raw, i);
        if (tj_token_directs(raw, i))
            check_pragma(this, raw, i);
    }
}

/* ---- the text behind its macros ------------------------------------------------- */

/* Under a condition it may not be compiled: then libtcc has to say it. */
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
            refuse_word(this, token, "thread locals are not supported");
        else if (token->kind == TJ_TOKEN_BAD)
            refuse_token(this, token, token->text);
    }
}

/* Returns false without memory. */
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
    if (this->refused)
        return true;
    if (!tj_nesting_check(&text->tokens, false, &fault))
        return false;
    if (fault.text)
        refuse(this, fault.start, fault.end, fault.text);
    return this->refused ||
           tj_typeless_check(shared->typeless, text, tj_expander_includes(shared->expander),
                             this->piece, scope, this->messages);
}

tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_scope scope,
                           tj_messages *messages)
{
    scan this = {.shared = scanner, .piece = piece, .messages = messages};
    size_t before = messages->count;
    if (!check_text(&this, scope))
        messages->failed = true;
    return messages->failed ? TJ_NO_MEMORY : messages->count > before ? TJ_COMPILE_FAILED : TJ_OK;
}

/* "NAME=VALUE" as a directive. */
static bool add_definition(const char *macro, tj_text *text)
{
    size_t length = strcspn(macro, "=");
    tj_text_puts(text, "#define ");
    tj_text_add(text, macro, length);
    tj_text_printf(text, " %s\n", macro[length] ? macro + length + 1 : "1");
    return !text->failed;
}

tj_status tj_scanner_define(tj_scanner *scanner, char *const *macros)
{
    tj_text text = {0};
    bool fine = true;
    tj_expanded_clear(&scanner->text);
    for (; macros && *macros && fine; macros++)
        fine = add_definition(*macros, &text);
    if (fine && text.length)
        fine =
            tj_expand(scanner->expander, &(tj_piece){"", text.data, text.length}, &scanner->text);
    tj_expanded_clear(&scanner->text); /* of a text that goes away */
    tj_text_clear(&text);
    return fine ? TJ_OK : TJ_NO_MEMORY;
}

tj_status tj_scan_check(const tj_piece *piece, tj_messages *messages)
{
    tj_scanner *scanner = tj_scanner_new();
    tj_status status = TJ_NO_MEMORY;
    if (scanner)
        status = tj_scanner_check(scanner, piece, TJ_FILE_SCOPE, messages);
    else
        messages->failed = true;
    tj_scanner_free(scanner);
    return status;
}
