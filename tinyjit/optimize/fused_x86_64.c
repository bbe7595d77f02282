/* fused_x86_64.c: finds x86-64 instructions that multiply and add with one rounding.
 *
 * gcc 12 recognises complex products and emits fused instructions for them despite -ffp-contract=off, if the
 * processor has them in any form. AVX-512 has some that -mno-fma does not disable. Code without AVX-512 can
 * be half as fast, so the code is checked instead, and compiled again without AVX-512 only if it fuses.
 *
 * On x86-64 all such instructions are in the maps 0F38 (and 6, for half floats) of the prefixes VEX and EVEX,
 * with opcodes 96-9F, A6-AF and B6-BF. First every byte is treated as the first of an instruction. This
 * sometimes finds too many, but misses none. If it finds any, the code is searched again, instruction by
 * instruction. If that search meets an unknown instruction, the code counts as fused.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 (formats, VEX in
 * 2.3.5, EVEX in 2.7.1) and appendix A (opcode maps). */
#include "internal.h"

enum {
    VEX2 = 0xc5,
    VEX3 = 0xc4,
    EVEX = 0x62,
    MAP_ONE = 0, /* opcodes without a 0F prefix */
    MAP_0F = 1,
    MAP_0F38 = 2,
    MAP_0F3A = 3,
    MAP_HALF = 6,
    PREFIX_66 = 1
};

/* ---- search at every byte ------------------------------------------------ */

/* Returns true if an instruction with this opcode fuses. With calls_fma, only those count that alternately add and
 * subtract (6 and 7 of each row), which complex products use; a call of fma() becomes one of the others. */
static bool is_fused_opcode(unsigned char opcode, bool calls_fma)
{
    unsigned last = opcode & 0x0f;
    return opcode >= 0x96 && opcode <= 0xbf && last >= 6 && (!calls_fma || last <= 7);
}

/* Returns true for a fused instruction that begins with the prefix at `code`. At least five bytes can be read. */
static bool is_fused(const unsigned char *code, bool calls_fma)
{
    unsigned map = code[1] & 7u;
    if (code[0] == VEX3)
        return (code[1] & 0x1f) == MAP_0F38 && (code[2] & 3) == PREFIX_66 &&
               is_fused_opcode(code[3], calls_fma);
    return code[0] == EVEX && (map == MAP_0F38 || map == MAP_HALF) && (code[2] & 3) == PREFIX_66 &&
           is_fused_opcode(code[4], calls_fma);
}

/* ---- search by instructions ---------------------------------------------- */

/* One instruction: the facts that determine its length. */
typedef struct instruction {
    const unsigned char *at, *end; /* the next byte, and the end of the code */
    bool short_operand;            /* prefix 66: immediates have two bytes */
    bool wide;                     /* REX.W */
    bool vector;                   /* VEX or EVEX */
    int map;
    unsigned char opcode;
} instruction;

/* Returns the next byte, or 0 after the end; the result is then not used. */
static unsigned char next_byte(instruction *this)
{
    return this->at < this->end ? *this->at++ : 0;
}

static void read_prefixes(instruction *this)
{
    for (;; this->at++) {
        unsigned char byte = this->at < this->end ? *this->at : 0;
        if (byte == 0x66)
            this->short_operand = true;
        else if (byte != 0xf2 && byte != 0xf3 && byte != 0xf0 && byte != 0x2e && byte != 0x36 &&
                 byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65)
            break;
    }
    if (this->at < this->end && (*this->at & 0xf0) == 0x40)
        this->wide = next_byte(this) & 8;
}

static void read_opcode(instruction *this)
{
    unsigned char byte = next_byte(this);
    if (byte == VEX2 || byte == VEX3 || byte == EVEX) {
        unsigned char first = next_byte(this);
        this->vector = true;
        this->map = byte == VEX2 ? MAP_0F : byte == VEX3 ? first & 0x1f : first & 7;
        this->at += byte == VEX2 ? 0 : byte == VEX3 ? 1 : 2;
        byte = next_byte(this);
    } else if (byte == 0x0f) {
        byte = next_byte(this);
        this->map = byte == 0x38 ? MAP_0F38 : byte == 0x3a ? MAP_0F3A : MAP_0F;
        if (this->map != MAP_0F)
            byte = next_byte(this);
    }
    this->opcode = byte;
}

/* Says whether a ModRM byte follows. 1: yes, 0: no, -1: the instruction is not known here. Of the opcodes
 * without 0F, only those that compilers emit are known. */
static int has_operands(const instruction *this)
{
    unsigned char op = this->opcode;
    if (this->map == MAP_0F38 || this->map == MAP_0F3A ||
        (this->vector && (this->map == 5 || this->map == MAP_HALF)))
        return 1;
    if (this->map == MAP_0F)
        return op == 0x77 || op == 0x0b || op == 0x05 || op == 0xa2 || (op & 0xf8) == 0xc8 ||
                       (!this->vector && (op & 0xf0) == 0x80)
                   ? 0
                   : 1;
    if (this->map != MAP_ONE)
        return -1;
    if (op < 0x40)
        return (op & 7) < 4 ? 1 : (op & 7) < 6 ? 0 : -1;
    if ((op & 0xf0) == 0x50 || op == 0x68 || op == 0x6a || (op & 0xf0) == 0x70 ||
        ((op & 0xf0) == 0x90 && op != 0x9a) || (op >= 0xa4 && op <= 0xaf) || (op & 0xf0) == 0xb0 ||
        op == 0xc2 || op == 0xc3 || op == 0xc9 || op == 0xcc || op == 0xe3 || op == 0xe8 ||
        op == 0xe9 || op == 0xeb || op == 0xf4)
        return 0;
    return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) || op == 0xc0 ||
                   op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) ||
                   (op >= 0xd8 && op <= 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe
               ? 1
               : -1;
}

/* Reads and returns the ModRM byte, and skips the address after it. */
static unsigned char read_operands(instruction *this)
{
    unsigned char byte = next_byte(this);
    int mode = byte >> 6, base = byte & 7;
    if (mode == 3)
        return byte;
    if (base == 4)
        base = next_byte(this) & 7;
    else if (mode == 0 && base == 5)
        mode = 2; /* relative to the next instruction */
    if (mode == 0 && base == 5)
        mode = 2; /* no base */
    this->at += mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return byte;
}

/* Returns the size of the constant at the end, in bytes. */
static int immediate_size(const instruction *this, unsigned char operands)
{
    unsigned char op = this->opcode;
    int usual = this->short_operand ? 2 : 4;
    if (this->map == MAP_0F3A)
        return 1;
    if (this->map == MAP_0F) {
        if (!this->vector && (op & 0xf0) == 0x80)
            return 4;
        return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
                       (op >= 0xc4 && op <= 0xc6)
                   ? 1
                   : 0;
    }
    if (this->map != MAP_ONE)
        return 0;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? usual : 0;
    if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
        return usual;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    if ((op & 0xf8) == 0xb8)
        return this->wide ? 8 : usual;
    if (op == 0xf6 || op == 0xf7)
        return (operands >> 3 & 7) < 2 ? (op == 0xf6 ? 1 : usual) : 0;
    return op == 0x6a || op == 0x6b || (op & 0xf0) == 0x70 || op == 0x80 || op == 0x83 ||
                   op == 0xa8 || (op & 0xf8) == 0xb0 || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
                   op == 0xe3 || op == 0xeb
               ? 1
           : op == 0xc2 ? 2
                        : 0;
}

size_t tj_x86_64_length(const unsigned char *code, size_t size)
{
    instruction this = {.at = code, .end = code + size};
    unsigned char operands = 0;
    read_prefixes(&this);
    read_opcode(&this);
    int with = has_operands(&this);
    if (with < 0)
        return 0;
    if (with)
        operands = read_operands(&this);
    this.at += immediate_size(&this, operands);
    return this.at <= this.end ? (size_t)(this.at - code) : 0;
}

bool tj_x86_64_fuses(const unsigned char *code, size_t size, bool calls_fma)
{
    bool may_fuse = false;
    for (size_t i = 0; i + 5 <= size && !may_fuse; i++)
        may_fuse = (code[i] == VEX3 || code[i] == EVEX) && is_fused(code + i, calls_fma);
    while (may_fuse && size > 0) {
        size_t length = tj_x86_64_length(code, size);
        if (length == 0 || (size >= 5 && is_fused(code, calls_fma)))
            return true;
        code += length;
        size -= length;
    }
    return false;
}
