/* divisors.c: writes cwj_hidden(z, b) for b in a / b and in 0.0 - b (divisors.h). */
#include "read/divisors.h"

#include <string.h>

#include "read/operands.h"

/* Returns the macro cwj_hidden(). Its value has the type in which the operator computes: that of (x) + z. */
const char *tj_divisors_macro(void)
{
    return "#ifdef CWJ_GCC\n"
           "static inline __attribute__((always_inline, unused)) const void *cwj_behind(const void "
           "*p) { return p; }\n"
           "#define cwj_hidden(z, x) __builtin_choose_expr(__builtin_constant_p(x), (x), *(const "
           "__typeof__((x) + z) *)cwj_behind(&(const __typeof__((x) + z)){x}))\n"
           "#else\n#define cwj_hidden(z, x) (x)\n#endif\n";
}

/* If token i is a zero, returns the text that opens a hidden operand after it and its operator; else NULL. */
static const char *behind_zero(const tj_operands *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    size_t at = 0;
    if (token->kind != TJ_TOKEN_NUMBER)
        return NULL;
    while (at < token->length && strchr("0.", token->text[at]))
        at++;
    char next = at < token->length ? token->text[at] : '\0', last = token->text[token->length - 1];
    if (at == 0 || !strchr("eEfFlLuU", next))
        return NULL;
    if (!memchr(token->text, '.', token->length) && !(next && strchr("eE", next)))
        return "cwj_hidden(0, ";
    return strchr("fF", last)   ? "cwj_hidden(0.0f, "
           : strchr("lL", last) ? "cwj_hidden(0.0L, "
                                : "cwj_hidden(0.0, ";
}

/* Returns the text that opens the hidden operand after the operator at i; NULL: no operand is hidden. */
static const char *opening_at(const tj_operands *this, size_t i)
{
    if (tj_operands_any(this, i, "/ %"))
        return "cwj_hidden(0, ";
    return tj_operands_any(this, i, "- +") && i > this->begin ? behind_zero(this, i - 1) : NULL;
}

/* Marks operands to hide. The macro repeats its argument five times, so only two levels of operands are hidden. */
static void mark_range(tj_operands *this)
{
    size_t depth = this->depth, outer = 0, inner = 0;
    if (this->is_body && this->computes)
        return;
    for (size_t i = this->begin; i < this->end; i++) {
        depth += tj_operands_in(this, i, "{");
        depth -= depth > 0 && tj_operands_in(this, i, "}");
        const char *opening = opening_at(this, i);
        if ((depth == 0 && !this->is_body) || i < inner || !opening)
            continue;
        size_t operand = i + 1, behind = tj_operands_behind_whole(this, operand);
        if (behind > operand) {
            this->marks[operand].opens++;
            this->marks[operand].opening = opening;
            this->marks[behind - 1].closes++;
        }
        if (i < outer)
            inner = behind;
        else
            outer = behind;
    }
}

void tj_divisors_write(const char *text, tj_text *out)
{
    tj_operands_rewrite(text, NULL, mark_range, "", false, out);
}
