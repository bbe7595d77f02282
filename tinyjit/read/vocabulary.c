/* vocabulary.c: finds the kind of keyword that a name is (tokens.h). */
#include "read/tokens.h"

typedef struct row {
    const char *word;
    tj_word kind;
} row;

/* Sorted in the order of strcmp(). */
static const row rows[] = {
    {"_Alignas", TJ_ATTRIBUTE},
    {"_Alignof", TJ_MEASURE},
    {"_Atomic", TJ_QUALIFIER},
    {"_BitInt", TJ_TYPE},
    {"_Bool", TJ_TYPE},
    {"_Complex", TJ_TYPE},
    {"_Decimal128", TJ_TYPE},
    {"_Decimal32", TJ_TYPE},
    {"_Decimal64", TJ_TYPE},
    {"_Float128", TJ_TYPE},
    {"_Float16", TJ_TYPE},
    {"_Float32", TJ_TYPE},
    {"_Float32x", TJ_TYPE},
    {"_Float64", TJ_TYPE},
    {"_Float64x", TJ_TYPE},
    {"_Generic", TJ_OTHER_WORD},
    {"_Imaginary", TJ_TYPE},
    {"_Noreturn", TJ_STORAGE},
    {"_Pragma", TJ_OTHER_WORD},
    {"_Static_assert", TJ_OTHER_WORD},
    {"_Thread_local", TJ_THREAD_LOCAL},
    {"__alignof", TJ_MEASURE},
    {"__alignof__", TJ_MEASURE},
    {"__asm", TJ_ASSEMBLER},
    {"__asm__", TJ_ASSEMBLER},
    {"__attribute", TJ_ATTRIBUTE},
    {"__attribute__", TJ_ATTRIBUTE},
    {"__auto_type", TJ_TYPE},
    {"__builtin_va_list", TJ_TYPE},
    {"__complex__", TJ_TYPE},
    {"__const", TJ_QUALIFIER},
    {"__const__", TJ_QUALIFIER},
    {"__declspec", TJ_ATTRIBUTE},
    {"__extension__", TJ_EXTENSION},
    {"__float128", TJ_TYPE},
    {"__inline", TJ_STORAGE},
    {"__inline__", TJ_STORAGE},
    {"__int128", TJ_TYPE},
    {"__int128_t", TJ_TYPE},
    {"__label__", TJ_OTHER_WORD},
    {"__pragma", TJ_OTHER_WORD},
    {"__restrict", TJ_QUALIFIER},
    {"__restrict__", TJ_QUALIFIER},
    {"__signed", TJ_TYPE},
    {"__signed__", TJ_TYPE},
    {"__thread", TJ_THREAD_LOCAL},
    {"__typeof", TJ_TYPEOF},
    {"__typeof__", TJ_TYPEOF},
    {"__uint128_t", TJ_TYPE},
    {"__volatile", TJ_QUALIFIER},
    {"__volatile__", TJ_QUALIFIER},
    {"asm", TJ_ASSEMBLER},
    {"auto", TJ_STORAGE},
    {"bool", TJ_TYPE},
    {"break", TJ_STATEMENT},
    {"case", TJ_STATEMENT},
    {"char", TJ_TYPE},
    {"const", TJ_QUALIFIER},
    {"continue", TJ_STATEMENT},
    {"default", TJ_STATEMENT},
    {"do", TJ_STATEMENT},
    {"double", TJ_TYPE},
    {"else", TJ_STATEMENT},
    {"enum", TJ_DEFINER},
    {"extern", TJ_STORAGE},
    {"float", TJ_TYPE},
    {"for", TJ_STATEMENT},
    {"goto", TJ_STATEMENT},
    {"if", TJ_STATEMENT},
    {"inline", TJ_STORAGE},
    {"int", TJ_TYPE},
    {"long", TJ_TYPE},
    {"register", TJ_STORAGE},
    {"restrict", TJ_QUALIFIER},
    {"return", TJ_STATEMENT},
    {"short", TJ_TYPE},
    {"signed", TJ_TYPE},
    {"sizeof", TJ_MEASURE},
    {"static", TJ_STORAGE},
    {"static_assert", TJ_OTHER_WORD},
    {"struct", TJ_DEFINER},
    {"switch", TJ_STATEMENT},
    {"thread_local", TJ_THREAD_LOCAL},
    {"typedef", TJ_TYPEDEF},
    {"typeof", TJ_TYPEOF},
    {"union", TJ_DEFINER},
    {"unsigned", TJ_TYPE},
    {"void", TJ_TYPE},
    {"volatile", TJ_QUALIFIER},
    {"while", TJ_STATEMENT},
};

tj_word tj_word_of(const char *name, size_t length)
{
    size_t low = 0, high = sizeof rows / sizeof *rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *word = rows[middle].word;
        int order = strncmp(name, word, length); /* the name is not NUL-terminated */
        if (!order && !word[length])
            return rows[middle].kind;
        if (order <= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return TJ_NO_WORD;
}

const char *const tj_value_prefixes[] = {"item__",
                                         "ctype__",
                                         "data_slice__",
                                         "data__",
                                         "dims_slice__",
                                         "strides_slice__",
                                         "Ndims_slice__",
                                         "dims_full__",
                                         "strides_full__",
                                         "Ndims_full__",
                                         "sizeof_element__",
                                         "CHECK_CONTIGUOUS__",
                                         "CHECK_CONTIGUOUS_AND_SETERROR__",
                                         NULL};
