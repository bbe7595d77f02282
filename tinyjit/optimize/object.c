/* object.c: checks a relocatable ELF file before libtcc loads it.
 *
 * The file comes from a process that we do not control, and libtcc trusts it. Everything that libtcc reads is
 * therefore checked here first: every offset lies in the file, every index in its table, every name is
 * terminated. Sections and relocations are accepted only by known names and numbers; others are not loaded.
 * Parts that libtcc would read differently from the compiler's intention are rewritten before that.
 *
 * Writable data is refused, unless the caller says that this code is the only copy. A second copy of the
 * data, in addition to the tcc tier's, would change the results of a function. */
#include "internal.h"

#include "os/anonymous_file.h"
#include "os/elf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
    MOST_ALIGNMENT = 64, /* libtcc was seen to respect this */
    MOST_BYTES = 256 << 20
};

#if defined(__aarch64__)
#define THIS_MACHINE EM_AARCH64
#define code_fuses tj_aarch64_fuses
#elif defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#define code_fuses tj_x86_64_fuses
#else
#error "cwrapjit knows the code of x86-64 and arm64"
#endif

/* The file. Entries of tables are copied before use, because nothing guarantees that they are aligned. */
typedef struct reader {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* the section with the names of the sections */
    Elf64_Shdr symbols;
    Elf64_Shdr strings; /* the names of the symbols */
    tj_error *error;
    bool keeps_state; /* writable data is accepted */
} reader;

static tj_status refuse(const reader *this, const char *what)
{
    return tj_fail(this->error, TJ_COMPILE_FAILED, "the compiler's object cannot be taken: %s",
                   what);
}

static bool is_inside(const reader *this, uint64_t offset, uint64_t size)
{
    return offset <= this->size && size <= this->size - offset;
}

static Elf64_Shdr section_at(const reader *this, size_t i)
{
    Elf64_Shdr section;
    memcpy(&section, this->bytes + this->header.e_shoff + i * sizeof section, sizeof section);
    return section;
}

static Elf64_Sym symbol_at(const reader *this, size_t i)
{
    Elf64_Sym symbol;
    memcpy(&symbol, this->bytes + this->symbols.sh_offset + i * sizeof symbol, sizeof symbol);
    return symbol;
}

static size_t symbol_count(const reader *this)
{
    return this->symbols.sh_size / sizeof(Elf64_Sym);
}

/* Returns true for a table of strings that ends with a NUL. */
static bool is_string_table(const reader *this, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_STRTAB && section->sh_size > 0 &&
           is_inside(this, section->sh_offset, section->sh_size) &&
           this->bytes[section->sh_offset + section->sh_size - 1] == '\0';
}

/* Returns NULL if the string is outside the table. */
static const char *string_at(const reader *this, const Elf64_Shdr *table, uint64_t offset)
{
    return offset < table->sh_size ? (const char *)this->bytes + table->sh_offset + offset : NULL;
}

static bool starts_with(const char *string, const char *prefix)
{
    return !strncmp(string, prefix, strlen(prefix));
}

/* Matches ".data" and ".data.x", but not ".database". */
static bool is_kind(const char *name, const char *kind)
{
    size_t length = strlen(kind);
    return !strncmp(name, kind, length) && (name[length] == '\0' || name[length] == '.');
}

/* ---- the header ------------------------------------------------------------ */

static tj_status check_header(reader *this)
{
    if (this->size < sizeof this->header)
        return refuse(this, this->size ? "it is too short" : "it is empty");
    memcpy(&this->header, this->bytes, sizeof this->header);
    const Elf64_Ehdr *header = &this->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG))
        return refuse(this, "it is no ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != THIS_MACHINE)
        return refuse(this, "it is for another machine");
    if (header->e_type != ET_REL)
        return refuse(this, "it is not relocatable");
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 ||
        !is_inside(this, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return refuse(this, "it is cut off");
    if (header->e_shstrndx == 0 || header->e_shstrndx >= header->e_shnum)
        return refuse(this, "its sections have no names");
    this->names = section_at(this, header->e_shstrndx);
    return is_string_table(this, &this->names) ? TJ_OK : refuse(this, "its sections have no names");
}

static tj_status find_symbols(reader *this)
{
    size_t found = 0;
    for (size_t i = 1; i < this->header.e_shnum; i++) {
        Elf64_Shdr section = section_at(this, i);
        if (section.sh_type == SHT_SYMTAB_SHNDX)
            return refuse(this, "it has too many sections");
        if (section.sh_type != SHT_SYMTAB)
            continue;
        found++;
        this->symbols = section;
    }
    if (found != 1 || this->symbols.sh_entsize != sizeof(Elf64_Sym) ||
        this->symbols.sh_size % sizeof(Elf64_Sym) ||
        !is_inside(this, this->symbols.sh_offset, this->symbols.sh_size))
        return refuse(this, "it has no table of symbols");
    if (this->symbols.sh_link == 0 || this->symbols.sh_link >= this->header.e_shnum)
        return refuse(this, "its symbols have no names");
    this->strings = section_at(this, this->symbols.sh_link);
    return is_string_table(this, &this->strings) ? TJ_OK
                                                 : refuse(this, "its symbols have no names");
}

/* ---- sections ---------------------------------------------------------------- */

/* Returns true if section i has variables. gcc puts the initial value of a local array into .data if it
 * contains addresses. It gives that no name and never writes there. */
static bool has_names(const reader *this, size_t i)
{
    for (size_t k = 1; k < symbol_count(this); k++) {
        Elf64_Sym symbol = symbol_at(this, k);
        const char *name = string_at(this, &this->strings, symbol.st_name);
        bool marks = name && name[0] == '$'; /* mark code and data on arm64 */
        if (symbol.st_shndx == i && ELF64_ST_TYPE(symbol.st_info) != STT_SECTION && !marks)
            return true;
    }
    return false;
}

static bool is_refused(const reader *this, size_t i, const Elf64_Shdr *section, const char *name)
{
    if (section->sh_flags & SHF_TLS)
        return true;
    return !this->keeps_state && (section->sh_flags & SHF_WRITE) &&
           !is_kind(name, ".data.rel.ro") && (strcmp(name, ".data") != 0 || has_names(this, i));
}

/* Returns true for sections that libtcc may load into memory. */
static bool is_known_section(const char *name)
{
    static const char *const kinds[] = {".text", ".rodata",   ".data.rel.ro", ".data", ".bss",
                                        ".note", ".eh_frame", ".tdata",       ".tbss", ".lrodata"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_kind(name, kinds[i]))
            return true;
    return false;
}

static tj_status check_loaded(const reader *this, size_t i, const Elf64_Shdr *section,
                              const char *name)
{
    if (is_kind(name, ".init_array") || is_kind(name, ".fini_array") || is_kind(name, ".ctors") ||
        is_kind(name, ".dtors") || is_kind(name, ".init") || is_kind(name, ".fini"))
        return refuse(this, "it wants code to run when it is loaded");
    if (section->sh_size && is_refused(this, i, section, name))
        return refuse(this, "it holds data that it may write");
    if (section->sh_addralign > MOST_ALIGNMENT ||
        (section->sh_addralign & (section->sh_addralign - 1)))
        return refuse(this, "a section wants to be aligned to more than 64 bytes");
    return section->sh_size && !is_known_section(name) ? refuse(this, "it has an unknown section")
                                                       : TJ_OK;
}

/* ---- relocations ----------------------------------------------------------------- */

/* The relocations that libtcc 0.9.28rc applies as the ABI says; each was tested
 * (tests/tinyjit/c/test_object.c). For others it only writes a line to standard error. */
static const uint32_t known_relocations[] = {
#if defined(__x86_64__)
    R_X86_64_64,       R_X86_64_PC32,      R_X86_64_PLT32,
    R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX,
#else
    R_AARCH64_ABS64,
    R_AARCH64_PREL32,
    R_AARCH64_ADR_PREL_PG_HI21,
    R_AARCH64_ADD_ABS_LO12_NC,
    R_AARCH64_LDST8_ABS_LO12_NC,
    R_AARCH64_LDST16_ABS_LO12_NC,
    R_AARCH64_LDST32_ABS_LO12_NC,
    R_AARCH64_LDST64_ABS_LO12_NC,
    R_AARCH64_LDST128_ABS_LO12_NC,
    R_AARCH64_JUMP26,
    R_AARCH64_CALL26,
    R_AARCH64_ADR_GOT_PAGE,
    R_AARCH64_LD64_GOT_LO12_NC,
#endif
};

/* Returns true for relocations by libtcc's table of addresses, for which libtcc uses *taken, not their addend. */
static bool is_by_table(uint32_t type, int64_t *taken)
{
#if defined(__x86_64__)
    *taken = -4; /* correct if the instruction contains no constant after it */
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
           type == R_X86_64_REX_GOTPCRELX;
#else
    *taken = 0;
    return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
#endif
}

/* Returns the number of bytes that libtcc changes. */
static uint64_t width_of(uint32_t type)
{
#if defined(__x86_64__)
    return type == R_X86_64_64 ? 8 : 4;
#else
    return type == R_AARCH64_ABS64 ? 8 : 4;
#endif
}

static bool is_relocations(const reader *this, const Elf64_Shdr *section)
{
    return section->sh_info > 0 && section->sh_info < this->header.e_shnum &&
           section->sh_entsize == sizeof(Elf64_Rela) && section->sh_size % sizeof(Elf64_Rela) == 0;
}

static bool is_place(const Elf64_Shdr *target, const Elf64_Rela *one)
{
    uint64_t width = width_of((uint32_t)ELF64_R_TYPE(one->r_info));
    return target->sh_type != SHT_NOBITS && target->sh_size >= width &&
           one->r_offset <= target->sh_size - width;
}

static Elf64_Rela relocation_at(const reader *this, const Elf64_Shdr *section, uint64_t at)
{
    Elf64_Rela one;
    memcpy(&one, this->bytes + section->sh_offset + at, sizeof one);
    return one;
}

/* Checks the relocations of one section. */
static tj_status check_relocations(const reader *this, const Elf64_Shdr *section)
{
    if (!is_relocations(this, section))
        return refuse(this, "its relocations cannot be read");
    Elf64_Shdr target = section_at(this, section->sh_info);
    for (uint64_t at = 0; at < section->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela one = relocation_at(this, section, at);
        uint32_t type = (uint32_t)ELF64_R_TYPE(one.r_info);
        int64_t taken;
        if (!is_place(&target, &one) || ELF64_R_SYM(one.r_info) >= symbol_count(this))
            return refuse(this, "a relocation leads outside");
        bool known = false;
        for (size_t i = 0; i < sizeof known_relocations / sizeof *known_relocations; i++)
            known |= known_relocations[i] == type;
        if (!known)
            return refuse(this, "it has a relocation of unknown type");
        if (is_by_table(type, &taken) && one.r_addend != taken)
            return refuse(this, "libtcc would misread a relocation");
    }
    return TJ_OK;
}

/* Moves an addend that libtcc ignores to the place itself, to whose value libtcc adds. Compilers for arm64 use none. */
static void move_addend(unsigned char *bytes, uint64_t place, uint64_t relocation)
{
    Elf64_Rela one;
    uint32_t value;
    int64_t taken;
    memcpy(&one, bytes + relocation, sizeof one);
    if (THIS_MACHINE != EM_X86_64 || !is_by_table((uint32_t)ELF64_R_TYPE(one.r_info), &taken) ||
        one.r_addend < INT16_MIN || one.r_addend > INT16_MAX)
        return;
    memcpy(&value, bytes + place, sizeof value);
    value += (uint32_t)(one.r_addend - taken);
    memcpy(bytes + place, &value, sizeof value);
    one.r_addend = taken;
    memcpy(bytes + relocation, &one, sizeof one);
}

/* Instructions with a constant at their end have an addend that differs from libtcc's: gcc uses them to load
 * two addresses into one vector. Debugging data becomes sections that libtcc skips, as it would relocate it wrongly.
 * Invalid entries are left to tj_object_check(). */
void tj_object_settle(unsigned char *bytes, size_t size)
{
    reader this = {.bytes = bytes, .size = size};
    if (check_header(&this))
        return;
    for (size_t i = 1; i < this.header.e_shnum; i++) {
        Elf64_Shdr section = section_at(&this, i);
        const char *name = string_at(&this, &this.names, section.sh_name);
        if (name && !(section.sh_flags & SHF_ALLOC) &&
            (starts_with(name, ".debug") || starts_with(name, ".rela.debug"))) {
            section.sh_type = SHT_NULL;
            memcpy(bytes + this.header.e_shoff + i * sizeof section, &section, sizeof section);
        }
        if (section.sh_type != SHT_RELA || !is_inside(&this, section.sh_offset, section.sh_size) ||
            !is_relocations(&this, &section))
            continue;
        Elf64_Shdr target = section_at(&this, section.sh_info);
        for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela one = relocation_at(&this, &section, at);
            if (is_place(&target, &one) && is_inside(&this, target.sh_offset, target.sh_size))
                move_addend(bytes, target.sh_offset + one.r_offset, section.sh_offset + at);
        }
    }
}

/* ---- checking each section --------------------------------------------------- */

static tj_status check_section(const reader *this, size_t i, tj_object *object)
{
    Elf64_Shdr section = section_at(this, i);
    const char *name = string_at(this, &this->names, section.sh_name);
    if (!name)
        return refuse(this, "a section has no name");
    if (section.sh_type == SHT_NOBITS ? section.sh_size > MOST_BYTES
                                      : !is_inside(this, section.sh_offset, section.sh_size))
        return refuse(this, "a section leads outside");
    if (section.sh_type == SHT_NULL)
        return TJ_OK; /* libtcc skips it */
    if (section.sh_type == SHT_RELA)
        return check_relocations(this, &section);
    if (section.sh_type == SHT_REL || section.sh_type == SHT_DYNAMIC)
        return refuse(this, "it has an unknown section");
    if (section.sh_flags & SHF_COMPRESSED)
        return refuse(this, "a section is compressed");
    if ((section.sh_flags & SHF_EXECINSTR) && section.sh_type == SHT_PROGBITS)
        object->fuses |=
            code_fuses(this->bytes + section.sh_offset, section.sh_size, object->calls_fma);
    if (section.sh_flags & SHF_ALLOC)
        return check_loaded(this, i, &section, name);
    /* These are not loaded into memory, but libtcc merges sections with the same name. */
    bool table = section.sh_type == SHT_STRTAB || section.sh_type == SHT_SYMTAB ||
                 section.sh_type == SHT_GROUP;
    return table || section.sh_size == 0 || is_kind(name, ".comment") || is_kind(name, ".note") ||
                   starts_with(name, ".debug") || starts_with(name, ".llvm") ||
                   starts_with(name, ".gnu.")
               ? TJ_OK
               : refuse(this, "it has an unknown section");
}

/* ---- symbols ----------------------------------------------------------------- */

static tj_status check_symbol(const reader *this, size_t i, tj_object *object)
{
    Elf64_Sym symbol = symbol_at(this, i);
    const char *name = string_at(this, &this->strings, symbol.st_name);
    unsigned char type = ELF64_ST_TYPE(symbol.st_info);
    if (!name)
        return refuse(this, "a symbol has no name");
    if (type > STT_FILE) /* thread locals, indirect functions */
        return refuse(this, type == STT_COMMON || type == STT_TLS
                                ? "it holds data that it may write"
                                : "it has a symbol of unknown type");
    switch (symbol.st_shndx) {
    case SHN_UNDEF:
        if (name[0] && strcmp(name, "_GLOBAL_OFFSET_TABLE_") != 0) /* a symbol of libtcc itself */
            tj_words_add(&object->undefined, name, strlen(name));
        return object->undefined.failed ? tj_fail_no_memory(this->error) : TJ_OK;
    case SHN_ABS:
        return TJ_OK;
    case SHN_COMMON:
        return refuse(this, "it holds data that it may write");
    default:
        break;
    }
    if (symbol.st_shndx >= this->header.e_shnum)
        return refuse(this, "a symbol leads outside");
    Elf64_Shdr section = section_at(this, symbol.st_shndx);
    return symbol.st_value > section.sh_size ? refuse(this, "a symbol leads outside") : TJ_OK;
}

/* ---- public functions -------------------------------------------------------- */

tj_status tj_object_check(const unsigned char *bytes, size_t size, tj_object *object,
                          tj_error *error)
{
    reader this = {
        .bytes = bytes, .size = size, .error = error, .keeps_state = object->keeps_state};
    tj_status status = check_header(&this);
    if (!status)
        status = find_symbols(&this);
    for (size_t i = 1; !status && i < symbol_count(&this); i++)
        status = check_symbol(&this, i, object);
    for (size_t i = 1; !status && i < this.header.e_shnum; i++)
        status = check_section(&this, i, object);
    return status;
}

/* Fixes the size of the file first and its contents before the check, so that other holders cannot change them. */
tj_status tj_object_look(tj_object *object, tj_error *error)
{
    if (!tj_file_fix_size(object->fd))
        return tj_fail(error, TJ_COMPILE_FAILED, "the compiler's object is still in use");
    size_t size = tj_file_size(object->fd);
    if (size == 0)
        return tj_fail(error, TJ_COMPILE_FAILED, "the compiler wrote no object");
    if (size > MOST_BYTES)
        return tj_fail(error, TJ_COMPILE_FAILED, "the compiler's object is too large");
    void *writable = tj_file_map_to_write(object->fd, size);
    if (writable) {
        tj_object_settle(writable, size);
        tj_file_unmap(writable, size);
    } else if (
        errno !=
        EPERM) { /* if the file is already sealed, it was rewritten before, or it is refused */
        return tj_fail_no_memory(error);
    }
    if (!tj_file_fix_bytes(object->fd))
        return tj_fail(error, TJ_COMPILE_FAILED, "the compiler's object is still in use");
    const void *bytes = tj_file_map(object->fd, size);
    if (!bytes)
        return tj_fail_no_memory(error);
    tj_status status = tj_object_check(bytes, size, object, error);
    tj_file_unmap(bytes, size);
    return status;
}

/* Reads the header and finds the symbols. The caller closes it. */
static tj_status open_file(reader *this, int fd, tj_error *error)
{
    *this = (reader){.size = tj_file_size(fd), .error = error};
    if (this->size == 0)
        return refuse(this, "it is empty");
    this->bytes = tj_file_map(fd, this->size);
    tj_status status = this->bytes ? check_header(this) : tj_fail_no_memory(error);
    return status ? status : find_symbols(this);
}

static void close_file(reader *this)
{
    if (this->bytes)
        tj_file_unmap(this->bytes, this->size);
}

tj_status tj_object_sizes(const tj_object *object, tj_text *told, tj_error *error)
{
    reader this;
    tj_status status = open_file(&this, object->fd, error);
    for (size_t i = 1; !status && i < symbol_count(&this); i++) {
        Elf64_Sym symbol = symbol_at(&this, i);
        const char *name = string_at(&this, &this.strings, symbol.st_name);
        if (name && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
            tj_text_printf(told, "cwrapjit size %s %zu\n", name, (size_t)symbol.st_size);
    }
    close_file(&this);
    return status;
}

/* ---- the table of lines -------------------------------------------------------- */

/* Returns the index of a section whose bytes lie in the file; 0: there is none. */
static size_t find_section(const reader *this, const char *wanted, Elf64_Shdr *section)
{
    for (size_t i = 1; i < this->header.e_shnum; i++) {
        *section = section_at(this, i);
        const char *name = string_at(this, &this->names, section->sh_name);
        if (name && !strcmp(name, wanted) && is_inside(this, section->sh_offset, section->sh_size))
            return i;
    }
    *section = (Elf64_Shdr){0};
    return 0;
}

/* Returns where .text lies in memory. NULL: no anchor is there, or they disagree, as a file has changed since. */
static const char *find_code(const reader *this, size_t text, const tj_anchor *anchors)
{
    const char *code = NULL;
    for (; anchors->name; anchors++)
        for (size_t i = 1; i < symbol_count(this); i++) {
            Elf64_Sym symbol = symbol_at(this, i);
            const char *name = string_at(this, &this->strings, symbol.st_name),
                       *found = (const char *)anchors->address - symbol.st_value;
            if (symbol.st_shndx != text || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !name ||
                strcmp(name, anchors->name) != 0)
                continue;
            if (code && code != found)
                return NULL;
            code = found;
        }
    return code;
}

/* Copies the table, with its addresses. */
static tj_status copy_table(const reader *this, size_t text, const Elf64_Shdr *section,
                            tj_line_table *table)
{
    Elf64_Shdr moves;
    find_section(this, ".rela.debug_line", &moves);
    table->size = section->sh_size;
    table->bytes = tj_alloc_zeroed(table->size, 1);
    if (!table->bytes)
        return tj_fail_no_memory(this->error);
    memcpy(table->bytes, this->bytes + section->sh_offset, table->size);
    for (uint64_t i = 0; i < moves.sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela one = relocation_at(this, &moves, i * sizeof one);
        Elf64_Sym symbol = {0};
        if (ELF64_R_SYM(one.r_info) < symbol_count(this))
            symbol = symbol_at(this, ELF64_R_SYM(one.r_info));
        uint64_t address = symbol.st_shndx == text ? symbol.st_value + (uint64_t)one.r_addend
                                                   : UINT64_MAX / 2; /* of other code */
        if (one.r_offset < table->size && table->size - one.r_offset >= sizeof address)
            memcpy(table->bytes + one.r_offset, &address, sizeof address);
    }
    return TJ_OK;
}

tj_status tj_object_lines(int fd, const tj_anchor *anchors, tj_line_table *table, tj_error *error)
{
    reader this;
    Elf64_Shdr text, section;
    tj_status status = open_file(&this, fd, error);
    if (!status) {
        size_t index = find_section(&this, ".text", &text);
        table->code = find_code(&this, index, anchors);
        table->code_size = text.sh_size;
        status = table->code && find_section(&this, ".debug_line", &section) && section.sh_size
                     ? copy_table(&this, index, &section, table)
                     : refuse(&this, "it has no table of lines");
    }
    close_file(&this);
    return status;
}

void tj_object_clear(tj_object *object)
{
    tj_words_clear(&object->undefined);
    *object = (tj_object){.fd = -1};
}
