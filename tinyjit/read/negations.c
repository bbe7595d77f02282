/* negations.c: writes -x as (-1*x) (negations.h).
 *
 * One pass over the tokens. A minus that cannot stand between two operands is unary; its operand ends as C's
 * grammar of unary expressions says. Whether (a) is a cast depends on what a is, and whether A is one operand
 * depends on the macro A. Where either is uncertain, the minus stays (operands.h). */
#include "read/negations.h"

#include "read/operands.h"

/* ---- unary minus --------------------------------------------------------- */

/* Returns true if the parenthesis that closes at i belongs to a cast. */
static bool ends_cast(const tj_operands *this, size_t i)
{
    static const char in_front[] = "return case else do";
    size_t open = tj_operands_mate(this, i);
    bool perhaps, measures = open > this->begin && !tj_operands_any(this, open - 1, in_front) &&
                             (tj_operands_is_primary(this, open - 1) ||
                              tj_operands_any(this, open - 1, "sizeof _Alignof typeof __typeof__"));
    return open < i && !measures && tj_operands_is_type(this, open, &perhaps);
}

/* Returns true if the minus at i has one operand and no operand before it, as far as the text shows. */
static bool is_unary(const tj_operands *this, size_t i)
{
    const tj_tokens *tokens = &this->tokens;
    size_t last = i == this->begin ? this->before : i - 1;
    if (i == this->begin && (this->is_body || last >= tokens->count))
        return i == 0 && !this->is_body;
    if (i > this->begin && tj_token_in(tokens, last, ")"))
        return ends_cast(this, last);
    if (tj_token_is_name(tokens, last))
        return tj_token_among(tokens, last, "return case else do sizeof _Alignof");
    return tokens->items[last].kind == TJ_TOKEN_PUNCTUATOR && !tj_token_in(tokens, last, ")]}") &&
           !tj_token_among(tokens, last, "++ --");
}

static void mark_range(tj_operands *this)
{
    for (size_t i = this->begin, behind; i<this->end; i = behind> i ? behind : i + 1) {
        behind = tj_operands_behind_call(this, i);
        if (!tj_operands_any(this, i, "-") || !is_unary(this, i))
            continue;
        size_t operand = i + 1, end = tj_operands_behind_whole(this, operand);
        if (end > operand) {
            this->marks[i].opens = 1;
            this->marks[end - 1].closes++;
        }
    }
}

void tj_negations_write(const char *text, tj_text *out)
{
    tj_operands_rewrite(text, NULL, mark_range, "(-1*", true, out);
}
