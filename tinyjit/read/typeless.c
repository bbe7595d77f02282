/* typeless.c: refuses declarations without a type, which C once took for int (scan.h).
 *
 * libtcc still accepts them silently, and numbers are truncated: `const k = 2.5;` is 2. We look for words
 * such as `static const` without a type after them, for functions whose head begins with their name, and for
 * undeclared parameters of old-style definitions.
 *
 * A name may be a type or a macro of an included file, which is not read here, and a macro of the text may
 * have another definition. If it is not certain that a type is missing, the text is accepted: the system's
 * compiler checks it, too. */
#include "read/scan.h"

/* The check of one text. */
typedef struct check {
    tj_declared *declared;
    const tj_piece *piece;
    tj_messages *messages;
    const tj_tokens *tokens;
    bool found;
} check;

/* ---- words ------------------------------------------------------------------- */

enum {
    SPECIFIERS = TJ_QUALIFIER | TJ_STORAGE | TJ_TYPEDEF | TJ_THREAD_LOCAL /* without a type */
};

static bool is_word(const check *this, size_t i, int words)
{
    return tj_token_word(this->tokens, i, words);
}

static bool is_typed(const check *this, size_t i)
{
    return is_word(this, i, TJ_TYPE | TJ_DEFINER | TJ_TYPEOF) ||
           (tj_token_at(this->tokens, i, "_Atomic") && tj_token_at(this->tokens, i + 1, "("));
}

/* Returns true for a name that is not a keyword: the user's, or one of an included file. */
static bool is_own_name(const check *this, size_t i)
{
    return tj_token_is_name(this->tokens, i) && this->tokens->items[i].word == TJ_NO_WORD;
}

static bool is(const check *this, size_t i, const char *spelling)
{
    return tj_token_at(this->tokens, i, spelling);
}

static bool is_any(const check *this, size_t i, const char *spellings)
{
    return tj_token_among(this->tokens, i, spellings);
}

static bool is_unknown(const check *this, size_t i)
{
    return i < this->tokens->count && !this->tokens->items[i].length;
}

static size_t mate(const check *this, size_t i)
{
    return this->tokens->mates[i];
}

/* Returns true if the name has a letter from `first` to `last`. */
static bool has_letter(const check *this, size_t i, char first, char last)
{
    const tj_token *token = &this->tokens->items[i];
    for (size_t k = 0; k < token->length; k++)
        if (token->text[k] >= first && token->text[k] <= last)
            return true;
    return false;
}

/* Returns true if the name has no lower-case letter. Macros often have such names. */
static bool is_upper(const check *this, size_t i)
{
    return !has_letter(this, i, 'a', 'z');
}

/* Returns true for a type of the text or of the prelude, as far as its name shows. */
static bool is_type_name(const check *this, size_t i)
{
    const tj_token *token = &this->tokens->items[i];
    bool ends = token->length > 2 && !memcmp(token->text + token->length - 2, "_t", 2);
    bool numpy = token->length > 4 && !memcmp(token->text, "npy_", 4);
    return ends || numpy || tj_map_find(&this->declared->types, token->text, token->length, "", 0);
}

/* ---- faults ------------------------------------------------------------------------ */

static void refuse(check *this, size_t i, const char *what)
{
    const tj_token *token = &this->tokens->items[i];
    if (this->found)
        return; /* one report is enough */
    this->found = true;
    if (token->kind == TJ_TOKEN_NAME)
        tj_messages_add_at(this->messages, this->piece, token->start, token->end,
                           "%s '%.*s' has no type (C once took int for it)", what,
                           (int)token->length, token->text);
    else
        tj_messages_add_at(this->messages, this->piece, token->start, token->end,
                           "a type is missing here (C once took int for it)");
}

/* ---- heads of functions ------------------------------------------------------------ */

/* Returns true if the parentheses at `open` contain a parameter with a type (named: and a name). */
static bool has_typed_parameter(const check *this, size_t open, bool named)
{
    size_t end = mate(this, open);
    bool begins = true;
    for (size_t i = open + 1; i < end; i++) {
        bool typed = begins && (is_typed(this, i) || is_word(this, i, SPECIFIERS) ||
                                (is_own_name(this, i) && is_own_name(this, i + 1)));
        size_t last = i;
        while (typed && named && last < end && !is(this, last, ","))
            last++;
        if (typed && (!named || (last > i + 1 && is_own_name(this, last - 1))))
            return true;
        begins = is(this, i, ",");
        if (is(this, i, "(") || is(this, i, "[") || is(this, i, "{"))
            i = mate(this, i) < end ? mate(this, i) : end;
    }
    return false;
}

/* Recognises "(a, b)" without anything else. */
static bool has_bare_names(const check *this, size_t open)
{
    size_t end = mate(this, open);
    for (size_t i = open + 1; i < end; i += 2)
        if (!is_own_name(this, i) || !(i + 1 == end || is(this, i + 1, ",")))
            return false;
    return end > open + 1 && end < this->tokens->count;
}

/* Returns the brace of the function, old-style or not, whose parameters end at `close`; the count if there is none. */
static size_t body_of(const check *this, size_t close)
{
    size_t count = this->tokens->count, i = close + 1;
    if (is(this, i, "{"))
        return i;
    if (!is_typed(this, i) && !is_word(this, i, SPECIFIERS) && !is_own_name(this, i))
        return count;
    for (; i < count && !is(this, i, "{") && !is(this, i, "="); i++)
        if (is_unknown(this, i) || (is_own_name(this, i) && is(this, i + 1, "(")))
            return count; /* another declaration, not one of a parameter */
    return is(this, i, "{") && is(this, i - 1, ";") ? i : count;
}

/* Returns true if the name is used as a value between two tokens, in a place where no type can stand. */
static bool is_used(const check *this, const tj_token *name, size_t start, size_t end)
{
    static const char beside[] = "+ - / % = < > ? | && || == <= >= != += -= *= /= ^";
    for (size_t i = start; i < end; i++) {
        const tj_token *token = &this->tokens->items[i];
        bool argument =
            i > 1 && is(this, i - 1, "(") && is_own_name(this, i - 2) && !is_upper(this, i - 2);
        if (token->kind == TJ_TOKEN_NAME && tj_token_same(token, name) &&
            (argument || is_any(this, i - 1, beside) || is_any(this, i + 1, beside) ||
             is_any(this, i - 1, "return [ * ! ~") || is_any(this, i + 1, "; ] [ ++ -- . ->")))
            return true;
    }
    return false;
}

/* Refuses parameters of an old-style definition, "(a, b)" at `open`, that no declaration names. */
static void check_old_parameters(check *this, size_t open, bool begins)
{
    size_t close = mate(this, open), body = body_of(this, close);
    bool direct = body == close + 1;
    if (body >= this->tokens->count || !has_bare_names(this, open) || mate(this, body) < body ||
        (begins && direct && this->declared->includes)) /* it may be a macro */
        return;
    for (size_t i = open + 1; i < close; i += 2) {
        const tj_token *name = &this->tokens->items[i];
        bool declared = false;
        for (size_t k = close + 1; k < body && !declared; k++)
            declared = tj_token_same(&this->tokens->items[k], name);
        if (!declared && is_used(this, name, body, mate(this, body)))
            refuse(this, i, "the parameter");
    }
}

/* Refuses "name(...)" without a type if it is the head of a function. specified: `static` or the like precedes it. */
static void judge_function(check *this, size_t name, bool specified)
{
    size_t open = name + 1, close = mate(this, open), count = this->tokens->count;
    if (close >= count || is(this, open + 1, "*") || is(this, open + 1, "(") ||
        is_unknown(this, open + 1) || is_unknown(this, close + 1))
        return;
    size_t body = body_of(this, close);
    bool defined = body < count, old = defined && body > close + 1;
    bool declared = is_any(this, close + 1, "; , = __attribute__") && !is_type_name(this, name);
    bool typed = has_typed_parameter(this, open, defined);
    bool certain = !this->declared->includes && (defined || specified || typed); /* no macro */
    if (this->declared->includes && !is_upper(this, name))
        certain = defined ? typed || old || (specified && !has_letter(this, name, 'A', 'Z'))
                          : typed && specified;
    if ((defined || declared) && certain)
        refuse(this, name, "the function");
}

/* ---- sequences of specifiers ------------------------------------------------------- */

/* Returns true if the `}` at i closes statements, not a type or a list. */
static bool closes_block(const check *this, size_t i)
{
    size_t open = mate(this, i);
    if (open >= i)
        return false;
    if (open == 0 || is_any(this, open - 1, "{ } ; : else do"))
        return true;
    if (!is(this, open - 1, ")"))
        return false;
    size_t parenthesis = mate(this, open - 1);
    return parenthesis > 0 && parenthesis < open && !is_word(this, parenthesis - 1, TJ_ATTRIBUTE);
}

/* Returns true if a declaration can begin after the token before i. */
static bool may_begin(const check *this, size_t i)
{
    while (i > 0 && is_unknown(this, i - 1))
        i--;
    return i == 0 || tj_token_in(this->tokens, i - 1, ";{(,:") ||
           is_word(this, i - 1, TJ_EXTENSION) ||
           (is(this, i - 1, "}") && closes_block(this, i - 1));
}

/* The place of a sequence of specifiers. */
typedef enum setting {
    IN_BLOCK,
    IN_PARAMETERS, /* or arguments of a macro */
    IN_CAST
} setting;

static setting setting_of(const check *this, size_t start)
{
    size_t i = start;
    while (i > 0 && !is(this, i - 1, "(")) {
        i--;
        if (tj_token_in(this->tokens, i, ";{}:"))
            return IN_BLOCK;
        if ((is(this, i, ")") || is(this, i, "]")) && mate(this, i) < i)
            i = mate(this, i);
    }
    if (i == 0 || (i > 1 && is(this, i - 2, "for")))
        return IN_BLOCK;
    if (i == 1)
        return IN_CAST;
    return is_own_name(this, i - 2) || is(this, i - 2, ")") || is(this, i - 2, "_Generic")
               ? IN_PARAMETERS
               : IN_CAST;
}

/* Checks a parameter "const x": x is its name if the function uses it as a value. */
static void judge_parameter(check *this, size_t name)
{
    size_t i = name, depth = 0, count = this->tokens->count;
    for (; i < count && (depth > 0 || !is(this, i, ")")); i++)
        depth += is(this, i, "(") - (size_t)is(this, i, ")");
    size_t body = i + 1;
    if (this->declared->complete && !is_type_name(this, name))
        refuse(this, name, "the parameter");
    else if (is(this, body, "{") && mate(this, body) > body && mate(this, body) < count &&
             is_used(this, &this->tokens->items[name], body, mate(this, body)))
        refuse(this, name, "the parameter");
}

/* Checks the name at i, which follows a sequence without a type. */
static void judge_name(check *this, size_t i, setting where)
{
    if (is(this, i + 1, "(") && where == IN_BLOCK)
        judge_function(this, i, true);
    else if (where == IN_PARAMETERS && (is(this, i + 1, ",") || is(this, i + 1, ")")))
        judge_parameter(this, i);
    else if (where == IN_BLOCK && tj_token_in(this->tokens, i + 1, "=;,[") &&
             !(this->declared->includes && is_upper(this, i)) &&
             (is(this, i + 1, "=") || !is_type_name(this, i)))
        refuse(this, i, "the variable");
}

/* Returns the end of the sequence that begins at i. *specifies: it contains more than attributes. */
static size_t read_run(check *this, size_t i, bool *specifies)
{
    size_t start = i;
    for (;; i++) {
        bool attribute = is_word(this, i, TJ_ATTRIBUTE) && is(this, i + 1, "(");
        if (is_typed(this, i))
            return i;
        if (attribute && mate(this, i + 1) < this->tokens->count)
            i = mate(this, i + 1);
        else if (is_word(this, i, SPECIFIERS))
            *specifies = true;
        else if (!is_word(this, i, TJ_EXTENSION))
            break;
    }
    if (!*specifies || is_unknown(this, i) || is_unknown(this, i + 1))
        return i;
    setting where = setting_of(this, start);
    if (is_own_name(this, i))
        judge_name(this, i, where);
    else if ((where == IN_BLOCK && tj_token_in(this->tokens, i, "*([=,")) ||
             (where == IN_CAST && tj_token_in(this->tokens, i, ")*")))
        refuse(this, i, "");
    return i;
}

/* ---- the text ---------------------------------------------------------------------- */

/* Remembers all names of a typedef, whose words are from i to end. Names that it does not declare do no harm. */
static void learn_types(check *this, size_t i, size_t end)
{
    while (i < end && !is(this, i, "typedef"))
        i++;
    if (i == end)
        return;
    for (; end < this->tokens->count && !is(this, end, ";"); end++) {
        if (is(this, end, "{") && mate(this, end) > end)
            end = mate(this, end);
        else if (is_own_name(this, end))
            this->messages->failed |=
                !tj_map_add(&this->declared->types, this->tokens->items[end].text,
                            this->tokens->items[end].length);
    }
}

/* Checks a name; moves *i to the last token that was read. Returns true if a declaration can still begin after it. */
static bool look_at(check *this, size_t *i, bool outside, bool begins)
{
    bool specifies = false, run = is_word(this, *i, SPECIFIERS) || is_word(this, *i, TJ_ATTRIBUTE);
    size_t start = *i;
    if (run && may_begin(this, *i)) {
        size_t end = read_run(this, *i, &specifies);
        learn_types(this, start, end);
        *i = end > *i ? end - 1 : *i; /* the token that ends it is checked, too */
        return begins && !specifies;
    }
    if (is_word(this, *i, TJ_ATTRIBUTE) && is(this, *i + 1, "(") &&
        mate(this, *i + 1) < this->tokens->count)
        *i = mate(this, *i + 1); /* `const` has another meaning there */
    if (outside && is_own_name(this, *i) && is(this, *i + 1, "(")) {
        if (begins)
            judge_function(this, *i, false);
        check_old_parameters(this, *i + 1, begins);
    }
    return false;
}

static void check_tokens(check *this, tj_scope scope)
{
    size_t depth = 0, count = this->tokens->count;
    bool begins = true;
    for (size_t i = 0; i < count && !this->found; i++) {
        bool outside = depth == 0 && scope == TJ_FILE_SCOPE;
        if (tj_token_is_name(this->tokens, i)) {
            begins = look_at(this, &i, outside, begins);
            continue;
        }
        depth += is(this, i, "{") || is(this, i, "(");
        depth -= (is(this, i, "}") || is(this, i, ")")) && depth > 0;
        begins = (begins && this->tokens->items[i].kind >= TJ_TOKEN_IF) || is(this, i, ";") ||
                 (is(this, i, "}") && closes_block(this, i));
    }
}

/* Copies all tokens that are not doubtful. Returns false if out of memory. */
static bool copy_certain(const tj_tokens *from, tj_tokens *to)
{
    bool fine = true;
    for (size_t i = 0; i < from->count && fine; i++)
        if (!from->items[i].doubtful || from->items[i].kind == TJ_TOKEN_DOUBT)
            fine = tj_tokens_add(to, &from->items[i]);
    return fine && tj_tokens_pair(to);
}

bool tj_typeless_check(tj_declared *declared, const tj_expanded *text, const tj_piece *piece,
                       tj_scope scope, tj_messages *messages)
{
    tj_tokens certain = {0};
    check this = {.declared = declared,
                  .piece = piece,
                  .messages = messages,
                  .tokens = text->doubts ? &certain : &text->tokens};
    bool fine = !text->doubts || copy_certain(&text->tokens, &certain);
    if (fine) {
        check_tokens(&this, scope);
        tj_silent_check(this.tokens, piece, scope, messages);
    }
    tj_tokens_clear(&certain);
    return fine && !messages->failed;
}
