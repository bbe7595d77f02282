/* names.c: the identifiers of C texts, as a set.
 *
 * An open-addressing hash table of offsets into one buffer, in which the names
 * lie one behind the other, each with its NUL. Emitting asks it which values a
 * snippet names; compiling asks it which symbols a unit may need.
 */
#include <stdint.h>
#include <string.h>

#include "read/tokens.h"

struct tj_names {
    tj_text buffer;   /* owned */
    size_t *slots;    /* owned: offset + 1 into buffer, 0 for empty */
    size_t nslots;    /* a power of two, or 0 */
    size_t count;
    bool pastes;      /* ## was seen */
};

tj_names *tj_names_new(void)
{
    return tj_alloc_zeroed(1, sizeof(tj_names));
}

void tj_names_free(tj_names *names)
{
    if (!names)
        return;
    tj_text_clear(&names->buffer);
    tj_free(names->slots);
    tj_free(names);
}

enum {
    HASH_START = 5381
};

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

/* A name in two parts, so that a prefix need not be copied in front of it. */
typedef struct key {
    const char *head, *tail;
    size_t head_length, tail_length;
} key;

/* The slot that holds the name, or the empty one where it belongs. */
static size_t find_slot(const tj_names *names, key wanted)
{
    uint64_t hash = hash_more(HASH_START, wanted.head, wanted.head_length);
    hash = hash_more(hash, wanted.tail, wanted.tail_length);
    size_t mask = names->nslots - 1;
    size_t slot = (size_t)(hash ^ (hash >> 29)) & mask;
    for (; names->slots[slot]; slot = (slot + 1) & mask) {
        const char *other = names->buffer.data + names->slots[slot] - 1;
        if (!strncmp(other, wanted.head, wanted.head_length) &&
            !strncmp(other + wanted.head_length, wanted.tail, wanted.tail_length) &&
            !other[wanted.head_length + wanted.tail_length])
            break;
    }
    return slot;
}

static bool grow(tj_names *names)
{
    tj_names larger = *names;
    larger.nslots = names->nslots ? 2 * names->nslots : 64;
    larger.slots = tj_alloc_zeroed(larger.nslots, sizeof(size_t));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->nslots; i++) {
        if (names->slots[i]) {
            const char *name = names->buffer.data + names->slots[i] - 1;
            larger.slots[find_slot(&larger, (key){name, "", strlen(name), 0})] = names->slots[i];
        }
    }
    tj_free(names->slots);
    *names = larger;
    return true;
}

static bool add_name(tj_names *names, const char *name, size_t length)
{
    if (2 * names->count >= names->nslots && !grow(names))
        return false;
    size_t slot = find_slot(names, (key){name, "", length, 0});
    if (names->slots[slot])
        return true;
    size_t offset = names->buffer.length;
    tj_text_add(&names->buffer, name, length);
    tj_text_add(&names->buffer, "", 1);
    if (names->buffer.failed)
        return false;
    names->slots[slot] = offset + 1;
    names->count++;
    return true;
}

static bool add_token(tj_names *names, const tj_token *token)
{
    names->pastes |= tj_token_is(token, "##");
    return token->kind != TJ_TOKEN_NAME || add_name(names, token->text, token->length);
}

bool tj_names_add(tj_names *names, const tj_tokens *tokens)
{
    bool complete = true;
    for (size_t i = 0; i < tokens->count && complete; i++)
        complete = add_token(names, &tokens->items[i]);
    return complete;
}

bool tj_names_collect(tj_names *names, const char *text, size_t length)
{
    tj_lexer lexer;
    tj_token token;
    bool complete = true;
    tj_lexer_init(&lexer, text, length);
    do {
        token = tj_lexer_next(&lexer);
        complete = !lexer.spelling.failed && add_token(names, &token);
    } while (complete && token.kind != TJ_TOKEN_END);
    tj_lexer_clear(&lexer);
    return complete;
}

bool tj_names_have_joined(const tj_names *names, const char *prefix, const char *name)
{
    key joined = {prefix, name, strlen(prefix), strlen(name)};
    return names->nslots && names->slots[find_slot(names, joined)];
}

bool tj_names_have(const tj_names *names, const char *name)
{
    return tj_names_have_joined(names, name, "");
}

bool tj_names_may_paste(const tj_names *names)
{
    return names->pastes;
}

void tj_names_each(const tj_names *names, void (*visit)(void *ctx, const char *name), void *ctx)
{
    for (size_t i = 0; i < names->nslots; i++)
        if (names->slots[i])
            visit(ctx, names->buffer.data + names->slots[i] - 1);
}
