/* lexer.c: splits C text into tokens (lexer.h).
 *
 * All bytes are read by peek(), which skips line continuations, so that other functions need not handle them.
 * Tokens point into the text; only those that span lines are copied. */
#include <string.h>

#include "read/lexer.h"

void tj_lexer_init(tj_lexer *lexer, const char *text, size_t length)
{
    length = length > UINT32_MAX ? UINT32_MAX : length;
    *lexer = (tj_lexer){.text = text, .length = text ? length : 0, .line_start = true};
}

void tj_lexer_clear(tj_lexer *lexer)
{
    if (lexer)
        tj_text_clear(&lexer->spelling);
}

static bool is_letter(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte == '$' || byte >= 0x80;
}

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

bool tj_is_name_byte(char byte)
{
    return is_letter((unsigned char)byte) || is_digit(byte);
}

/* Returns the offset after any line continuations at `at`. */
static size_t skip_continuations(const tj_lexer *lexer, size_t at)
{
    const char *text = lexer->text;
    size_t length = lexer->length;
    while (at < length && text[at] == '\\') {
        if (at + 1 < length && text[at + 1] == '\n')
            at += 2;
        else if (at + 2 < length && text[at + 1] == '\r' && text[at + 2] == '\n')
            at += 3;
        else
            break;
    }
    return at;
}

/* Returns the next byte, or -1 at the end; moves *at to it. */
static int peek(const tj_lexer *lexer, size_t *at)
{
    *at = skip_continuations(lexer, *at);
    return *at < lexer->length ? (unsigned char)lexer->text[*at] : -1;
}

static int peek_second(const tj_lexer *lexer, size_t at)
{
    at++;
    return peek(lexer, &at);
}

/* Moves past a comment. Returns false if it is not closed. */
static bool skip_comment(tj_lexer *lexer, bool block)
{
    size_t at = lexer->at + 1; /* at or before the second byte of the opening */
    (void)peek(lexer, &at);
    at++;
    for (;;) {
        int byte = peek(lexer, &at);
        if (byte < 0 || (!block && byte == '\n')) {
            lexer->at = at;
            return !block;
        }
        if (block && byte == '*' && peek_second(lexer, at) == '/') {
            at++;
            (void)peek(lexer, &at);
            lexer->at = at + 1;
            return true;
        }
        at++;
    }
}

/* Moves past white space and comments, or, if comments are tokens, to the end of one comment. Returns false
 * at an unterminated comment; *start is the offset of the text that was found. */
static bool skip_space(tj_lexer *lexer, size_t *start)
{
    for (;;) {
        int byte = peek(lexer, &lexer->at);
        int second = byte == '/' ? peek_second(lexer, lexer->at) : 0;
        *start = lexer->at;
        if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f')
            lexer->at++;
        else if (second != '/' && second != '*')
            return true;
        else if (!skip_comment(lexer, second == '*'))
            return false;
        else if (lexer->comments)
            return true;
    }
}

/* Returns the end of a string or character constant that begins at `at`, or 0 if it does not end on its line. */
static size_t quoted_end(const tj_lexer *lexer, size_t at, int quote)
{
    for (at++;; at++) {
        int byte = peek(lexer, &at);
        if (byte < 0 || byte == '\n')
            return 0;
        if (byte == quote)
            return at + 1;
        if (byte == '\\') {
            at++;
            if (peek(lexer, &at) < 0)
                return 0;
        }
    }
}

/* Returns the end of a name, or of a preprocessing number: letters, digits, dots, and signs after e and p. */
static size_t word_end(const tj_lexer *lexer, size_t at, bool number)
{
    size_t end = at;
    int before = 0;
    for (;; at++) {
        int byte = peek(lexer, &at);
        bool sign = (byte == '+' || byte == '-') &&
                    (before == 'e' || before == 'E' || before == 'p' || before == 'P');
        if (!is_letter(byte) && !is_digit(byte) && !(number && (byte == '.' || sign)))
            return end;
        before = byte;
        end = at + 1;
    }
}

static size_t punctuator_end(const tj_lexer *lexer, size_t at)
{
    static const char *const longer[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>",
                                         "<=",  ">=",  "==",  "!=", "&&", "||", "*=", "/=",
                                         "%=",  "+=",  "-=",  "&=", "^=", "|=", "##"};
    char bytes[3] = {0, 0, 0};
    size_t ends[3] = {0, 0, 0};
    size_t next = at;
    for (int i = 0; i < 3; i++) {
        int byte = peek(lexer, &next);
        bytes[i] = (char)(byte < 0 ? 0 : byte);
        ends[i] = ++next;
        if (i == 1 && (!bytes[1] || !strchr("=<>&|+-.#", bytes[1])))
            return ends[0]; /* no longer punctuator matches */
    }
    for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++) {
        size_t length = strlen(longer[i]);
        if (!memcmp(bytes, longer[i], length))
            return ends[length - 1];
    }
    return ends[0];
}

static tj_token bad_token(const tj_lexer *lexer, tj_token token, tj_token_kind kind,
                          const char *fault)
{
    token.kind = kind;
    token.text = fault;
    token.end = lexer->at;
    return token;
}

/* Sets the kind and the end of the token at lexer->at, which is neither white space nor the end. */
static void measure_token(tj_lexer *lexer, tj_token *token)
{
    size_t second_at = lexer->at + 1;
    int byte = (unsigned char)lexer->text[lexer->at];
    if (is_letter(byte)) {
        token->kind = TJ_TOKEN_NAME;
        token->end = word_end(lexer, lexer->at, false);
    } else if (is_digit(byte) || (byte == '.' && is_digit(peek(lexer, &second_at)))) {
        token->kind = TJ_TOKEN_NUMBER;
        token->end = word_end(lexer, lexer->at, true);
    } else if (byte == '"' || byte == '\'') {
        token->kind = byte == '"' ? TJ_TOKEN_STRING : TJ_TOKEN_CHARACTER;
        token->end = quoted_end(lexer, lexer->at, byte);
    } else {
        token->kind = TJ_TOKEN_PUNCTUATOR;
        token->end = punctuator_end(lexer, lexer->at);
    }
}

/* Sets the token's text to its spelling. */
static void spell_token(tj_lexer *lexer, tj_token *token)
{
    token->text = lexer->text + token->start;
    token->length = token->end - token->start;
    if (!memchr(token->text, '\\', token->length))
        return;
    lexer->spelling.length = 0;
    for (size_t at = token->start; at < token->end; at++) {
        at = skip_continuations(lexer, at);
        if (at < token->end)
            tj_text_add(&lexer->spelling, lexer->text + at, 1);
    }
    token->text = lexer->spelling.data ? lexer->spelling.data : "";
    token->length = lexer->spelling.length;
}

tj_token tj_lexer_next(tj_lexer *lexer)
{
    tj_token token = {.kind = TJ_TOKEN_END, .text = "", .first = lexer->line_start};
    size_t before = lexer->at;
    size_t start;
    bool terminated = skip_space(lexer, &start);
    token.start = start;
    token.spaced = lexer->at > before;
    token.end = lexer->at;
    if (!terminated || start < lexer->at)
        return bad_token(lexer, token, TJ_TOKEN_COMMENT, "this comment does not end");
    if (lexer->at >= lexer->length)
        return token;
    if (lexer->text[lexer->at] == '\n') {
        token.kind = TJ_TOKEN_NEWLINE;
        token.end = ++lexer->at;
        lexer->line_start = true;
        return token;
    }
    lexer->line_start = false;
    measure_token(lexer, &token);
    if (!token.end) {
        const char *fault = token.kind == TJ_TOKEN_STRING
                                ? "this string does not end on its line"
                                : "this character constant does not end on its line";
        lexer->at++;
        return bad_token(lexer, token, TJ_TOKEN_BAD, fault);
    }
    lexer->at = token.end;
    spell_token(lexer, &token);
    return token;
}

bool tj_read_tokens(const char *text, size_t length, tj_visit_token *visit, void *ctx)
{
    static const char *const kinds[] = {
        [TJ_TOKEN_NAME] = "word",       [TJ_TOKEN_NUMBER] = "number",
        [TJ_TOKEN_STRING] = "string",   [TJ_TOKEN_CHARACTER] = "string",
        [TJ_TOKEN_PUNCTUATOR] = "mark", [TJ_TOKEN_BAD] = "mark",
        [TJ_TOKEN_COMMENT] = "comment",
    };
    bool directive = false, complete = true;
    tj_lexer lexer;
    tj_lexer_init(&lexer, text, length);
    lexer.comments = true;
    for (tj_token token = {.kind = TJ_TOKEN_NEWLINE}; complete && token.kind != TJ_TOKEN_END;) {
        token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_COMMENT || token.kind == TJ_TOKEN_BAD)
            spell_token(&lexer, &token); /* so far its text is an error message */
        bool ends = token.kind == TJ_TOKEN_NEWLINE || token.kind == TJ_TOKEN_END;
        bool begins = !ends && token.first && tj_token_is(&token, "#");
        const char *kind = begins ? "#" : ends ? "end" : kinds[token.kind];
        if (!ends || directive)
            complete = visit(ctx, kind, token.text, token.length, token.start, token.end);
        directive = begins || (directive && !ends);
    }
    complete = complete && !lexer.spelling.failed;
    tj_lexer_clear(&lexer);
    return complete;
}
