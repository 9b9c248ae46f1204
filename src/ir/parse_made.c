/* parse_made.c: lines of text that are not one op but several: split, stack and roll become views and concat
 * as they are read (build_index.c), and are printed as those. Must not read operands or names: parse.c does.
 */
#include "ir/parse.h"

enum { AXIS = 1, SECTIONS = 2, SIZES = 4, SHIFTS = 8, AXES = 16 };
static const char *const attrs[] = {"axis", "sections", "sizes", "shifts", "axes"};

static const struct {
    const char *name, *attrs;
    uint32_t needs, takes;
} made[] = {[LLFI_MADE_SPLIT] = {"split", "axis and sections or sizes", AXIS, AXIS | SECTIONS | SIZES},
            [LLFI_MADE_STACK] = {"stack", "axis", AXIS, AXIS},
            [LLFI_MADE_ROLL] = {"roll", "shifts and axes", SHIFTS | AXES, SHIFTS | AXES}};

llfi_made llfi_made_find(const llfi_word *w)
{
    uint32_t i = LLFI_MADE_NONE;
    while (++i < LLFI_COUNT(made))
        if (strlen(made[i].name) == w->bytes && memcmp(made[i].name, w->text, w->bytes) == 0)
            return (llfi_made)i;
    return LLFI_MADE_NONE;
}

const char *llfi_made_name(llfi_made m)
{
    return made[m].name;
}

static llf_status value_of(llfi_parser *p, const char *op, uint32_t bit, llfi_made_attrs *a)
{
    switch (bit) {
    case AXIS: return llfi_parse_int(p, op, "an axis", &a->axis);
    case SECTIONS: return llfi_parse_int(p, op, "a number", &a->sections);
    case SIZES: return llfi_parse_list(p, LLFI_PARSE_SIZES, op, &a->list);
    case SHIFTS: return llfi_parse_list(p, LLFI_PARSE_AMOUNTS, op, &a->list);
    default: return llfi_parse_list(p, LLFI_ATTR_KIND_INTS, op, &a->axes);
    }
}

llf_status llfi_made_attr(llfi_parser *p, llfi_made m, const llfi_word *name, llfi_made_attrs *a)
{
    llfi_diag *d = p->lex.diag;
    const char *op = made[m].name;
    for (uint32_t i = 0; i < LLFI_COUNT(attrs); i++) {
        uint32_t bit = 1u << i;
        if (!(made[m].takes & bit) || strlen(attrs[i]) != name->bytes ||
            memcmp(attrs[i], name->text, name->bytes) != 0)
            continue;
        if (a->given & bit)
            return llfi_fail_at(d, LLF_E_PARSE, name->place, op, "%s: attribute %s stands twice", op,
                                attrs[i]);
        a->given |= bit;
        llfi_lex_spaces(&p->lex);
        return value_of(p, op, bit, a);
    }
    return llfi_fail_at(d, LLF_E_PARSE, name->place, op, "%s: unknown attribute '%.*s'; it takes %s", op,
                        name->bytes > 40 ? 40 : (int)name->bytes, name->text, made[m].attrs);
}

static llf_status check(llfi_parser *p, llfi_made m, const llfi_made_attrs *a, uint32_t results,
                        llfi_place at)
{
    llfi_diag *d = p->lex.diag;
    const char *op = made[m].name;
    size_t operands = p->arg.count;
    for (uint32_t i = 0; i < LLFI_COUNT(attrs); i++)
        if (made[m].needs & ~a->given & 1u << i)
            return llfi_fail_at(d, LLF_E_PARSE, at, op, "%s needs the attribute %s=", op, attrs[i]);
    if (m == LLFI_MADE_STACK ? operands == 0 : operands != 1)
        return llfi_fail_at(d, LLF_E_PARSE, at, op, "%s takes %s1 operand, not %zu", op,
                            m == LLFI_MADE_STACK ? "at least " : "", operands);
    if (m == LLFI_MADE_ROLL && a->list.count != a->axes.count)
        return llfi_fail_at(d, LLF_E_TYPE, at, op, "%s: %u shifts for %u axes", op, a->list.count,
                            a->axes.count);
    if (m != LLFI_MADE_SPLIT)
        return LLF_OK;
    bool sizes = a->given & SIZES, sections = a->given & SECTIONS;
    if (sizes == sections)
        return llfi_fail_at(d, LLF_E_PARSE, at, op,
                            "%s needs one of the attributes sections= and sizes=", op);
    if (sizes ? results != a->list.count : results != a->sections)
        return llfi_fail_at(d, LLF_E_TYPE, at, op, "%s: %u names for %lld parts", op, results,
                            sizes ? (long long)a->list.count : (long long)a->sections);
    return LLF_OK;
}

static llf_status roll(llfi_parser *p, const llfi_made_attrs *a, llfi_place at, llf_id *out)
{
    llfi_roll_ask ask = {.count = a->list.count};
    for (uint32_t i = 0; i < ask.count; i++) {
        llfi_bound b = a->list.range[i].start;
        ask.back[i] = b.back != 0;
        ask.shift[i] = b.back ? llfi_dim_const(p->g->dims, b.back) : b.dim;
        ask.axis[i] = a->axes.axis[i];
        if (ask.shift[i] == LLFI_DIM_NONE)
            return b.back
                       ? llfi_nomem(p->lex.diag)
                       : llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, "roll", "roll: shift %u is missing", i);
    }
    return llfi_make_roll(p->g, p->arg.at[0], &ask, at, out);
}

llf_status llfi_made_build(llfi_parser *p, llfi_made m, const llfi_made_attrs *a, uint32_t results,
                           llfi_place at, llf_id *out)
{
    LLF_TRY(check(p, m, a, results, at));
    if (m == LLFI_MADE_STACK)
        return llfi_make_stack(p->g, (uint32_t)p->arg.count, p->arg.at, a->axis, at, out);
    if (m == LLFI_MADE_ROLL)
        return roll(p, a, at, out);
    return llfi_make_split(p->g, p->arg.at[0], a->axis, results, a->given & SIZES ? a->list.dim : NULL, at,
                           out);
}
