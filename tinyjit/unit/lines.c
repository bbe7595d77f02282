/* lines.c: finds the source line of a machine instruction.
 *
 * Objects of the system's compiler have a table of lines (DWARF 4), which is kept with their code. libtcc keeps none of
 * code that it makes in memory. A text whose lines are needed is therefore compiled again, to an object with such a
 * table in a file in memory. The machine code is the same, so offsets are the same, and the known address of one
 * function gives the addresses of all.
 *
 * One list holds the lines of the whole process, because code calls other code: C callbacks, functions of
 * other libraries. */
#include "internal.h"

#include "os/anonymous_file.h"

#include <stdint.h>
#include <string.h>

struct tj_lines {
    tj_line_table table; /* owned */
    const char *shown; /* `copied`, or borrowed; NULL: unknown */
    char *copied; /* owned, or NULL */
    tj_lines *next;
};

static tj_lines *known; /* guarded by the compile lock */

/* ---- creating the lines ----------------------------------------------------- */

tj_status tj_lines_read(int fd, const char *shown, const tj_anchor *anchors, tj_lines **lines,
                        tj_error *error)
{
    tj_lines *made = tj_alloc_zeroed(1, sizeof *made);
    tj_status status =
        made ? tj_object_lines(fd, anchors, &made->table, error) : tj_fail_no_memory(error);
    if (status) {
        tj_lines_free(made);
        return status;
    }
    made->shown = shown;
    tj_compile_lock();
    made->next = known;
    *lines = known = made;
    tj_compile_unlock();
    return TJ_OK;
}

tj_status tj_lines_new(const tj_environment *environment, const char *text, const char *shown,
                       const tj_anchor *anchors, tj_lines **lines, tj_error *error)
{
    *lines = NULL;
    shown = shown ? shown : text;
    char *copied = shown ? tj_copy_string(shown) : NULL;
    int fd = tj_file_new("cwrapjit lines");
    tj_status status = fd < 0 || (shown && !copied)
                           ? tj_fail_no_memory(error)
                           : tj_compile_to_file(environment, text, fd, error);
    if (status == TJ_OK)
        status = tj_lines_read(fd, copied, anchors, lines, error);
    if (status == TJ_OK)
        (*lines)->copied = copied;
    else
        tj_free(copied);
    tj_file_close(fd);
    return status;
}

void tj_lines_free(tj_lines *lines)
{
    if (!lines)
        return;
    tj_compile_lock();
    tj_lines **link = &known;
    while (*link && *link != lines)
        link = &(*link)->next;
    if (*link)
        *link = lines->next;
    tj_compile_unlock();
    tj_free(lines->table.bytes);
    tj_free(lines->copied);
    tj_free(lines);
}

/* ---- the table -------------------------------------------------------------- */

/* A place in the table. Reading behind its end gives zeros. */
typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static uint64_t take(cursor *this, size_t bytes)
{
    uint64_t value = 0;
    if (bytes > (size_t)(this->end - this->at)) {
        this->at = this->end;
        return 0;
    }
    memcpy(&value, this->at, bytes); /* both are little-endian */
    this->at += bytes;
    return value;
}

/* Returns a number of 7 bits a byte; is_signed: its highest bit is its sign. */
static uint64_t take_number(cursor *this, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(this, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    return is_signed && (byte & 0x40) && shift < 64 ? value | UINT64_MAX << shift : value;
}

static const char *take_string(cursor *this)
{
    const char *string = (const char *)this->at;
    const unsigned char *end = memchr(this->at, '\0', (size_t)(this->end - this->at));
    this->at = end ? end + 1 : this->end;
    return end ? string : "";
}

/* The part of the table for one source. */
typedef struct source {
    cursor folders, files; /* the lists of names */
    cursor program;
    unsigned step; /* bytes between possible addresses */
    int line_base;
    unsigned line_range, first_special;
    const unsigned char *counts; /* how many numbers follow the opcodes below first_special */
} source;

/* A row of the table: the line of the code from `address` to the next row's. */
typedef struct row {
    uint64_t address, file, line;
} row;

/* Takes the next source. Returns false after the last one, and if it cannot be read. */
static bool take_source(cursor *table, source *this)
{
    size_t bytes = take(table, 4);
    cursor all = {table->at, table->at + bytes};
    if (bytes == 0 || bytes > (size_t)(table->end - table->at))
        return false;
    table->at = all.end;
    uint64_t version = take(&all, 2), before = take(&all, 4);
    if (version != 4 || before > (size_t)(all.end - all.at))
        return false;
    this->program = (cursor){all.at + before, all.end};
    all.end = this->program.at;
    this->step = (unsigned)take(&all, 1);
    take(
        &all,
        2); /* of processors with several operations in one instruction; whether rows are statements */
    this->line_base = (signed char)take(&all, 1);
    this->line_range = (unsigned)take(&all, 1);
    this->first_special = (unsigned)take(&all, 1);
    this->counts = all.at - 1; /* of opcode 0 */
    if (!this->line_range || !this->first_special ||
        this->first_special > (size_t)(all.end - all.at))
        return false;
    all.at = this->counts + this->first_special;
    this->folders = all;
    while (*take_string(&all)) {
    }
    this->files = all;
    return true;
}

enum {
    ROW = 1,
    ADVANCE,
    ADVANCE_LINE,
    SET_FILE,
    ADVANCE_AS_255 = 8,
    ADVANCE_FIXED,
    PROLOGUE_END,
    EXTENDED = 0x100, /* 0, a length, and a byte that is added here */
    END = EXTENDED + 1,
    SET_ADDRESS
};

static void advance(const source *this, uint64_t steps, row *now)
{
    now->address += steps * this->step;
}

/* Takes the next opcode, and moves a row by it. Returns it; ROW for all that complete a row. */
static unsigned take_opcode(source *this, row *now)
{
    cursor *at = &this->program;
    unsigned opcode = (unsigned)take(at, 1);
    if (opcode >= this->first_special) {
        unsigned special = opcode - this->first_special;
        advance(this, special / this->line_range, now);
        now->line += (uint64_t)(this->line_base + (int)(special % this->line_range));
        return ROW;
    }
    switch (opcode) {
    case 0: {
        uint64_t bytes = take_number(at, false);
        cursor operands = *at;
        at->at = bytes < (size_t)(at->end - at->at) ? at->at + bytes : at->end;
        opcode = EXTENDED + (unsigned)take(&operands, 1);
        if (opcode == SET_ADDRESS)
            now->address = take(&operands, 8);
        break;
    }
    case ADVANCE:
        advance(this, take_number(at, false), now);
        break;
    case ADVANCE_LINE:
        now->line += take_number(at, true);
        break;
    case SET_FILE:
        now->file = take_number(at, false);
        break;
    case ADVANCE_AS_255:
        advance(this, (255 - this->first_special) / this->line_range, now);
        break;
    case ADVANCE_FIXED:
        now->address += take(at, 2);
        break;
    default:
        for (int i = this->counts[opcode]; i > 0; i--)
            take_number(at, false);
    }
    return opcode;
}

/* Looks in the rows of this source for the last one up to `address`. libtcc does not say where rows end, and omits the
 * first if its line is 1. Returns true if it is later than *found, which becomes it. */
static bool find_row(source *this, uint64_t address, row *found)
{
    static const row first = {0, 1, 1};
    row now = first;
    bool begun = false, better = false;
    while (this->program.at < this->program.end) {
        unsigned opcode = take_opcode(this, &now);
        bool is_row = opcode == ROW || (opcode == PROLOGUE_END && !begun);
        if (is_row && now.address <= address && now.address >= found->address) {
            *found = now;
            better = true;
        }
        begun |= is_row;
        if (opcode == END) {
            now = first;
            begun = false;
        }
    }
    return better;
}

/* Appends the name of the file with this number, with its folder. Returns false if there is none. */
static bool put_name(const source *this, uint64_t number, tj_text *name)
{
    cursor files = this->files, folders = this->folders;
    const char *file = "", *folder = "";
    uint64_t of = 0;
    for (uint64_t i = 0; i < number && files.at < files.end; i++) {
        file = take_string(&files);
        of = take_number(&files, false);
        take_number(&files, false); /* the time */
        take_number(&files, false); /* the size */
    }
    for (uint64_t i = 0; i < of && folders.at < this->files.at; i++)
        folder = take_string(&folders);
    tj_text_printf(name, "%s%s%s", folder, *folder ? "/" : "", file);
    return *file && !name->failed;
}

/* ---- looking up ------------------------------------------------------------------ */

/* Returns true after a call instruction: E8 and an offset, or FF /2. */
static bool is_behind_call(const unsigned char *behind, size_t available)
{
#if defined(__x86_64__)
    if (available >= 5 && behind[-5] == 0xE8)
        return true;
    for (size_t length = 2; length <= 7 && length <= available; length++) {
        const unsigned char *code = behind - length;
        if (*code == 0xFF && (code[1] >> 3 & 7) == 2)
            return true;
    }
    return false;
#else
    (void)behind;
    return available >= 4;
#endif
}

/* Finds a place in one unit: an instruction by its first byte, a call before a return address by its last. */
static bool find_in(const tj_lines *lines, const void *address, bool is_return, tj_messages *place)
{
    size_t offset = (size_t)((const char *)address - lines->table.code);
    if (is_return && !is_behind_call(address, offset))
        return false;
    cursor table = {lines->table.bytes, lines->table.bytes + lines->table.size};
    source each, in = {0};
    row found = {0};
    tj_text name = {0};
    while (take_source(&table, &each))
        if (find_row(&each, is_return ? offset - 1 : offset, &found))
            in = each;
    bool told = found.line > 0 && found.line <= INT32_MAX && /* clang has code of line 0: of none */
                put_name(&in, found.file, &name);
    if (told)
        tj_messages_add(place, true, name.data, (int)found.line, "");
    if (told && lines->shown && !place->failed)
        tj_messages_locate_lines(place, lines->shown, strlen(lines->shown));
    tj_text_clear(&name);
    return told && !place->failed;
}

bool tj_lines_find(const void *address, bool is_return, tj_messages *place)
{
    tj_compile_lock();
    const tj_lines *lines = known;
    while (lines && (uintptr_t)address - (uintptr_t)lines->table.code >= lines->table.code_size)
        lines = lines->next;
    bool found = lines && find_in(lines, address, is_return, place);
    tj_compile_unlock();
    return found;
}
