/* divisors.c: writes cwj_divisor(b) for the b of a / b (divisors.h). */
#include "read/divisors.h"

#include <string.h>

#include "read/operands.h"

const char *tj_divisors_macro(void)
{
    return "#if defined(__GNUC__) && !defined(__clang__)\n"
           "static inline __attribute__((always_inline, unused)) const void *cwj_behind(const void "
           "*p) { return p; }\n"
           "#define cwj_divisor(x) __builtin_choose_expr(__builtin_constant_p(x), (x), *(const "
           "__typeof__((x) + 0) *)"
           "cwj_behind(&(const __typeof__((x) + 0)){x}))\n"
           "#else\n#define cwj_divisor(x) (x)\n#endif\n";
}

/* Returns the token behind the divisor that begins at i; i: it stays. */
static size_t mark_one(tj_operands *this, size_t i)
{
    size_t behind = tj_operands_behind_unary(this, i);
    bool literal = behind == i + 1 && tj_operands_is_literal(this, i);
    bool goes_on =
        tj_operands_is_primary(this, behind); /* a macro that is an index, or arguments */
    bool cut = behind == this->end && behind < this->tokens.count;
    if (behind == i || literal || goes_on || cut ||
        !tj_operands_is_certain(this, i, behind, TJ_CLOSED))
        return i;
    this->marks[i].opens++;
    this->marks[behind - 1].closes++;
    return behind;
}

/* The macro names its argument five times: a divisor in the divisor of a divisor stays. */
static void mark_range(tj_operands *this)
{
    size_t depth = this->depth, outer = 0, inner = 0;
    if (this->is_body && this->computes)
        return;
    for (size_t i = this->begin; i < this->end; i++) {
        depth += tj_operands_in(this, i, "{");
        depth -= depth > 0 && tj_operands_in(this, i, "}");
        if ((depth == 0 && !this->is_body) || i < inner || !tj_operands_any(this, i, "/ %"))
            continue;
        size_t behind = mark_one(this, i + 1);
        if (i < outer)
            inner = behind;
        else
            outer = behind;
    }
}

void tj_divisors_write(const char *text, tj_text *out)
{
    tj_operands operands;
    size_t length = strlen(text);
    if (tj_operands_read(&operands, text, length)) {
        tj_operands_each_range(&operands, mark_range);
        tj_operands_write(&operands, text, length, "cwj_divisor(", false, out);
    } else {
        out->failed = true;
    }
    tj_operands_clear(&operands);
}
