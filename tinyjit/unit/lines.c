/* lines.c: finds the source line of a machine instruction.
 *
 * libtcc keeps no debugging data of code that it makes in memory. A text whose lines are needed is therefore
 * compiled again, to an object with such data (stabs) in a file in memory. The machine code is the same, so
 * offsets are the same, and the known address of one function gives the addresses of all.
 *
 * One list holds the lines of the whole process, because code calls other code: C callbacks, functions of
 * other libraries. */
#include "internal.h"

#include "os/anonymous_file.h"
#include "os/elf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The line of the code from `offset` up to the next mark. */
typedef struct mark {
    size_t offset; /* bytes into the code */
    size_t order; /* of two marks at the same place the later one applies */
    int file;     /* index of files */
    int line;
} mark;

struct tj_lines {
    const char *code; /* borrowed: the unit's first instruction */
    size_t size;      /* size of the code in bytes */
    mark *marks;      /* owned; sorted */
    size_t nmarks;
    tj_words files; /* owned */
    char *shown; /* owned, or NULL */
    tj_lines *next;
};

static tj_lines *known; /* guarded by the compile lock */

/* An entry of .stab. */
typedef struct stab {
    uint32_t name; /* bytes into .stabstr */
    uint8_t type;
    uint8_t other;
    uint16_t line;
    uint32_t value;
} stab;

enum {
    STAB_FUNCTION = 0x24, /* value, relocated: the start of the function */
    STAB_LINE = 0x44,     /* value: bytes after that start */
    STAB_FILE = 0x64,
    STAB_OTHER_FILE = 0x84
};

/* ---- the object ------------------------------------------------------------- */

/* The parts of the object that are read; all lie inside its bytes. */
typedef struct traced {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr text, stabs, strings, moves, symbols, names;
    size_t text_index;
} traced;

static bool is_inside(const traced *this, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_NOBITS || (section->sh_offset <= this->size &&
                                              section->sh_size <= this->size - section->sh_offset);
}

static bool section_at(const traced *this, size_t i, Elf64_Shdr *section)
{
    uint64_t offset = this->header.e_shoff + i * sizeof *section;
    if (i >= this->header.e_shnum || offset > this->size || this->size - offset < sizeof *section)
        return false;
    memcpy(section, this->bytes + offset, sizeof *section);
    return is_inside(this, section);
}

/* Returns "" if the string is outside the table, or not terminated in it. */
static const char *string_at(const traced *this, const Elf64_Shdr *table, uint64_t offset)
{
    const char *string = (const char *)this->bytes + table->sh_offset + offset;
    return offset < table->sh_size && memchr(string, '\0', table->sh_size - offset) ? string : "";
}

static bool read_object(traced *this)
{
    Elf64_Shdr titles, section;
    if (this->size < sizeof this->header)
        return false;
    memcpy(&this->header, this->bytes, sizeof this->header);
    if (!section_at(this, this->header.e_shstrndx, &titles))
        return false;
    for (size_t i = 1; i < this->header.e_shnum; i++) {
        if (!section_at(this, i, &section))
            return false;
        const char *title = string_at(this, &titles, section.sh_name);
        if (!strcmp(title, ".text")) {
            this->text = section;
            this->text_index = i;
        } else if (!strcmp(title, ".stab")) {
            this->stabs = section;
        } else if (!strcmp(title, ".stabstr")) {
            this->strings = section;
        } else if (!strcmp(title, ".rela.stab")) {
            this->moves = section;
        } else if (section.sh_type == SHT_SYMTAB) {
            this->symbols = section;
            if (!section_at(this, section.sh_link, &this->names))
                return false;
        }
    }
    return this->text.sh_size && this->stabs.sh_size && this->symbols.sh_size;
}

static Elf64_Sym symbol_at(const traced *this, size_t i)
{
    Elf64_Sym symbol = {0};
    if (i < this->symbols.sh_size / sizeof symbol)
        memcpy(&symbol, this->bytes + this->symbols.sh_offset + i * sizeof symbol, sizeof symbol);
    return symbol;
}

/* Finds a function. Returns false if it is missing. */
static bool find_function(const traced *this, const char *name, size_t *offset)
{
    for (size_t i = 1; i < this->symbols.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol = symbol_at(this, i);
        if (symbol.st_shndx == this->text_index && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            !strcmp(string_at(this, &this->names, symbol.st_name), name)) {
            *offset = symbol.st_value;
            return true;
        }
    }
    return false;
}

/* ---- lines of the object ---------------------------------------------------- */

/* A pass over .stab and over its relocations, which have the same order. */
typedef struct walk {
    const traced *object;
    tj_lines *lines;
    size_t capacity;
    uint64_t move; /* bytes into .rela.stab */
    size_t function;
    int file; /* index of files; -1: none yet */
} walk;

/* Returns the relocated value of entry i, in bytes from the start of the code; 0 if it has no relocation. */
static size_t moved_value(walk *this, size_t i)
{
    const Elf64_Shdr *moves = &this->object->moves;
    uint64_t wanted = i * sizeof(stab) + offsetof(stab, value);
    for (; this->move + sizeof(Elf64_Rela) <= moves->sh_size; this->move += sizeof(Elf64_Rela)) {
        Elf64_Rela one;
        memcpy(&one, this->object->bytes + moves->sh_offset + this->move, sizeof one);
        if (one.r_offset == wanted)
            return symbol_at(this->object, ELF64_R_SYM(one.r_info)).st_value + (size_t)one.r_addend;
        if (one.r_offset > wanted)
            break;
    }
    return 0;
}

static bool use_file(walk *this, const char *name)
{
    tj_words *files = &this->lines->files;
    size_t i = 0;
    while (i < files->count && strcmp(files->items[i], name) != 0)
        i++;
    if (i == files->count)
        tj_words_add(files, name, strlen(name));
    this->file = (int)i;
    return !files->failed;
}

static bool add_mark(walk *this, const stab *entry)
{
    tj_lines *lines = this->lines;
    if (!tj_grow(&lines->marks, lines->nmarks, &this->capacity, sizeof *lines->marks))
        return false;
    lines->marks[lines->nmarks] =
        (mark){this->function + entry->value, lines->nmarks, this->file, entry->line};
    lines->nmarks++;
    return true;
}

static bool read_entry(walk *this, const stab *entry, size_t i)
{
    const char *name = string_at(this->object, &this->object->strings, entry->name);
    switch (entry->type) {
    case STAB_FUNCTION:
        this->function = moved_value(this, i);
        return true;
    case STAB_LINE:
        return this->file < 0 || add_mark(this, entry);
    case STAB_FILE:
    case STAB_OTHER_FILE:
        return !*name || use_file(this, name);
    default:
        return true;
    }
}

static int compare_marks(const void *one, const void *other)
{
    const mark *a = one, *b = other;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Returns false if out of memory. */
static bool read_lines(const traced *object, tj_lines *lines)
{
    walk this = {.object = object, .lines = lines, .file = -1};
    for (size_t i = 0; i < object->stabs.sh_size / sizeof(stab); i++) {
        stab entry;
        memcpy(&entry, object->bytes + object->stabs.sh_offset + i * sizeof entry, sizeof entry);
        if (!read_entry(&this, &entry, i))
            return false;
    }
    if (lines->nmarks)
        qsort(lines->marks, lines->nmarks, sizeof *lines->marks, compare_marks);
    return true;
}

/* ---- creating the lines ----------------------------------------------------- */

static tj_status no_lines(tj_error *error)
{
    return tj_fail(error, TJ_COMPILE_FAILED, "libtcc's debugging data cannot be read");
}

static tj_status read_bytes(traced *this, const tj_anchor *anchors, tj_lines *lines,
                            tj_error *error)
{
    size_t offset;
    if (!read_object(this))
        return no_lines(error);
    for (; anchors->name; anchors++) {
        if (!find_function(this, anchors->name, &offset))
            continue;
        const char *code = (const char *)anchors->address - offset;
        if (lines->code && lines->code != code) /* a file has changed since it was compiled */
            return no_lines(error);
        lines->code = code;
    }
    lines->size = this->text.sh_size;
    if (!lines->code)
        return no_lines(error);
    return read_lines(this, lines) ? TJ_OK : tj_fail_no_memory(error);
}

static tj_status read_file(int fd, const tj_anchor *anchors, tj_lines *lines, tj_error *error)
{
    traced this = {.size = tj_file_size(fd)};
    if (this.size == 0)
        return no_lines(error);
    const void *bytes = tj_file_map(fd, this.size);
    if (!bytes)
        return tj_fail_no_memory(error);
    this.bytes = bytes;
    tj_status status = read_bytes(&this, anchors, lines, error);
    tj_file_unmap(bytes, this.size);
    return status;
}

tj_status tj_lines_new(const tj_environment *environment, const char *text, const char *shown,
                       const tj_anchor *anchors, tj_lines **lines, tj_error *error)
{
    *lines = NULL;
    tj_lines *made = tj_alloc_zeroed(1, sizeof *made);
    int fd = tj_file_new("cwrapjit lines");
    tj_status status;
    shown = shown ? shown : text;
    if (!made || fd < 0 || (shown && !(made->shown = tj_copy_string(shown)))) {
        status = tj_fail_no_memory(error);
        goto done;
    }
    status = tj_compile_to_file(environment, text, fd, error);
    if (status == TJ_OK)
        status = read_file(fd, anchors, made, error);
    if (status == TJ_OK) {
        tj_compile_lock();
        made->next = known;
        *lines = known = made;
        tj_compile_unlock();
        made = NULL;
    }
done:
    tj_file_close(fd);
    tj_lines_free(made);
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
    tj_words_clear(&lines->files);
    tj_free(lines->marks);
    tj_free(lines->shown);
    tj_free(lines);
}

/* ---- looking up ------------------------------------------------------------------ */

static bool covers(const tj_lines *lines, const void *address)
{
    uintptr_t at = (uintptr_t)address, first = (uintptr_t)lines->code;
    return at >= first && at - first < lines->size;
}

/* Returns the mark of the code at an offset; NULL: none. */
static const mark *find_mark(const tj_lines *lines, size_t offset)
{
    size_t low = 0, high = lines->nmarks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &lines->marks[low - 1];
}

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
    size_t offset = (size_t)((const char *)address - lines->code);
    if (is_return && !is_behind_call(address, offset))
        return false;
    const mark *found = find_mark(lines, is_return ? offset - 1 : offset);
    if (!found)
        return false;
    tj_messages_add(place, true, lines->files.items[found->file], found->line, "");
    if (lines->shown && !place->failed)
        tj_messages_locate_lines(place, lines->shown, strlen(lines->shown));
    return !place->failed;
}

bool tj_lines_find(const void *address, bool is_return, tj_messages *place)
{
    tj_compile_lock();
    const tj_lines *lines = known;
    while (lines && !covers(lines, address))
        lines = lines->next;
    bool found = lines && find_in(lines, address, is_return, place);
    tj_compile_unlock();
    return found;
}
