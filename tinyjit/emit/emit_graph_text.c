/* emit_graph_text.c: writes a graph's C text line by line: generated lines, and the user's texts between them
 * (emit_graph.h).
 *
 * A user's text has separate lines, its own line numbers, and is unchanged except for indentation. Before a
 * text is written into a block, confine.c reads it again, to find its labels and arrays that a failure code
 * must not jump over. */
#include <stdarg.h>
#include <string.h>

#include "emit/emit_graph.h"
#include "read/lexer.h"

enum {
    DEEPEST_INDENTATION = 10 /* else the text would grow with the square of the number of nodes */
};

/* ---- lines ------------------------------------------------------------------- */

void tj_graph_indent(tj_graph_emitter *this)
{
    int depth = this->depth < DEEPEST_INDENTATION ? this->depth : DEEPEST_INDENTATION;
    static const char blanks[] = "                                        ";
    _Static_assert(sizeof blanks - 1 == 4 * DEEPEST_INDENTATION, "as deep as that");
    tj_text_add(this->out, blanks, 4 * (size_t)depth);
}

void tj_graph_line(tj_graph_emitter *this, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tj_graph_indent(this);
    tj_text_vprintf(this->out, format, arguments);
    tj_text_puts(this->out, "\n");
    va_end(arguments);
}

/* Appends words from outside, changed so that they cannot end the comment. */
void tj_graph_words(tj_text *out, const char *words)
{
    for (const char *at = words ? words : ""; *at; at++) {
        bool blank = (unsigned char)*at < ' ' || (*at == '/' && at > words && at[-1] == '*') ||
                     (*at == '*' && at > words && at[-1] == '/') || *at == '\\';
        tj_text_add(out, blank ? " " : at, 1);
    }
}

void tj_graph_comment(tj_graph_emitter *this, int block, const char *label, const char *what)
{
    tj_text_puts(this->out, "/* ");
    if (block)
        tj_text_printf(this->out, "block %d, ", block);
    tj_graph_words(this->out, label);
    tj_text_printf(this->out, "%s%s */\n", *what ? ": " : "", what);
}

/* ---- the user's texts ---------------------------------------------------------- */

/* Returns true if the test is true for some token of the text. */
static bool has_token(const tj_piece *piece,
                      bool (*is_wanted)(const tj_token *token, const char *const *parts),
                      const char *const *parts)
{
    bool found = false;
    tj_lexer lexer;
    tj_token token;
    tj_lexer_init(&lexer, piece->text, piece->length);
    do {
        token = tj_lexer_next(&lexer);
        found = is_wanted(&token, parts);
    } while (!found && token.kind != TJ_TOKEN_END);
    tj_lexer_clear(&lexer);
    return found;
}

static bool is_something(const tj_token *token, const char *const *parts)
{
    (void)parts;
    return token->kind != TJ_TOKEN_NEWLINE && token->kind != TJ_TOKEN_END;
}

bool tj_piece_is_empty(const tj_piece *piece)
{
    return !has_token(piece, is_something, NULL);
}

typedef struct line_span {
    const char *start;
    size_t length; /* without blanks at its end */
    size_t blanks; /* number of blanks at its start */
} line_span;

/* Returns the line at `at`; sets *next to the beginning of the next line, or NULL. */
static line_span line_at(const char *at, const char *end, const char **next)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end;
    *next = newline ? newline + 1 : NULL;
    while (stop > at && strchr(" \t\r\f\v", stop[-1]))
        stop--;
    line_span line = {at, (size_t)(stop - at), 0};
    while (line.blanks < line.length && (at[line.blanks] == ' ' || at[line.blanks] == '\t'))
        line.blanks++;
    return line;
}

/* Returns the common indentation of the lines. *first is the number of the first line that is not blank,
 * *behind is one more than the number of the last. */
static size_t measure(const tj_piece *piece, int *first, int *behind)
{
    size_t least = piece->length;
    const char *end = piece->text + piece->length, *next = piece->text;
    *first = *behind = 0;
    for (int n = 1; next; n++) {
        line_span line = line_at(next, end, &next);
        if (!line.length)
            continue;
        if (!*first)
            *first = n;
        *behind = n + 1;
        if (line.blanks < least)
            least = line.blanks;
    }
    return least;
}

/* Returns true if the text must keep its indentation: backslashes join its lines, or it contains #line directives. */
static bool keeps_lines(const tj_piece *piece)
{
    if (tj_bytes_hold(piece->text, piece->length, "\n#line "))
        return true;
    for (size_t i = 0; i + 1 < piece->length; i++)
        if (piece->text[i] == '\\' && (piece->text[i + 1] == '\n' || piece->text[i + 1] == '\r'))
            return true;
    return false;
}

static void add_lines(tj_graph_emitter *this, const tj_piece *piece, int first, int behind,
                      size_t shift)
{
    const char *end = piece->text + piece->length, *next = piece->text;
    for (int n = 1; next && n < behind; n++) {
        line_span line = line_at(next, end, &next);
        if (n < first)
            continue;
        if (line.length) {
            tj_graph_indent(this);
            tj_text_add(this->out, line.start + shift, line.length - shift);
        }
        tj_text_puts(this->out, "\n");
    }
}

/* Writes the text without returning to the line numbers of the generated text. */
void tj_graph_numbered(tj_graph_emitter *this, const tj_piece *piece)
{
    int first, behind;
    if (tj_piece_is_empty(piece))
        return;
    size_t shift = measure(piece, &first, &behind);
    if (keeps_lines(piece)) {
        tj_text_line(this->out, 1, piece->file);
        tj_text_add(this->out, piece->text, piece->length);
        tj_text_puts(this->out, "\n");
    } else {
        tj_text_line(this->out, first ? (size_t)first : 1, piece->file);
        add_lines(this, piece, first, behind, shift);
    }
}

/* Returns true if the last token of the text ends a statement or a declaration. If not, something is written after it
 * under the text's name, so that an unfinished `if (x)` or a missing semicolon is an error in the text itself. */
static bool is_complete(const tj_piece *piece)
{
    bool complete = true, directive = false;
    tj_lexer lexer;
    tj_lexer_init(&lexer, piece->text, piece->length);
    for (;;) {
        tj_token token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_END)
            break;
        if (token.kind == TJ_TOKEN_NEWLINE)
            continue;
        if (token.first)
            directive = tj_token_is(&token, "#");
        complete = !directive && (tj_token_is(&token, ";") || tj_token_is(&token, "}"));
    }
    tj_lexer_clear(&lexer);
    return complete;
}

/* Emits the end of a text. The compiler reports a missing token there, in the text's last line. */
static void add_end(tj_graph_emitter *this, const tj_piece *piece, const char *end, bool always)
{
    int first, behind;
    bool complete = is_complete(piece);
    measure(piece, &first, &behind);
    if (!complete)
        tj_text_line(this->out, (size_t)behind - 1, piece->file);
    if (!complete || always)
        tj_graph_line(this, "%s", end);
    tj_emit_own_line(&this->lines);
}

void tj_graph_piece(tj_graph_emitter *this, const tj_piece *piece)
{
    if (tj_piece_is_empty(piece))
        return;
    tj_graph_numbered(this, piece);
    add_end(this, piece, "_Static_assert(1, \"\");", false);
}

/* ---- checks of a text -------------------------------------------------------- */

static bool is_host_name(const tj_token *token, const char *const *parts)
{
    const char *name = token->text;
    (void)parts;
    return token->kind == TJ_TOKEN_NAME && ((token->length > 2 && !memcmp(name, "Py", 2)) ||
                                            (token->length > 3 && !memcmp(name, "_Py", 3)) ||
                                            (token->length > 4 && !memcmp(name, "cwj_", 4)));
}

/* Returns true if the text names something that may raise. */
bool tj_piece_may_raise(const tj_piece *piece)
{
    return has_token(piece, is_host_name, NULL);
}

static bool may_name(const tj_token *token, const char *const *parts)
{
    return tj_token_is(token, "##") ||
           (token->kind == TJ_TOKEN_NAME && tj_token_is_joined(token, parts[0], parts[1]));
}

bool tj_piece_names(const tj_piece *piece, const char *prefix, const char *name)
{
    return has_token(piece, may_name, (const char *const[]){prefix, name});
}

bool tj_graph_names(const tj_graph_emitter *this, const char *prefix, const char *name)
{
    return tj_names_may_paste(this->names) || tj_names_have_joined(this->names, prefix, name);
}

void tj_graph_test(tj_graph_emitter *this, const tj_piece *piece, int block)
{
    if (!tj_piece_is_empty(piece) && (this->raises || tj_piece_may_raise(piece)))
        tj_graph_line(this, "if (PyErr_Occurred()) {failure = %d; goto label_%d;}", block, block);
}

void tj_graph_hide_return(tj_graph_emitter *this, bool hide)
{
    tj_text_puts(this->out,
                 hide ? "/* A macro of some header may hide a return: here none compiles. */\n"
                        "#define return ({ _Static_assert(0, \"a return here would skip the "
                        "cleanup\"); })\n"
                      : "#undef return\n");
}

void tj_graph_read(tj_graph_emitter *this, const tj_graph_text *text, tj_confined *confined)
{
    tj_expanded expanded;
    if (!tj_expand(this->expander, text->piece, &expanded) ||
        !tj_confine(&expanded, text, confined, &this->unsaid))
        this->out->failed = true;
    tj_expanded_clear(&expanded);
}

/* Refuses variable-length arrays after a failure code, because C cannot jump over their declarations. Only
 * the compiler knows which sizes are constant, so it makes the test, in the line of the text. */
static void test_arrays(tj_graph_emitter *this, const tj_graph_text *text,
                        const tj_confined *confined)
{
    for (size_t i = 0; i < confined->arrays.count; i++) {
        const char *name = confined->arrays.items[i];
        tj_text_line(this->out, (size_t)confined->lines[i], text->piece->file);
        tj_graph_line(this,
                      "_Static_assert(__builtin_constant_p(sizeof(%s)), \"'%s': an array of "
                      "variable length behind a failure code, which would jump over it: declare "
                      "it in front of that, or in braces of its own\");",
                      name, name);
    }
}

/* Writes a text of a block, under its own line numbers. */
static void add_text(tj_graph_emitter *this, const tj_graph_text *text)
{
    tj_confined confined = {0};
    tj_graph_read(this, text, &confined);
    for (size_t i = 0; i < confined.labels.count; i++)
        tj_graph_line(this, "__label__ %s;", confined.labels.items[i]);
    tj_graph_numbered(this, text->piece);
    test_arrays(this, text, &confined);
    tj_confined_clear(&confined);
}

void tj_graph_shared(tj_graph_emitter *this, const tj_graph_text *text)
{
    if (tj_piece_is_empty(text->piece))
        return;
    add_text(this, text);
    add_end(this, text->piece, "{}", false);
}

void tj_graph_braced(tj_graph_emitter *this, const tj_graph_text *text)
{
    if (tj_piece_is_empty(text->piece))
        return;
    tj_graph_line(this, "{");
    this->depth++;
    add_text(this, text);
    this->depth--;
    add_end(this, text->piece, "}", true);
}
