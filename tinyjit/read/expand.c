/* expand.c: expands macros (expand.h).
 *
 * It works like a preprocessor: arguments are expanded and substituted, and the result is read again together
 * with the text after it. A macro's name is not expanded in its own expansion. Macros of included files are
 * unknown, so their names are not expanded. If a macro was defined under a condition that has ended, the last
 * definition is used, and its expansion is marked as doubtful.
 *
 * Each token that is copied counts as work; expansion stops if macros cause too much work. */
#include "read/expand.h"

/* An open #if. */
typedef struct condition {
    size_t branch; /* the number of the current branch */
    size_t start, end;
    bool has_else;
    bool skips;   /* the current branch is not compiled */
    bool decided; /* a branch with condition 1 came before, so later ones are not compiled */
} condition;

struct tj_expander {
    tj_macros *macros; /* owned */
    tj_words pasted;   /* owned: tokens made by ## */
    size_t newest;     /* the highest number of a branch */
    bool includes;
};

/* The expansion of one text. */
typedef struct expansion {
    tj_expander *shared;
    const tj_piece *piece;
    tj_expanded *text;
    size_t at;     /* index in the raw tokens */
    size_t work, most_work;
    size_t levels; /* number of macros that are being expanded */
    condition conditions[TJ_MAX_CONDITIONS];
    size_t nconditions;
    bool failed; /* out of memory */
} expansion;

/* An argument of a macro call. */
typedef struct argument {
    size_t start, end; /* indices in the list of all arguments */
    tj_tokens full;    /* owned: expanded */
    bool is_full;
} argument;

typedef struct arguments {
    tj_token open;   /* the parenthesis */
    tj_tokens all;   /* owned: the tokens after it, up to the closing parenthesis */
    argument *items; /* owned */
    size_t count, capacity;
} arguments;

/* Tokens to be read next. */
typedef struct source {
    tj_tokens tokens; /* owned */
    size_t at;
    tj_macro *from; /* being expanded while tokens are left; NULL: these are an argument */
} source;

/* Tokens that are being expanded: a text, an argument, or the expression of a condition. */
typedef struct run {
    expansion *whole;
    bool reads_text; /* continues with the text after the sources */
    source *sources; /* owned: the innermost is last */
    size_t count, capacity;
    tj_tokens *out;
} run;

tj_expander *tj_expander_new(void)
{
    tj_expander *expander = tj_alloc_zeroed(1, sizeof(tj_expander));
    if (expander)
        expander->macros = tj_macros_new();
    if (expander && expander->macros)
        return expander;
    tj_expander_free(expander);
    return NULL;
}

void tj_expander_free(tj_expander *expander)
{
    if (!expander)
        return;
    tj_macros_free(expander->macros);
    tj_words_clear(&expander->pasted);
    tj_free(expander);
}

bool tj_expander_includes(const tj_expander *expander)
{
    return expander->includes;
}

bool tj_expander_defines(const tj_expander *expander, const tj_token *name)
{
    bool fine = true;
    const tj_macro *found = tj_macros_find(expander->macros, name, &fine);
    return found && found->branch == 0;
}

/* ---- lists and sources ------------------------------------------------------------- */

static void end_early(run *this, const tj_token *place, const char *text)
{
    if (!this->whole->text->fault.text)
        this->whole->text->fault = (tj_fault){text, place->start, place->end};
}

static bool has_ended(const run *this)
{
    return this->whole->failed || this->whole->text->fault.text;
}

static void add(run *this, tj_tokens *to, const tj_token *token)
{
    if (!tj_tokens_add(to, token))
        this->whole->failed = true;
}

/* Adds a token that a macro creates or reads, and counts it as work. */
static void add_counted(run *this, tj_tokens *to, const tj_token *token)
{
    if (++this->whole->work > this->whole->most_work)
        end_early(this, token, "the macros here expand to too many tokens");
    else
        add(this, to, token);
}

static void put_mark(run *this, tj_token_kind kind, const tj_token *place)
{
    add(this, this->out,
        &(tj_token){.kind = kind, .text = "", .start = place->start, .end = place->end});
}

/* Makes these tokens the next to be read. Takes ownership of the list. */
static void push(run *this, tj_tokens *tokens, tj_macro *from)
{
    if (!tj_grow(&this->sources, this->count, &this->capacity, sizeof *this->sources)) {
        this->whole->failed = true;
        tj_tokens_clear(tokens);
        return;
    }
    this->sources[this->count++] = (source){.tokens = *tokens, .from = from};
    *tokens = (tj_tokens){0};
    if (from) {
        from->busy = true;
        this->whole->levels++;
    }
}

static void pop(run *this)
{
    source *last = &this->sources[--this->count];
    if (last->from) {
        last->from->busy = false;
        this->whole->levels--;
    }
    tj_tokens_clear(&last->tokens);
}

static void clear_run(run *this)
{
    while (this->count > 0)
        pop(this);
    tj_free(this->sources);
}

static void read_directive(run *this);

/* Reads the next token. Returns false at the end. */
static bool next(run *this, tj_token *token)
{
    for (; this->count > 0; pop(this)) {
        source *top = &this->sources[this->count - 1];
        if (top->at < top->tokens.count) {
            *token = top->tokens.items[top->at++];
            return true;
        }
    }
    while (this->reads_text && tj_token_directs(&this->whole->text->raw, this->whole->at) &&
           !has_ended(this))
        read_directive(this);
    if (!this->reads_text || has_ended(this) || this->whole->at >= this->whole->text->raw.count)
        return false;
    *token = this->whole->text->raw.items[this->whole->at++];
    return true;
}

/* Returns true if the next token is an opening parenthesis. */
static bool is_called(const run *this)
{
    for (size_t i = this->count; i-- > 0;) {
        const tj_tokens *tokens = &this->sources[i].tokens;
        for (size_t at = this->sources[i].at; at < tokens->count; at++)
            if (tokens->items[at].kind != TJ_TOKEN_DOUBT)
                return tj_token_is_one(&tokens->items[at], "(");
    }
    return this->reads_text && tj_token_at(&this->whole->text->raw, this->whole->at, "(");
}

/* ---- arguments ----------------------------------------------------------------------- */

/* Reads the arguments in the parentheses that is_called() found. Returns false if they are not closed. */
static bool read_arguments(run *this, const tj_macro *to, arguments *given)
{
    size_t depth = 1, start = 0;
    tj_token token;
    while (next(this, &given->open) && given->open.kind == TJ_TOKEN_DOUBT)
        continue;
    while (depth > 0 && next(this, &token)) {
        bool rest = to->takes_rest && given->count + 1 >= to->nparameters;
        depth += tj_token_is_one(&token, "(");
        depth -= tj_token_is_one(&token, ")");
        add_counted(this, &given->all, &token);
        if (has_ended(this))
            return false;
        if (depth > 1 || (depth == 1 && (rest || !tj_token_is_one(&token, ","))))
            continue;
        if (!tj_grow(&given->items, given->count, &given->capacity, sizeof *given->items)) {
            this->whole->failed = true;
            return false;
        }
        given->items[given->count++] = (argument){.start = start, .end = given->all.count - 1};
        start = given->all.count;
    }
    return depth == 0;
}

static void expand_sources(run *this);

/* Expands the tokens [start, end) of a list separately. */
static void expand_list(expansion *whole, const tj_tokens *from, size_t start, size_t end,
                        tj_tokens *out)
{
    run inner = {.whole = whole, .out = out};
    tj_tokens copy = {0};
    for (size_t i = start; i < end && !whole->failed; i++)
        add(&inner, &copy, &from->items[i]);
    push(&inner, &copy, NULL);
    expand_sources(&inner);
    clear_run(&inner);
}

/* ---- bodies -------------------------------------------------------------------------- */

/* A macro body that is being expanded. */
typedef struct filling {
    run *run;
    const tj_macro *macro;
    arguments *given;
    const tj_token *name; /* the name that is replaced */
    tj_tokens made;       /* owned */
    size_t operand;       /* start of the body's last token in `made` */
    bool pastes;          /* the previous token was ## */
    bool doubtful;
} filling;

static void add_made(filling *this, const tj_token *token)
{
    tj_token made = *token;
    made.doubtful |= this->doubtful;
    add_counted(this->run, &this->made, &made);
}

/* Returns a token of the body with the place of the name. */
static tj_token at_name(const filling *this, const tj_token *token)
{
    tj_token made = *token;
    made.start = this->name->start;
    made.end = this->name->end;
    made.made = true;
    made.first = false;
    return made;
}

/* Joins the last token and this one to one token. If the result is not a token, keeps both. */
static void paste(filling *this, const tj_token *token)
{
    expansion *whole = this->run->whole;
    tj_words *pasted = &whole->shared->pasted;
    tj_token *last = &this->made.items[this->made.count - 1];
    tj_text both = {0};
    tj_lexer lexer;
    tj_text_add(&both, last->text, last->length);
    tj_text_add(&both, token->text, token->length);
    whole->work += both.length; /* its length may double with each macro */
    tj_words_add(pasted, both.failed ? "" : both.data, both.length);
    whole->failed |= both.failed || pasted->failed;
    tj_text_clear(&both);
    if (whole->failed)
        return;
    const char *text = pasted->items[pasted->count - 1];
    tj_lexer_init(&lexer, text, strlen(text));
    tj_token joined = tj_lexer_next(&lexer);
    tj_lexer_clear(&lexer);
    if (joined.length == last->length + token->length) {
        joined = at_name(this, &joined);
        joined.word = tj_word_of(joined.text, joined.kind == TJ_TOKEN_NAME ? joined.length : 0);
        joined.doubtful = last->doubtful || token->doubtful || this->doubtful;
        *last = joined;
    } else {
        add_made(this, token);
    }
}

static bool has_left_side(const filling *this)
{
    return this->pastes && this->made.count > this->operand;
}

static void add_argument(filling *this, size_t k, bool pasted)
{
    static const tj_tokens none = {0};
    const tj_tokens *from = &none;
    size_t start = 0, end = 0;
    argument *wanted = k < this->given->count ? &this->given->items[k] : NULL;
    if (wanted && pasted) {
        from = &this->given->all;
        start = wanted->start;
        end = wanted->end;
    } else if (wanted) {
        if (!wanted->is_full)
            expand_list(this->run->whole, &this->given->all, wanted->start, wanted->end,
                        &wanted->full);
        wanted->is_full = true;
        from = &wanted->full;
        end = from->count;
    }
    size_t count = this->made.count;
    bool rest = this->macro->takes_rest && k + 1 == this->macro->nparameters;
    bool comma = has_left_side(this) && rest && tj_token_is_one(&this->made.items[count - 1], ",");
    bool joins = has_left_side(this) && !comma;
    if (comma && start == end)
        this->made.count--; /* ", ## __VA_ARGS__" */
    this->operand = joins ? this->operand : count;
    for (size_t i = start; i < end && !has_ended(this->run); i++) {
        if (joins && i == start)
            paste(this, &from->items[i]);
        else
            add_made(this, &from->items[i]);
    }
}

/* Handles token i of the body; returns the last token that it consumed. */
static size_t fill_token(filling *this, size_t i)
{
    const tj_macro *macro = this->macro;
    const tj_tokens *body = &macro->tokens;
    size_t k = tj_macro_parameter(macro, i);
    bool quotes = macro->is_function && tj_token_at(body, i, "#") && i + 1 < body->count &&
                  tj_macro_parameter(macro, i + 1) < macro->nparameters;
    tj_token token = at_name(this, &body->items[i]);
    if (tj_token_at(body, i, "##") && i > macro->body) {
        this->pastes = true;
        return i;
    }
    if (quotes) {
        token.kind = TJ_TOKEN_STRING;
        token.text = "\"\""; /* no reader needs the contents */
        token.length = 2;
    }
    if (k < macro->nparameters) {
        add_argument(this, k, this->pastes || tj_token_at(body, i + 1, "##"));
    } else if (has_left_side(this)) {
        paste(this, &token);
    } else {
        this->operand = this->made.count;
        add_made(this, &token);
    }
    this->pastes = false;
    return i + quotes;
}

/* Returns true if the macro is certainly defined: its condition is still open, or it has none. */
static bool is_certain(const expansion *this, const tj_macro *macro)
{
    bool certain = macro->branch == 0;
    for (size_t i = 0; i < this->nconditions && !certain; i++)
        certain = this->conditions[i].branch == macro->branch;
    return certain;
}

/* Replaces the name by the body. */
static void use(run *this, const tj_token *name, tj_macro *macro, arguments *given)
{
    filling body = {.run = this,
                    .macro = macro,
                    .given = given,
                    .name = name,
                    .doubtful = name->doubtful || !is_certain(this->whole, macro)};
    if (body.doubtful) {
        add_made(&body,
                 &(tj_token){
                     .kind = TJ_TOKEN_DOUBT, .text = "", .start = name->start, .end = name->end});
        this->whole->text->doubts = true;
    }
    for (size_t i = macro->body; i < macro->tokens.count && !has_ended(this); i++)
        i = fill_token(&body, i);
    push(this, &body.made, macro);
}

static void replace(run *this, tj_token name, tj_macro *macro)
{
    arguments given = {.count = 0};
    if (macro->busy || (macro->is_function && !is_called(this))) {
        name.plain = macro->busy;
        add(this, this->out, &name);
    } else if (this->whole->levels >= TJ_MAX_MACRO_LEVELS) {
        end_early(this, &name, "nested too deeply: macros that use macros");
    } else {
        this->whole->levels++; /* arguments nest, too */
        if (!macro->is_function || read_arguments(this, macro, &given)) {
            use(this, &name, macro, &given);
        } else { /* the parentheses are not closed: no call */
            add(this, this->out, &name);
            add(this, this->out, &given.open);
            for (size_t i = 0; i < given.all.count; i++)
                add(this, this->out, &given.all.items[i]);
        }
        this->whole->levels--;
    }
    for (size_t i = 0; i < given.count; i++)
        tj_tokens_clear(&given.items[i].full);
    tj_free(given.items);
    tj_tokens_clear(&given.all);
}

static void expand_sources(run *this)
{
    tj_token token;
    while (!has_ended(this) && next(this, &token)) {
        tj_macro *macro = NULL;
        bool fine = true;
        if (token.kind == TJ_TOKEN_NAME && !token.plain)
            macro = tj_macros_find(this->whole->shared->macros, &token, &fine);
        this->whole->failed |= !fine;
        if (macro)
            replace(this, token, macro);
        else
            add(this, this->out, &token);
    }
}

/* ---- conditions ----------------------------------------------------------------------- */

/* The place of a directive in the raw tokens of a text. */
typedef struct directive {
    const tj_tokens *raw;
    size_t at, end;
    const tj_token *word;
} directive;

/* Returns the digit of "#if 0" or "#if 1", else '?'. */
static char value_of(const directive *this)
{
    const tj_token *token = &this->raw->items[this->at + 2];
    bool digit = this->end == this->at + 3 && token->length == 1;
    return tj_token_at(this->raw, this->at + 1, "ifdef") &&
                   tj_token_at(this->raw, this->at + 2, "__cplusplus")
               ? '0'
           : digit && (*token->text == '0' || *token->text == '1') ? *token->text
                                                                   : '?';
}

/* Checks the depth of the expression of an #if, which the compiler parses by recursion, too. */
static void check_expression(run *this, const directive *at)
{
    tj_tokens out = {0};
    tj_fault *fault = &this->whole->text->fault;
    expand_list(this->whole, at->raw, at->at + 2, at->end, &out);
    if (!has_ended(this) && !tj_nesting_check(&out, true, fault))
        this->whole->failed = true;
    tj_tokens_clear(&out);
}

static void open_condition(run *this, const directive *at, char value)
{
    expansion *whole = this->whole;
    if (whole->nconditions == TJ_MAX_CONDITIONS) {
        end_early(this, at->word, "nested too deeply: more than 64 #if are open");
        return;
    }
    whole->conditions[whole->nconditions++] = (condition){.branch = ++whole->shared->newest,
                                                          .start = at->word->start,
                                                          .end = at->word->end,
                                                          .skips = value == '0',
                                                          .decided = value == '1'};
    put_mark(this, TJ_TOKEN_IF, at->word);
}

static void next_way(run *this, const directive *at, bool is_else, char value)
{
    expansion *whole = this->whole;
    condition *open = whole->nconditions ? &whole->conditions[whole->nconditions - 1] : NULL;
    if (!open || open->has_else) {
        end_early(this, at->word, open ? "behind #else" : "without #if");
        return;
    }
    if (!open->skips)
        put_mark(this, TJ_TOKEN_ELSE, at->word);
    open->branch = ++whole->shared->newest;
    open->has_else = is_else;
    open->skips = open->decided || value == '0';
    open->decided |= value == '1';
}

static void close_condition(run *this, const directive *at)
{
    expansion *whole = this->whole;
    condition *open = whole->nconditions ? &whole->conditions[whole->nconditions - 1] : NULL;
    if (!open) {
        end_early(this, at->word, "#endif without #if");
        return;
    }
    if (!open->skips)
        put_mark(this, TJ_TOKEN_WAY, at->word);
    if (!open->has_else && !open->decided) /* or no branch is compiled */
        put_mark(this, TJ_TOKEN_WAY, at->word);
    put_mark(this, TJ_TOKEN_ENDIF, at->word);
    whole->nconditions--;
}

/* Handles #if ... #endif. Returns false for other directives. */
static bool read_condition(run *this, const directive *at)
{
    bool opens = tj_token_among(at->raw, at->at + 1, "if ifdef ifndef");
    bool is_else = tj_token_is(at->word, "else"), is_elif = tj_token_is(at->word, "elif");
    if (is_elif || tj_token_is(at->word, "if"))
        check_expression(this, at);
    if (has_ended(this))
        return true;
    if (opens)
        open_condition(this, at, value_of(at));
    else if (is_else || is_elif)
        next_way(this, at, is_else, is_elif ? value_of(at) : '?');
    else if (tj_token_is(at->word, "endif"))
        close_condition(this, at);
    else
        return false;
    size_t open = this->whole->nconditions;
    if (open > 0 && this->whole->conditions[open - 1].skips)
        this->whole->at = tj_tokens_behind_dead_lines(at->raw, at->at);
    return true;
}

/* ---- directives -------------------------------------------------------------- */

/* Returns true for "<math.h>" and similar headers, whose macros create no declarations. */
static bool is_known_header(const tj_tokens *raw, size_t at, size_t end)
{
    bool bracket = end == at + 7 && tj_token_at(raw, at + 2, "<") && tj_token_at(raw, at + 6, ">");
    bool numpy = tj_token_at(raw, at + 2, "<") && tj_token_at(raw, at + 3, "numpy");
    bool own =
        bracket && raw->items[at + 3].length > 4 && !memcmp(raw->items[at + 3].text, "cwj_", 4);
    return numpy || own ||
           (bracket &&
            tj_token_among(
                raw, at + 3,
                "alloca assert complex ctype errno fenv float inttypes iso646 limits locale math "
                "setjmp signal stdalign stdarg stdbool stddef stdint stdio stdlib string strings "
                "tgmath time unistd wchar wctype Python pyerrors stdatomic") &&
            tj_token_at(raw, at + 4, "."));
}

/* Handles #define and #undef. */
static void read_definition(expansion *this, const directive *at)
{
    size_t open = this->nconditions;
    if (at->at + 2 >= at->end || !tj_token_is_name(at->raw, at->at + 2))
        return;
    const tj_token *name = &at->raw->items[at->at + 2];
    const char *text = tj_token_is(at->word, "undef") ? NULL : this->piece->text + name->start;
    this->failed |=
        !tj_macros_define(this->shared->macros, text, at->raw->items[at->end - 1].end - name->start,
                          name, open ? this->conditions[open - 1].branch : 0);
}

static void read_directive(run *this)
{
    const tj_tokens *raw = &this->whole->text->raw;
    directive here = {raw, this->whole->at, tj_tokens_behind_line(raw, this->whole->at),
                      &raw->items[this->whole->at + 1]};
    this->whole->at = here.end;
    if (here.end == here.at + 1 || read_condition(this, &here))
        return;
    if (tj_token_is(here.word, "define") || tj_token_is(here.word, "undef"))
        read_definition(this->whole, &here);
    else if (tj_token_is(here.word, "include"))
        this->whole->shared->includes |= !is_known_header(raw, here.at, here.end);
}

bool tj_expand(tj_expander *expander, const tj_piece *piece, tj_expanded *expanded)
{
    expansion whole = {.shared = expander, .piece = piece, .text = expanded};
    run this = {.whole = &whole, .reads_text = true, .out = &expanded->tokens};
    *expanded = (tj_expanded){0};
    bool fine = tj_tokens_list(&expanded->raw, piece->text, piece->length);
    whole.most_work = TJ_MAX_EXPANSION + TJ_MAX_EXPANSION_RATE * expanded->raw.count;
    if (fine)
        expand_sources(&this);
    if (fine && !has_ended(&this) && whole.nconditions > 0) {
        const condition *open = &whole.conditions[whole.nconditions - 1];
        expanded->fault = (tj_fault){"#if without #endif", open->start, open->end};
    }
    clear_run(&this);
    return fine && !whole.failed && tj_tokens_pair(&expanded->tokens);
}

void tj_expanded_clear(tj_expanded *expanded)
{
    tj_tokens_clear(&expanded->raw);
    tj_tokens_clear(&expanded->tokens);
    *expanded = (tj_expanded){0};
}
