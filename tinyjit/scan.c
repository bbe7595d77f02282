/* scan.c: what libtcc must not see.
 *
 * libtcc ends the process when its stack or memory is used up, and some inputs
 * make it hang or exit outright. All of that is refused here, before it sees a
 * text, together with what would let a snippet reach out of the function that
 * it becomes the body of: brackets that do not match, a comment without end.
 *
 * Conditions are not evaluated, except `#if 0` and `#if 1`. After #else the
 * brackets are as they were at #if, and behind #endif they are as after that
 * way of the two that leaves more of them open: text that is right for some
 * macros passes, text that closes too much for all of them does not.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "nesting.h"

enum {
    MAX_CONDITIONS = 64
}; /* as libtcc */

struct tj_scanner {
    tj_macros *macros; /* owned */
    bool pastes;       /* ## was seen */
    bool slashes;      /* a lone / as a macro's argument or body */
    bool assembles;    /* asm was seen */
    bool repeats;      /* a string with a directive that repeats was seen */
    bool widens;       /* a wide string was seen */
    bool joins;        /* strings side by side, perhaps by a macro, were seen */
};

/* An #if that is open. */
typedef struct condition {
    tj_nesting start; /* owned: at the #if */
    tj_nesting best;  /* owned: after the ways so far; no levels: none yet */
    size_t offset;
    bool has_else;
    bool skips;   /* the way at hand is not compiled, to be seen from its 0 */
    bool decided; /* by a 1: what follows is not compiled */
} condition;

/* The scan of one piece. */
typedef struct scan {
    tj_scanner *shared;
    const tj_piece *piece;
    tj_messages *messages;
    tj_lexer lexer;
    tj_nesting nesting;
    condition conditions[MAX_CONDITIONS];
    size_t nconditions;
    char previous; /* of the last token: its first byte, '#' for ##, 0 for others */
    bool after_string; /* the last token is one */
    bool after_prefix; /* ... is a name that makes a string wide */
    bool after_name;   /* ... is another name, perhaps a macro's */
    bool failed;
} scan;

/* The macros with parameters that every unit begins with; the others are small.
 * The prelude has no comments and nothing in front of a #. */
static bool define_prelude(tj_macros *macros)
{
    static const char define[] = "\n#define ";
    const char *at = tj_prelude();
    bool fine = true;
    while (fine && (at = strstr(at, define)) != NULL) {
        const char *name = at + sizeof(define) - 1;
        const char *end = name;
        while (*end && (*end != '\n' || end[-1] == '\\'))
            end++;
        if (name[strcspn(name, " (\n")] == '(')
            fine = tj_macros_define(macros, name, (size_t)(end - name));
        at = end;
    }
    return fine;
}

tj_scanner *tj_scanner_new(void)
{
    tj_scanner *scanner = tj_alloc_zeroed(1, sizeof(tj_scanner));
    if (!scanner)
        return NULL;
    scanner->macros = tj_macros_new();
    if (!scanner->macros || !define_prelude(scanner->macros)) {
        tj_scanner_free(scanner);
        return NULL;
    }
    return scanner;
}

void tj_scanner_free(tj_scanner *scanner)
{
    if (!scanner)
        return;
    tj_macros_free(scanner->macros);
    tj_free(scanner);
}

/* ---- messages -------------------------------------------------------------- */

void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *text)
{
    int line, column;
    size_t count = messages->count;
    tj_text_place(piece->text, piece->length, start, &line, &column);
    tj_messages_add(messages, true, piece->file, line, text);
    if (messages->failed || messages->count == count)
        return;
    tj_message *message = &messages->items[count];
    size_t first = start - (size_t)(column - 1), last = start;
    while (last < piece->length && piece->text[last] != '\n')
        last++;
    message->source = tj_copy_bytes(piece->text + first, last - first);
    messages->failed |= !message->source;
    message->column = column;
    message->end_column = end > start && end <= last ? column + (int)(end - start) : column + 1;
}

static void refuse(scan *this, size_t start, size_t end, const char *text)
{
    this->failed = true;
    tj_messages_add_at(this->messages, this->piece, start, end, text);
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

/* ---- single tokens --------------------------------------------------------- */

static bool is_one_of(const tj_token *token, const char *const *words)
{
    for (; *words; words++)
        if (tj_token_is(token, *words))
            return true;
    return false;
}

/* Under a condition it may not be compiled: then libtcc has to say it. */
static void check_thread_local(scan *this, const tj_token *token)
{
    static const char *const words[] = {"_Thread_local", "__thread", "thread_local", NULL};
    if (!this->nconditions && token->kind == TJ_TOKEN_NAME && is_one_of(token, words))
        refuse_word(this, token, "thread locals are not supported");
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

/* A / next to what ends an argument or a body: ## might make // of two. */
static bool is_lone_slash(char previous, const tj_token *token)
{
    bool slash = tj_token_is(token, "/");
    bool end = token->kind == TJ_TOKEN_NEWLINE || token->kind == TJ_TOKEN_END ||
               tj_token_is(token, ",") || tj_token_is(token, ")") || tj_token_is(token, "##");
    return (slash && (previous == '(' || previous == ',' || previous == '#')) ||
           (previous == '/' && end);
}

/* libtcc writes past its memory when it joins strings of different widths. A
 * macro can bring them together, so both anywhere is what is looked for. */
static void check_string(scan *this, const tj_token *token)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8", NULL};
    static const char *const stand_before[] = {"return", "sizeof", "else", "do", "include", NULL};
    tj_scanner *shared = this->shared;
    bool dangerous = shared->widens && shared->joins;
    bool is_string = token->kind == TJ_TOKEN_STRING, is_name = token->kind == TJ_TOKEN_NAME;
    if (token->kind == TJ_TOKEN_NEWLINE)
        return;
    if (is_string && this->after_prefix)
        shared->widens = true;
    if ((is_string && (this->after_string || this->after_name)) || (is_name && this->after_string))
        shared->joins = true;
    if (!dangerous && shared->widens && shared->joins)
        refuse_token(this, token,
                     "wide strings together with strings that are joined are not "
                     "supported");
    this->after_string = is_string;
    this->after_prefix = is_name && is_one_of(token, prefixes);
    this->after_name = is_name && !this->after_prefix && !is_one_of(token, stand_before);
}

static void check_token(scan *this, const tj_token *token)
{
    check_string(this, token);
    static const char *const assemblers[] = {"asm", "__asm", "__asm__", NULL};
    tj_scanner *shared = this->shared;
    bool dangerous = (shared->pastes && shared->slashes) || (shared->assembles && shared->repeats);
    if (token->kind == TJ_TOKEN_NAME)
        shared->assembles |= is_one_of(token, assemblers);
    else if (token->kind == TJ_TOKEN_STRING && has_repeating_directive(token))
        shared->repeats = true;
    else if (tj_token_is(token, "##"))
        shared->pastes = true;
    if (is_lone_slash(this->previous, token))
        shared->slashes = true;
    if (!dangerous && shared->pastes && shared->slashes)
        refuse_token(this, token, "'/' as a macro's argument together with ## is not supported");
    if (!dangerous && shared->assembles && shared->repeats)
        refuse_token(this, token, "directives that repeat or fill are not supported in asm");
    this->previous = token->kind != TJ_TOKEN_PUNCTUATOR ? '\0'
                     : token->length == 1               ? token->text[0]
                     : tj_token_is(token, "##")         ? '#'
                                                        : '\0';
}

/* ---- conditions ------------------------------------------------------------ */

static bool is_skipped(const scan *this)
{
    for (size_t i = 0; i < this->nconditions; i++)
        if (this->conditions[i].skips)
            return true;
    return false;
}

static void clear_condition(condition *this)
{
    tj_nesting_clear(&this->start);
    tj_nesting_clear(&this->best);
}

static void open_condition(scan *this, size_t offset, char value)
{
    if (this->nconditions == MAX_CONDITIONS) {
        refuse(this, offset, offset, "nested too deeply: more than 64 #if are open");
        return;
    }
    condition *new = &this->conditions[this->nconditions++];
    *new = (condition){.offset = offset, .skips = value == '0', .decided = value == '1'};
    if (!tj_nesting_copy(&new->start, &this->nesting))
        this->messages->failed = true;
}

/* One way through the condition ends here. */
static void end_way(scan *this, condition *open)
{
    if (open->skips)
        return;
    bool fine = open->best.levels ? tj_nesting_join(&open->best, &this->nesting)
                                  : tj_nesting_copy(&open->best, &this->nesting);
    if (!fine)
        this->messages->failed = true;
}

static void restart_nesting(scan *this, const tj_nesting *from)
{
    tj_nesting copy;
    if (!tj_nesting_copy(&copy, from)) {
        this->messages->failed = true;
        return;
    }
    copy.is_loose |= this->nesting.is_loose;
    tj_nesting_clear(&this->nesting);
    this->nesting = copy;
}

static void next_way(scan *this, const tj_token *token, bool is_else, char value)
{
    condition *open = this->nconditions ? &this->conditions[this->nconditions - 1] : NULL;
    if (!open || open->has_else) {
        refuse_token(this, token, open ? "behind #else" : "without #if");
        return;
    }
    end_way(this, open);
    restart_nesting(this, &open->start);
    open->has_else = is_else;
    open->skips = open->decided || value == '0';
    open->decided |= value == '1';
}

static void close_condition(scan *this, const tj_token *token)
{
    condition *open = this->nconditions ? &this->conditions[this->nconditions - 1] : NULL;
    if (!open) {
        refuse_token(this, token, "#endif without #if");
        return;
    }
    end_way(this, open);
    if (!open->has_else && !open->decided) { /* or none of the ways */
        restart_nesting(this, &open->start);
        open->skips = false;
        end_way(this, open);
    }
    restart_nesting(this, open->best.levels ? &open->best : &open->start);
    clear_condition(open);
    this->nconditions--;
}

/* ---- directives ------------------------------------------------------------ */

static tj_token next_token(scan *this)
{
    tj_token token = tj_lexer_next(&this->lexer);
    if (this->lexer.spelling.failed)
        this->messages->failed = true;
    check_token(this, &token);
    if (token.kind == TJ_TOKEN_COMMENT)
        refuse_token(this, &token, this->lexer.fault);
    return token;
}

static bool ends_line(const tj_token *token)
{
    return token->kind == TJ_TOKEN_NEWLINE || token->kind == TJ_TOKEN_END;
}

/* Reads the rest of a directive's line. Returns where it ends. */
static size_t skip_line(scan *this)
{
    for (;;) {
        tj_token token = next_token(this);
        if (ends_line(&token))
            return token.start;
    }
}

/* The expression of #if: '0' and '1' for these alone, else '?'. */
static char read_condition(scan *this, bool is_expression)
{
    tj_nesting nesting = {0};
    char value = '\0';
    const char *fault = tj_nesting_begin(&nesting, true) ? NULL : "out of memory";
    for (;;) {
        tj_token token = next_token(this);
        if (ends_line(&token))
            break;
        bool single = !value && token.length == 1 && (*token.text == '0' || *token.text == '1');
        value = single ? *token.text : '?';
        if (fault || !is_expression || token.kind > TJ_TOKEN_PUNCTUATOR)
            continue;
        fault = tj_nesting_token(&nesting, this->shared->macros, &token, false);
        if (fault)
            refuse_token(this, &token, fault);
    }
    if (!fault) {
        fault = tj_nesting_end(&nesting);
        if (fault)
            refuse(this, this->lexer.at, this->lexer.at, fault);
    }
    tj_nesting_clear(&nesting);
    return value;
}

static void read_define(scan *this)
{
    size_t start = this->lexer.at;
    size_t end = skip_line(this);
    if (!is_skipped(this) &&
        !tj_macros_define(this->shared->macros, this->piece->text + start, end - start))
        this->messages->failed = true;
}

static void read_undef(scan *this)
{
    tj_token token = next_token(this);
    char *name = token.kind == TJ_TOKEN_NAME ? tj_copy_bytes(token.text, token.length) : NULL;
    if (name && !is_skipped(this))
        tj_macros_undefine(this->shared->macros, name);
    tj_free(name);
    if (!ends_line(&token))
        skip_line(this);
}

/* libtcc exits on some of the options that `#pragma comment(option, ...)` gives. */
static void read_pragma(scan *this)
{
    tj_token token = next_token(this);
    bool is_comment = tj_token_is(&token, "comment");
    while (!ends_line(&token)) {
        token = next_token(this);
        if (is_comment && tj_token_is(&token, "option"))
            refuse_token(this, &token, "#pragma comment(option, ...) is not supported");
    }
}

/* One of #if ... #endif. False for other directives. */
static bool read_conditional(scan *this, const tj_token *token)
{
    bool is_if = tj_token_is(token, "if"), is_elif = tj_token_is(token, "elif");
    bool is_ifdef = tj_token_is(token, "ifdef") || tj_token_is(token, "ifndef");
    bool is_else = tj_token_is(token, "else"), is_endif = tj_token_is(token, "endif");
    if (!is_if && !is_elif && !is_ifdef && !is_else && !is_endif)
        return false;
    char value = read_condition(this, is_if || is_elif);
    if (this->failed)
        return true;
    if (is_if || is_ifdef)
        open_condition(this, token->start, is_if ? value : '?');
    else if (is_endif)
        close_condition(this, token);
    else
        next_way(this, token, is_else, is_elif ? value : '?');
    return true;
}

/* Behind the # that begins a line. */
static void read_directive(scan *this)
{
    tj_token token = next_token(this);
    if (ends_line(&token) || read_conditional(this, &token))
        return;
    if (tj_token_is(&token, "define"))
        read_define(this);
    else if (tj_token_is(&token, "undef"))
        read_undef(this);
    else if (tj_token_is(&token, "pragma"))
        read_pragma(this);
    else
        skip_line(this);
}

/* ---- the text -------------------------------------------------------------- */

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

static void read_tokens(scan *this)
{
    while (!this->failed && !this->messages->failed) {
        tj_token token = next_token(this);
        if (token.kind == TJ_TOKEN_END || this->failed)
            return;
        if (token.kind == TJ_TOKEN_PUNCTUATOR && token.first && tj_token_is(&token, "#")) {
            read_directive(this);
            continue;
        }
        check_thread_local(this, &token);
        if (token.kind == TJ_TOKEN_BAD && !this->nconditions) /* else it may not be compiled */
            refuse_token(this, &token, this->lexer.fault);
        if (token.kind == TJ_TOKEN_BAD || token.kind == TJ_TOKEN_NEWLINE || is_skipped(this))
            continue;
        const char *fault = tj_nesting_token(&this->nesting, this->shared->macros, &token, false);
        if (fault)
            refuse_token(this, &token, fault);
    }
}

static void check_end(scan *this)
{
    if (this->nconditions) {
        size_t offset = this->conditions[this->nconditions - 1].offset;
        refuse(this, offset, offset, "#if without #endif");
        return;
    }
    const char *fault = tj_nesting_settle(&this->nesting);
    if (!fault && this->nesting.count > 1 && !this->nesting.is_loose) {
        const tj_level *open = &this->nesting.levels[this->nesting.count - 1];
        const char *text = open->bracket == '('   ? "'(' is not closed"
                           : open->bracket == '[' ? "'[' is not closed"
                           : open->bracket == '{' ? "'{' is not closed"
                                                  : "this macro opens a bracket that is not closed";
        refuse(this, open->offset, open->offset + 1, text);
        return;
    }
    if (!fault)
        fault = tj_nesting_end(&this->nesting);
    if (fault)
        refuse(this, this->piece->length, this->piece->length, fault);
}

tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_messages *messages)
{
    scan *this = tj_alloc_zeroed(1, sizeof(scan));
    if (!this || !tj_nesting_begin(&this->nesting, false)) {
        tj_free(this);
        messages->failed = true;
        return TJ_NO_MEMORY;
    }
    this->shared = scanner;
    this->piece = piece;
    this->messages = messages;
    tj_lexer_init(&this->lexer, piece->text, piece->length);
    bool read = check_bytes(this);
    if (read)
        read_tokens(this);
    if (read && !this->failed && !messages->failed)
        check_end(this);
    bool refused = this->failed || !read;
    for (size_t i = 0; i < this->nconditions; i++)
        clear_condition(&this->conditions[i]);
    tj_nesting_clear(&this->nesting);
    tj_lexer_clear(&this->lexer);
    tj_free(this);
    return messages->failed ? TJ_NO_MEMORY : refused ? TJ_COMPILE_FAILED : TJ_OK;
}

tj_status tj_scan_check(const tj_piece *piece, tj_messages *messages)
{
    tj_scanner *scanner = tj_scanner_new();
    tj_status status = TJ_NO_MEMORY;
    if (scanner)
        status = tj_scanner_check(scanner, piece, messages);
    else
        messages->failed = true;
    tj_scanner_free(scanner);
    return status;
}
