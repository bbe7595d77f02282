/* hints.c: adds explanations for beginners to the compiler's messages.
 *
 * libtcc names the token at which it stopped, which often is not the fault. A hint is added only if the text
 * shows the intention. Hints that need only the message and its line are in cwrapjit/_hints.py. */
#include <ctype.h>
#include <limits.h>

#include "emit/emit.h"
#include "read/tokens.h"

/* Names the header of a function of complex numbers or float16. */
static bool hint_header(const tj_message *message, tj_text *hint)
{
    static const char before[] = "implicit declaration of function '";
    const char *quoted = message->text + sizeof before - 1;
    if (strncmp(message->text, before, sizeof before - 1) != 0)
        return false;
    char *name = tj_copy_bytes(quoted, strcspn(quoted, "'"));
    for (int i = 0; name && !hint->length && i < TJ_IMPLIED_HEADERS; i++)
        if (tj_implied_header_has(i, name))
            tj_text_printf(hint, "it is declared in <%s>: the text must include that",
                           tj_implied_header(i));
    tj_free(name);
    return hint->length > 0;
}

/* Returns the number of the last line before `number` that is not blank; 0: there is none. */
static int line_before(const tj_piece *piece, int number, const char **start, size_t *length)
{
    while (--number > 0) {
        tj_stretch line = tj_piece_line(piece, &number);
        *start = line.start;
        *length = line.length;
        while (*length && isspace((unsigned char)(*start)[*length - 1]))
            --*length;
        if (*length)
            return number;
    }
    return 0;
}

/* Explains that the text ends without a semicolon. The brace in the message belongs to the generated text. */
static bool hint_last_semicolon(const tj_message *message, const tj_piece *piece, tj_text *hint)
{
    const char *start = NULL;
    size_t length = 0;
    bool expected = !strcmp(message->text, "';' expected (got '}')");
    int line = expected ? line_before(piece, INT_MAX, &start, &length) : 0;
    if (line && line == message->line && !memchr(start, '}', length))
        tj_text_printf(hint, "is a ';' missing at the end of line %d?", line);
    return hint->length > 0;
}

/* Explains that the previous line, which seems to end a statement, has no semicolon. */
static bool hint_semicolon(const tj_message *message, const tj_piece *piece, tj_text *hint)
{
    const char *start = NULL, *first = message->source ? message->source : "";
    size_t length = 0;
    bool expected = !strncmp(message->text, "';' expected (got '", 19);
    bool called = !strcmp(message->text, "function pointer expected");
    first += strspn(first, " \t");
    if (expected) {
        const char *got = message->text + 19;
        size_t size = strcspn(got, "'");
        expected = !strncmp(first, got, size); /* a token within the line is another fault */
    } else if (called) {
        expected = *first == '(' || !strncmp(first, "item__", 6);
    }
    int line = expected ? line_before(piece, message->line, &start, &length) : 0;
    if (line && !strchr(";{}:,(\\+-*/=<>&|?", start[length - 1]))
        tj_text_printf(hint, "is a ';' missing at the end of line %d?", line);
    return hint->length > 0;
}

/* Explains that the function has the name of a macro of the prelude. */
static bool hint_macro(const tj_message *message, const tj_piece *piece, tj_text *hint)
{
    tj_tokens tokens = {0};
    const char *line = message->source ? message->source : "";
    bool listed = tj_tokens_list(&tokens, line, strlen(line));
    for (size_t i = 1; listed && i < tokens.count && !hint->length; i++) {
        const tj_token *name = &tokens.items[i];
        if (name->kind != TJ_TOKEN_NAME || !tj_token_at(&tokens, i + 1, "(") ||
            !(tj_token_is_name(&tokens, i - 1) || tj_token_at(&tokens, i - 1, "*")) ||
            tj_token_among(&tokens, i - 1, "return else do"))
            continue;
        tj_text macro = {0}, undef = {0};
        int length = (int)name->length;
        tj_text_printf(&macro, "#define %.*s(", length, name->text);
        tj_text_printf(&undef, "undef %.*s", length, name->text);
        if (!macro.failed && !undef.failed && strstr(tj_prelude(), macro.data) &&
            !tj_bytes_hold(piece->text, piece->length, undef.data))
            tj_text_printf(hint,
                           "%.*s() is a macro here: a function of its own has another name, or "
                           "#%s in front",
                           length, name->text, undef.data);
        tj_text_clear(&macro);
        tj_text_clear(&undef);
    }
    tj_tokens_clear(&tokens);
    return hint->length > 0;
}

void tj_message_hint(tj_message *message, const tj_piece *piece)
{
    tj_text hint = {0}, text = {0};
    if (hint_header(message, &hint) || hint_last_semicolon(message, piece, &hint) ||
        hint_semicolon(message, piece, &hint) || hint_macro(message, piece, &hint))
        tj_text_printf(&text, "%s (%s)", message->text, hint.data);
    if (text.length && !hint.failed && !text.failed) {
        tj_free(message->text);
        message->text = text.data;
        text = (tj_text){0};
    }
    tj_text_clear(&hint);
    tj_text_clear(&text);
}
