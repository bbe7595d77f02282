/* hints.c: adds explanations for beginners to the compiler's messages.
 *
 * libtcc names the token at which it stopped, which often is not the fault. A hint is added only if the text
 * shows the intention. */
#include <ctype.h>
#include <limits.h>

#include "emit/emit.h"
#include "read/tokens.h"

void tj_message_add_hint(tj_message *message, const tj_text *hint)
{
    tj_text text = {0};
    tj_text_printf(&text, "%s (%s)", message->text, hint->data ? hint->data : "");
    if (hint->failed || text.failed) {
        tj_text_clear(&text);
        return;
    }
    tj_free(message->text);
    message->text = text.data;
}

/* Returns the quoted name that follows `before`, owned; NULL: the message is different. */
static char *name_behind(const char *text, const char *before)
{
    size_t length = strlen(before);
    if (strncmp(text, before, length) != 0)
        return NULL;
    return tj_copy_bytes(text + length, strcspn(text + length, "'"));
}

/* ---- for all texts ------------------------------------------------------------- */

/* Headers, each with names of functions in it, between blanks. */
static const char *const headers[][2] = {
    {"alloca.h", " alloca "},
    {"assert.h", " assert "},
    {"ctype.h", " isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace "
                "isupper isxdigit tolower toupper "},
    {"fcntl.h", " open creat fcntl "},
    {"inttypes.h", " imaxabs imaxdiv strtoimax strtoumax "},
    {"math.h", " j0 j1 jn y0 y1 yn gamma gammaf lgamma_r significand drem scalb finite "},
    {"pthread.h", " pthread_create pthread_join pthread_self pthread_mutex_lock "
                  "pthread_mutex_unlock pthread_once "},
    {"setjmp.h", " setjmp longjmp "},
    {"signal.h", " signal raise sigaction kill "},
    {"stdarg.h", " va_start va_arg va_end va_copy "},
    {"stdio.h", " fopen fclose fread fgets fscanf sscanf scanf getline perror rewind fseek ftell "
                "asprintf remove rename tmpfile "},
    {"stdlib.h", " setenv unsetenv mkstemp drand48 lrand48 srand48 random srandom posix_memalign "
                 "realpath "},
    {"string.h", " strdup strndup strcasecmp strtok_r memmem mempcpy stpcpy strsep strnlen "},
    {"strings.h", " strcasecmp strncasecmp ffs bzero "},
    {"sys/mman.h", " mmap munmap mprotect madvise "},
    {"sys/stat.h", " stat fstat lstat mkdir chmod "},
    {"sys/time.h", " gettimeofday "},
    {"time.h", " time clock clock_gettime difftime localtime gmtime mktime strftime nanosleep "},
    {"unistd.h", " sleep usleep getpid getppid read write close access unlink lseek sysconf "
                 "isatty getcwd fsync "},
    {"wchar.h", " wcslen wcscpy wcscmp mbstowcs "},
};

static const char must_include[] = "it is declared in <%s>: the text must include that";

static bool hint_header(const tj_message *message, tj_text *hint)
{
    char *name = name_behind(message->text, "implicit declaration of function '");
    tj_text word = {0};
    tj_text_printf(&word, " %s ", name ? name : "");
    for (size_t i = 0; name && !word.failed && i < sizeof headers / sizeof *headers; i++)
        if (!hint->length && strstr(headers[i][1], word.data))
            tj_text_printf(hint, must_include, headers[i][0]);
    for (int i = 0; name && !hint->length && i < TJ_IMPLIED_HEADERS; i++)
        if (tj_implied_header_has(i, name))
            tj_text_printf(hint, must_include, tj_implied_header(i));
    tj_text_clear(&word);
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

/* Explains sizes that libtcc cannot represent. Smaller data reaches the limit when its memory is allocated. */
static bool hint_size(const tj_message *message, tj_text *hint)
{
    static const char bytes[] = "2 GiB and more are above any cwrapjit.config.compile_memory";
    static const char *const too_large[][2] = {
        {"constant exceeds 32 bit", bytes},
        {"invalid array size", bytes},
        {"unknown type size", bytes},
        {"memory full (vstack)", "libtcc takes calls of at most 500 arguments"}};
    for (size_t i = 0; i < sizeof(too_large) / sizeof(*too_large); i++)
        if (!strcmp(message->text, too_large[i][0]))
            tj_text_puts(hint, too_large[i][1]);
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

/* Words of Python and C++: the word, the compiler's message, and the C equivalent. */
static const char *const words[][2] = {
    {"implicit declaration of function 'max'", "of floating numbers it is fmax"},
    {"implicit declaration of function 'min'", "of floating numbers it is fmin"},
    {"'math' undeclared", "C's functions have no module in front: sqrt(x)"},
    {"'np' undeclared", "C's functions have no module in front: sqrt(x)"},
    {"'pi' undeclared", "C calls it M_PI"},
    {"';' expected (got 'and')", "C writes it &&"},
    {"';' expected (got 'or')", "C writes it ||"},
    {"';' expected (got 'if')", "C writes it condition ? a : b"},
    {"expression expected before 'float'", "C writes a cast (float)(x)"},
    {"expression expected before 'double'", "C writes a cast (double)(x)"},
    {"expression expected before 'int'", "C writes a cast (int)(x)"},
    {"'static_cast' undeclared", "C writes a cast (float)(x)"},
};

static bool hint_word(const tj_message *message, tj_text *hint)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(message->text, words[i][0]))
            tj_text_puts(hint, words[i][1]);
    return hint->length > 0;
}

/* Explains "double x[n]" where n is not a parameter. */
static bool hint_dim(const tj_message *message, tj_text *hint)
{
    char *name = name_behind(message->text, "'");
    tj_text dim = {0};
    tj_text_printf(&dim, "[%s]", name ? name : "");
    const char *open = name && message->source ? strchr(message->source, '(') : NULL;
    if (open && strstr(message->text, "' undeclared") && !dim.failed && strstr(open, dim.data))
        tj_text_printf(hint, "is 'int %s' missing among the parameters?", name);
    tj_text_clear(&dim);
    tj_free(name);
    return hint->length > 0;
}

/* Explains powers: in C, x ** y is x times the target of y, and x ^ y is a bit operation. */
static bool hint_power(const tj_message *message, tj_text *hint)
{
    bool pointer = !strcmp(message->text, "pointer expected");
    bool bits = !strcmp(message->text, "invalid operand types for binary operation");
    const char *sign = pointer ? "**" : bits ? "^" : NULL;
    if (sign && message->source && strstr(message->source, sign))
        tj_text_puts(hint, "C has no operator for powers: pow(x, y)");
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
    tj_text hint = {0};
    if (hint_header(message, &hint) || hint_size(message, &hint) ||
        hint_last_semicolon(message, piece, &hint) || hint_semicolon(message, piece, &hint) ||
        hint_word(message, &hint) || hint_power(message, &hint) || hint_dim(message, &hint) ||
        hint_macro(message, piece, &hint))
        tj_message_add_hint(message, &hint);
    tj_text_clear(&hint);
}

/* ---- for the snippets of functions ------------------------------------------------- */

static void list_operands(const tj_spec *spec, tj_text *hint)
{
    for (int k = 0; k < spec->noperands; k++)
        tj_text_printf(hint, "%s%s", k ? ", " : "", spec->operands[k].name);
}

static const tj_operand *find_operand(const tj_spec *spec, const char *name)
{
    for (int k = 0; k < spec->noperands; k++)
        if (!strcmp(spec->operands[k].name, name))
            return &spec->operands[k];
    return NULL;
}

/* Explains "item__z" and similar names of an unknown operand, and the bare name of an operand. */
static void hint_name(const tj_spec *spec, const char *name, tj_text *hint)
{
    for (const char *const *prefix = tj_value_prefixes; !hint->length && *prefix; prefix++) {
        size_t length = strlen(*prefix);
        if (!strncmp(name, *prefix, length) && !find_operand(spec, name + length)) {
            tj_text_printf(hint, "there is no operand '%s'; there are ", name + length);
            list_operands(spec, hint);
        }
    }
    if (!hint->length && find_operand(spec, name))
        tj_text_printf(hint, "an element of '%s' is item__%s(...)", name, name);
    if (!hint->length && (!strcmp(name, "True") || !strcmp(name, "False")))
        tj_text_printf(hint, "C writes it %s", *name == 'T' ? "true" : "false");
}

static void hint_indices(const tj_operand *operand, tj_text *hint)
{
    if (operand->ndims == 0)
        tj_text_printf(hint, "a slice of '%s' is one element: item__%s()", operand->name,
                       operand->name);
    else
        tj_text_printf(hint, "item__%s() takes %d ind%s, one for each dim of a slice of '%s'",
                       operand->name, operand->ndims, operand->ndims == 1 ? "ex" : "ices",
                       operand->name);
}

/* Returns true if the source line contains `before`, the operand's name and `after`, in this order. */
static bool shows(const tj_message *message, const char *before, const tj_operand *operand,
                  const char *after)
{
    tj_text text = {0};
    tj_text_printf(&text, "%s%s%s", before, operand->name, after);
    bool found = !text.failed && message->source && strstr(message->source, text.data);
    tj_text_clear(&text);
    return found;
}

/* Explains the line's use of an operand that the message is about. */
static void hint_use(const tj_spec *spec, const tj_message *message, tj_text *hint)
{
    bool writes = strstr(message->text, "read-only location") != NULL;
    bool lacks = !strncmp(message->text, "expression expected before ')'", 30);
    bool place = !strcmp(message->text, "lvalue expected");
    for (int k = 0; k < spec->noperands && !hint->length; k++) {
        const tj_operand *operand = &spec->operands[k];
        bool named =
            shows(message, "item__", operand, "(") || shows(message, "data_slice__", operand, "[");
        if (writes && operand->role == TJ_IN && named)
            tj_text_printf(hint, "'%s' is an input: args_inout=(\"%s\",) lets C write to it",
                           operand->name, operand->name);
        else if (lacks && operand->ndims && shows(message, "item__", operand, "()"))
            hint_indices(operand, hint);
        else if (place && operand->role == TJ_IN && shows(message, "&item__", operand, "("))
            tj_text_printf(hint,
                           "item__%s() of a bool that is only read is a value; "
                           "data_slice__%s is an address",
                           operand->name, operand->name);
    }
}

/* Explains arithmetic with C operators on complex numbers and float16, which are structs. */
static void hint_numbers(const tj_spec *spec, const tj_message *message, tj_text *hint)
{
    static const char *const about[] = {"invalid operand types",
                                        "cannot convert",
                                        "aggregate type",
                                        "a struct stands",
                                        "does not match any association",
                                        "type mismatch in conditional"};
    static const char *const ways[] = {
        "complex numbers are structs here: cadd, csub, cmul, cdiv and the functions of <complex.h> "
        "compute with them, .real and .imag are their parts",
        "a float16 is a struct here: half_to_float(item__x()) is its value, and "
        "float_to_half(value) "
        "makes one"};
    _Static_assert(sizeof ways / sizeof *ways == TJ_IMPLIED_HEADERS, "one for each");
    bool is_about = false;
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        is_about |= strstr(message->text, about[i]) != NULL;
    for (int i = 0; i < TJ_IMPLIED_HEADERS && is_about; i++)
        if (tj_implied_header_fits(i, spec))
            tj_text_printf(hint, "%s%s", hint->length ? "; " : "", ways[i]);
}

static void hint_snippet(const tj_spec *spec, tj_message *message)
{
    static const char *const macro = "macro 'item__";
    tj_text hint = {0};
    char *name = name_behind(message->text, "implicit declaration of function '");
    char *used = name_behind(message->text, macro);
    if (!name && strstr(message->text, "' undeclared"))
        name = name_behind(message->text, "'");
    if (name)
        hint_name(spec, name, &hint);
    else if (used && find_operand(spec, used))
        hint_indices(find_operand(spec, used), &hint);
    else
        hint_use(spec, message, &hint);
    if (!hint.length)
        hint_numbers(spec, message, &hint);
    if (hint.length)
        tj_message_add_hint(message, &hint);
    tj_free(name);
    tj_free(used);
    tj_text_clear(&hint);
}

void tj_messages_hint(const tj_spec *spec, tj_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++)
        if (messages->items[i].is_error)
            hint_snippet(spec, &messages->items[i]);
}
