/* parse_settings.c: what stands behind `name=` where a composite has several attributes. What may be missing
 * is settings.c's to say. */
#include "ir/parse.h"

static llf_status parse_float(llfi_parser *p, const llfi_op_info *o, llfi_setting setting, uint64_t *bits)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    llfi_word word;
    if (!llfi_lex_literal(x, &word))
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, o->name, "%s: %s is a number, found %s", o->name,
                            llfi_setting_name(setting), found.text);
    return llfi_literal_parse(x->diag, at, LLF_F64, word.text, word.bytes, bits);
}

static llf_status parse_reduction(llfi_parser *p, const llfi_op_info *o, uint32_t *reduction)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    llfi_word word;
    if (llfi_lex_word(x, &word) && llfi_reduction_find(word.text, word.bytes, reduction))
        return LLF_OK;
    return llfi_fail_at(x->diag, LLF_E_PARSE, at, o->name, "%s: reduction is %s; legal: mean sum none",
                        o->name, found.text);
}

llf_status llfi_parse_setting(llfi_parser *p, const llfi_op_info *o, const llfi_word *name, llfi_ask *ask)
{
    llfi_setting setting = LLFI_SETTING_KEEPDIMS;
    (void)llfi_setting_find(o->attr, name->text, name->bytes, &setting);
    switch (setting) {
    case LLFI_SETTING_KEEPDIMS: break; /* stands alone */
    case LLFI_SETTING_OUT: ask->has_dtype = true; return llfi_parse_dtype(p, &ask->dtype);
    case LLFI_SETTING_AXIS: return llfi_parse_int(p, o->name, "an axis", &ask->along);
    case LLFI_SETTING_CORRECTION: return llfi_parse_int(p, o->name, "an integer", &ask->correction);
    case LLFI_SETTING_EPS: return parse_float(p, o, setting, &ask->eps);
    case LLFI_SETTING_MOMENTUM: return parse_float(p, o, setting, &ask->momentum);
    case LLFI_SETTING_REDUCTION: return parse_reduction(p, o, &ask->reduction);
    case LLFI_SETTING_AXES: ask->all = false; return llfi_parse_list(p, LLFI_ATTR_KIND_INTS, o->name, ask);
    }
    return LLF_OK;
}
