/* fused_aarch64.c: finds arm64 instructions that multiply and add with one rounding.
 *
 * Every arm64 processor has fused instructions, and -ffp-contract=off prevents compilers from using them for a product
 * and a sum. But gcc 12 still recognises complex products if the processor has FCMLA (Armv8.3 and later, and SVE),
 * which rounds once. Code that contains one is compiled again for Armv8.0, which has no FCMLA.
 *
 * All instructions have four bytes. We do not look for instructions that only intrinsics produce (products of half
 * floats or bfloat16 into wider sums), because their users ask for them.
 *
 * Source: Arm Architecture Reference Manual for A-profile (DDI 0487), C4.1, index by encoding. */
#include "internal.h"

#include <stdint.h>
#include <string.h>

/* An instruction is of this kind if its bits under the mask have this value. */
typedef struct kind {
    uint32_t mask, bits;
    bool is_complex; /* fma() never becomes one */
} kind;

static const kind kinds[] = {
    {0xff000000, 0x1f000000, false}, /* FMADD, FMSUB, FNMADD, FNMSUB */
    {0xbf20fc00, 0x0e20cc00, false}, /* FMLA, FMLS of vectors */
    {0xbf60fc00, 0x0e400c00, false}, /* of half floats */
    {0xaf00b400, 0x0f001000, false}, /* by one element, scalar or vector */
    {0xff200000, 0x65200000, false}, /* SVE: FMLA, FMLS, FMAD, FMSB and their negated forms */
    {0xff20f800, 0x64200000, false}, /* SVE: by one element */
    {0xbf20e400, 0x2e00c400, true},  /* FCMLA */
    {0xbf009400, 0x2f001000, true},  /* by one element */
    {0xff208000, 0x64000000, true},  /* SVE */
    {0xff20f000, 0x64201000, true},  /* SVE: by one element */
};

bool tj_aarch64_fuses(const unsigned char *code, size_t size, bool calls_fma)
{
    uint32_t instruction;
    bool found = false;
    for (size_t at = 0; at + sizeof instruction <= size && !found; at += sizeof instruction) {
        memcpy(&instruction, code + at, sizeof instruction);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            found |= (instruction & kinds[i].mask) == kinds[i].bits &&
                     (kinds[i].is_complex || !calls_fma);
    }
    return found;
}
