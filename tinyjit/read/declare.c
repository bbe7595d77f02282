/* declare.c: parses a text that only declares variables and types.
 *
 * Such a text must be usable as local variables of a function, and also as members of a struct after its
 * typedefs. So every declaration is parsed as far as needed to find its kind and the names that it declares.
 * Declarations that are invalid in a struct are refused. Both outputs, typedefs and members, keep the lines
 * of the text: parts that belong to the other output are replaced by blanks. */
#include <string.h>

#include "internal.h"
#include "read/scan.h"
#include "read/tokens.h"

typedef struct reader {
    const tj_piece *piece;
    const char *name; /* names must contain it; NULL: any names */
    tj_tokens tokens;
    tj_declarations *declarations;
    tj_words names; /* becomes declarations->names */
    tj_messages *messages;
    bool failed; /* a message was added */
} reader;

/* Appends an error about the tokens [from, to). In the text, the first "%.*s" stands for these tokens, and a
 * later "%s" for the required part of names. */
static void refuse(reader *this, size_t from, size_t to, const char *text)
{
    size_t start = this->tokens.items[from].start;
    size_t end = this->tokens.items[to > from ? to - 1 : from].end;
    this->failed = true;
    tj_messages_add_at(this->messages, this->piece, start, end, text, (int)(end - start),
                       this->piece->text + start, this->name);
}

static bool refuse_one(reader *this, size_t at, const char *text)
{
    refuse(this, at, at + 1, text);
    return false;
}

/* ---- words ------------------------------------------------------------------ */

enum {
    ANNOTATIONS = TJ_ATTRIBUTE | TJ_EXTENSION
};

/* Returns the reason why a declaration must not contain this word, or NULL. */
static const char *fault_of_word(const tj_tokens *tokens, size_t at)
{
    if (tj_token_word(tokens, at, TJ_STORAGE | TJ_THREAD_LOCAL))
        return "storage classes have no place among the declarations of a block";
    if (tj_token_word(tokens, at, TJ_STATEMENT | TJ_ASSEMBLER))
        return "a statement: only declarations of variables and types can stand here";
    if (tj_token_at(tokens, at, "_Static_assert"))
        return "only declarations of variables and types can stand here";
    return NULL;
}

/* Returns the index after an annotation and its brackets. */
static size_t skip_annotations(const reader *this, size_t at, size_t end)
{
    while (at < end && tj_token_word(&this->tokens, at, ANNOTATIONS)) {
        at++;
        if (at < end && tj_token_at(&this->tokens, at, "("))
            at = this->tokens.mates[at] + 1;
    }
    return at < end ? at : end;
}

/* ---- specifiers ------------------------------------------------------------- */

/* The words before the first declarator. */
typedef struct specifiers {
    size_t end;
    bool is_typedef;
    bool has_type;
    bool defines; /* defines a struct, union or enum, or names a tag */
} specifiers;

/* Returns the index after "struct tag {...}". */
static size_t skip_definition(const reader *this, size_t at, size_t end)
{
    at = skip_annotations(this, at + 1, end);
    if (at < end && tj_token_is_name(&this->tokens, at))
        at++;
    if (at < end && tj_token_at(&this->tokens, at, "{"))
        at = this->tokens.mates[at] + 1;
    return at < end ? at : end;
}

/* Returns the index after a name that is the type, or a macro with arguments that expands to one. */
static size_t skip_type_name(const reader *this, size_t at, size_t end)
{
    at++;
    if (at >= end || !tj_token_at(&this->tokens, at, "("))
        return at;
    size_t behind = this->tokens.mates[at] + 1;
    bool is_macro = behind < end && (tj_token_is_name(&this->tokens, behind) ||
                                     tj_token_at(&this->tokens, behind, "*"));
    return is_macro ? behind : at;
}

static specifiers read_specifiers(const reader *this, size_t at, size_t end)
{
    const tj_tokens *tokens = &this->tokens;
    specifiers found = {0};
    while (at < end && tj_token_is_name(tokens, at)) {
        size_t next = at + 1;
        if (tj_token_word(tokens, at, TJ_TYPEDEF)) {
            found.is_typedef = true;
        } else if (tj_token_word(tokens, at, TJ_DEFINER)) {
            next = skip_definition(this, at, end);
            found.defines = found.has_type = true;
        } else if ((tj_token_word(tokens, at, TJ_TYPEOF) || tj_token_at(tokens, at, "_Atomic")) &&
                   tj_token_at(tokens, next, "(")) {
            next = tokens->mates[next] + 1;
            found.has_type = true;
        } else if (tj_token_word(tokens, at, ANNOTATIONS)) {
            next = skip_annotations(this, at, end);
        } else if (tj_token_word(tokens, at, TJ_TYPE)) {
            found.has_type = true;
        } else if (!tj_token_word(tokens, at, TJ_QUALIFIER)) {
            if (found.has_type && !(next < end && tj_token_is_name(tokens, next) &&
                                    !tj_token_word(tokens, next, ANNOTATIONS)))
                break; /* the declared name */
            next = skip_type_name(this, at, end);
            found.has_type = true;
        }
        at = next;
    }
    found.end = at < end ? at : end;
    return found;
}

/* ---- declarators ------------------------------------------------------------ */

static bool check_name(reader *this, size_t at)
{
    const tj_token *token = &this->tokens.items[at];
    if (!this->name)
        return true;
    if (!tj_bytes_hold(token->text, token->length, this->name))
        return refuse_one(this, at, "'%.*s' must have the variable's name, '%s', in its name");
    if (tj_token_is_joined(token, "py_", this->name))
        return refuse_one(this, at,
                          "'%.*s' is declared already: it is the object in the variable's storage");
    if (tj_token_is_joined(token, "storage_", this->name))
        return refuse_one(this, at, "'%.*s' is declared already: it is the variable's storage");
    return true;
}

/* Checks the enumerators in the braces that open at `open`. */
static bool check_enumerators(reader *this, size_t open)
{
    const tj_tokens *tokens = &this->tokens;
    bool fine = true, begins = true;
    for (size_t i = open + 1; fine && i < tokens->mates[open]; i++) {
        if (begins && tj_token_is_name(tokens, i))
            fine = check_name(this, i);
        begins = tj_token_at(tokens, i, ",");
        if (tokens->mates[i] > i)
            i = tokens->mates[i]; /* an enumerator's value contains brackets */
    }
    return fine;
}

/* Checks tags and enumerators, which are names of the whole block, also in nested types. Tags that are only used may
 * have any name. bare: the declaration declares only a type. */
static bool check_tags(reader *this, size_t at, size_t end, bool bare)
{
    const tj_tokens *tokens = &this->tokens;
    bool fine = true;
    for (size_t i = at; fine && i < end; i++) {
        if (!tj_token_word(tokens, i, TJ_DEFINER))
            continue;
        size_t tag = skip_annotations(this, i + 1, end);
        bool named = tag < end && tj_token_is_name(tokens, tag);
        size_t open = tag + named;
        bool defines = open < end && tj_token_at(tokens, open, "{");
        if (named && (defines || (bare && i == at)))
            fine = check_name(this, tag);
        if (fine && defines && tj_token_at(tokens, i, "enum"))
            fine = check_enumerators(this, open);
    }
    return fine;
}

/* Checks the size of an array: names of variables would make its length variable. */
static bool check_size(reader *this, size_t open)
{
    const tj_tokens *tokens = &this->tokens;
    for (size_t i = open + 1; i < tokens->mates[open]; i++) {
        bool own = tj_token_is_name(tokens, i) && this->name &&
                   tj_bytes_hold(tokens->items[i].text, tokens->items[i].length, this->name);
        size_t before = tj_token_at(tokens, i - 1, "(") ? i - 2 : i - 1;
        if (own && !tj_token_at(tokens, before, "sizeof"))
            return refuse_one(this, i, "the size of an array must be a constant here");
    }
    return true;
}

/* Checks the text after the declared name. */
static bool check_suffix(reader *this, size_t at, size_t end, bool may_be_function)
{
    const tj_tokens *tokens = &this->tokens;
    while (at < end) {
        if (tj_token_at(tokens, at, "=") || tj_token_at(tokens, at, "{"))
            return refuse_one(this, at,
                              "an initializer: c_init gives variables their first values");
        if (tj_token_at(tokens, at, "(") && !may_be_function)
            return refuse_one(this, at,
                              "a function: only variables and types can be declared here");
        if (tj_token_at(tokens, at, "[") && !check_size(this, at))
            return false;
        if (tj_token_at(tokens, at, "(") || tj_token_at(tokens, at, "["))
            at = tokens->mates[at] + 1;
        else if (tj_token_word(tokens, at, ANNOTATIONS))
            at = skip_annotations(this, at, end);
        else
            return refuse_one(this, at, "only declarations of variables and types can stand here");
    }
    return true;
}

/* Reads the declarator [at, end): "*name", "(*name)(int)", "name[3]". */
static bool read_declarator(reader *this, size_t at, size_t end, bool is_typedef)
{
    const tj_tokens *tokens = &this->tokens;
    size_t start = at, name_end = end;
    bool grouped = false;
    for (;; at++) {
        at = skip_annotations(this, at, end);
        if (at < end && tj_token_at(tokens, at, "(")) {
            grouped = true;
            name_end = name_end == end ? tokens->mates[at] : name_end;
        } else if (at >= end ||
                   !(tj_token_at(tokens, at, "*") || tj_token_word(tokens, at, TJ_QUALIFIER))) {
            break;
        }
    }
    if (at >= end || !tj_token_is_name(tokens, at))
        return refuse_one(this,
                          at < end      ? at
                          : start < end ? start
                                        : end,
                          "only declarations of variables and types can stand here");
    if (!check_name(this, at))
        return false;
    if (!is_typedef)
        tj_words_add(&this->names, tokens->items[at].text, tokens->items[at].length);
    if (!grouped)
        return check_suffix(this, at + 1, end, is_typedef);
    return check_suffix(this, name_end + 1 < end ? name_end + 1 : end, end, true);
}

/* Returns the index of the next mark outside brackets, or `end`. */
static size_t find_mark(const reader *this, size_t at, size_t end, const char *mark)
{
    for (; at < end && !tj_token_at(&this->tokens, at, mark); at++)
        if (this->tokens.mates[at] > at)
            at = this->tokens.mates[at];
    return at < end ? at : end;
}

/* ---- declarations ----------------------------------------------------------- */

/* Refuses words that no declaration may contain. */
static bool check_words(reader *this, size_t at, size_t end)
{
    const char *fault = NULL;
    for (; at < end && !fault; at++)
        fault = fault_of_word(&this->tokens, at);
    return !fault || refuse_one(this, at - 1, fault);
}

/* Reads the declaration [at, end); end is the semicolon. */
static void read_declaration(reader *this, size_t at, size_t end)
{
    size_t start = at;
    specifiers found = read_specifiers(this, at, end);
    at = found.end;
    bool bare = at == end;
    if (bare ? found.is_typedef || !found.defines : !found.has_type) {
        refuse(this, start, end, "only declarations of variables and types can stand here");
        return;
    }
    bool fine = check_tags(this, start, end, bare);
    while (fine && at < end) {
        size_t stop = find_mark(this, at, end, ",");
        fine = read_declarator(this, at, stop, found.is_typedef);
        at = stop + 1;
    }
    if (!fine)
        return;
    tj_declarations *to = this->declarations;
    char *half = bare || found.is_typedef ? to->typedefs : to->members;
    size_t first = this->tokens.items[start].start, behind = this->tokens.items[end].end;
    memcpy(half + first, this->piece->text + first, behind - first);
}

static void read_all(reader *this)
{
    const tj_tokens *tokens = &this->tokens;
    for (size_t at = 0; at < tokens->count && !this->messages->failed;) {
        if (tj_token_directs(tokens, at)) {
            refuse(this, at, at + 2 < tokens->count ? at + 2 : tokens->count,
                   "a directive: only declarations of variables and types can stand here");
            at = tj_tokens_behind_line(tokens, at);
            continue;
        }
        size_t end = find_mark(this, at, tokens->count, ";");
        bool fine = check_words(this, at, end);
        if (fine && end == tokens->count)
            refuse_one(this, tokens->count - 1, "a declaration ends with ';'");
        else if (fine && end > at)
            read_declaration(this, at, end);
        at = end + 1;
    }
}

/* Returns a text of the same length that contains only blanks and newlines. */
static char *blank_copy(const tj_piece *piece)
{
    char *copy = tj_realloc(NULL, 0, piece->length + 1);
    for (size_t i = 0; copy && i < piece->length; i++)
        copy[i] = piece->text[i] == '\n' ? '\n' : ' ';
    if (copy)
        copy[piece->length] = '\0';
    return copy;
}

tj_status tj_declarations_read(const tj_piece *piece, const char *name,
                               tj_declarations *declarations, tj_messages *messages,
                               tj_error *error)
{
    tj_piece text = {piece->file, piece->text ? piece->text : "", piece->text ? piece->length : 0};
    reader this = {
        .piece = &text, .name = name, .declarations = declarations, .messages = messages};
    *declarations = (tj_declarations){blank_copy(&text), blank_copy(&text), NULL, 0};
    tj_status status = TJ_NO_MEMORY;
    if (!declarations->typedefs || !declarations->members ||
        !tj_tokens_read(&this.tokens, text.text, text.length))
        goto done;
    read_all(&this);
    if (this.names.failed || messages->failed)
        goto done;
    status = this.failed ? TJ_COMPILE_FAILED : TJ_OK;
    declarations->names = this.names.items;
    declarations->nnames = this.names.count;
    this.names = (tj_words){0};
done:
    tj_words_clear(&this.names);
    tj_tokens_clear(&this.tokens);
    if (status)
        tj_declarations_clear(declarations);
    if (status == TJ_COMPILE_FAILED)
        return tj_fail(error, status, "'%s' must only declare", text.file ? text.file : "");
    return status ? tj_fail_no_memory(error) : TJ_OK;
}

void tj_declarations_clear(tj_declarations *declarations)
{
    if (!declarations)
        return;
    for (size_t i = 0; i < declarations->nnames; i++)
        tj_free(declarations->names[i]);
    tj_free(declarations->names);
    tj_free(declarations->typedefs);
    tj_free(declarations->members);
    *declarations = (tj_declarations){0};
}
