/* settings.c: the attributes of composites that have several: which an op takes stands in the name of its row
 * of attrs.def, what they are when not given in the row's column `legal`. Asked for, resolved into one list,
 * read and printed. Shapes are infer_composite.c's. */
#include "ir/float.h"
#include "ir/ir.h"

/* By llfi_setting. */
static const char *const setting_name[] = {"keepdims", "out",      "axis",      "correction",
                                           "eps",      "momentum", "reduction", "axes"};
static const char *const reduction_name[] = {"mean", "sum", "none"};

/* The word of that name in a list of words, or of word=value; NULL: none. */
static const char *find_word(const char *list, const char *name, size_t bytes)
{
    while (*list) {
        size_t n = strcspn(list, " =");
        if (n == bytes && memcmp(list, name, n) == 0)
            return list;
        list += strcspn(list, " ");
        list += *list == ' ';
    }
    return NULL;
}

bool llfi_setting_find(llfi_attr_id attr, const char *text, size_t bytes, llfi_setting *setting)
{
    for (uint32_t k = 0; k < LLFI_COUNT(setting_name); k++) {
        *setting = (llfi_setting)k;
        if (strlen(setting_name[k]) == bytes && memcmp(setting_name[k], text, bytes) == 0)
            return find_word(llfi_attr_name(attr), text, bytes) != NULL;
    }
    return false;
}

static bool has(llfi_attr_id attr, llfi_setting setting)
{
    return find_word(llfi_attr_name(attr), setting_name[setting], strlen(setting_name[setting])) != NULL;
}

const char *llfi_setting_name(llfi_setting setting)
{
    return setting_name[setting];
}

bool llfi_setting_required(llfi_attr_id attr, llfi_setting setting)
{
    const char *w = find_word(llfi_attr_legal(attr), setting_name[setting], strlen(setting_name[setting]));
    return w && w[strlen(setting_name[setting])] != '=';
}

/* The text of a default, "" where the row gives none. */
static const char *default_of(llfi_attr_id attr, llfi_setting setting, size_t *bytes)
{
    const char *w = find_word(llfi_attr_legal(attr), setting_name[setting], strlen(setting_name[setting]));
    *bytes = 0;
    if (!w || w[strlen(setting_name[setting])] != '=')
        return "";
    w += strlen(setting_name[setting]) + 1;
    *bytes = strcspn(w, " ");
    return w;
}

static uint64_t default_float(llfi_attr_id attr, llfi_setting setting)
{
    size_t bytes;
    uint64_t bits = 0;
    const char *text = default_of(attr, setting, &bytes);
    if (bytes)
        (void)llfi_literal_parse(NULL, (llfi_place){NULL, 0, 0}, LLF_F64, text, bytes, &bits);
    return bits;
}

void llfi_settings_default(llfi_attr_id attr, llfi_ask *ask)
{
    ask->all = true;
    ask->keepdims = ask->has_dtype = false;
    ask->count = ask->reduction = 0;
    ask->along = ask->correction = 0;
    ask->eps = default_float(attr, LLFI_SETTING_EPS);
    ask->momentum = default_float(attr, LLFI_SETTING_MOMENTUM);
}

bool llfi_reduction_find(const char *text, size_t bytes, uint32_t *reduction)
{
    for (*reduction = 0; *reduction < LLFI_COUNT(reduction_name); ++*reduction) {
        const char *name = reduction_name[*reduction];
        if (strlen(name) == bytes && memcmp(name, text, bytes) == 0)
            return true;
    }
    return false;
}

/* ---- resolved */

typedef struct {
    llf_graph *g;
    llf_op op;
    uint32_t type; /* of the first operand */
    llfi_place place;
} asked;

#define FAIL(a, code, ...) \
    llfi_fail_at(&(a)->g->cx->diag, code, (a)->place, llfi_ops[(a)->op].name, __VA_ARGS__)

static const char *name(const asked *a)
{
    return llfi_ops[a->op].name;
}

static llf_status check_float(const asked *a, llfi_setting setting, uint64_t bits, bool sign)
{
    double x = llfi_bits_to_f64(LLF_F64, bits);
    if (x - x == 0 && (sign || x >= 0))
        return LLF_OK;
    return FAIL(a, LLF_E_TYPE, "%s: %s must be finite%s", name(a), setting_name[setting],
                sign ? "" : " and not negative");
}

static llf_status one_axis(const asked *a, int64_t axis, int64_t *word)
{
    uint32_t rank = llfi_type_at(a->g, a->type).rank;
    if (axis < -(int64_t)rank || axis >= rank)
        return FAIL(a, LLF_E_TYPE, "%s: axis %lld is out of range: operand 1 is %s", name(a), (long long)axis,
                    llfi_show_type(a->g, a->type).text);
    *word = axis < 0 ? axis + rank : axis;
    return LLF_OK;
}

static llf_status words_of(const asked *a, const llfi_ask *ask, int64_t *word)
{
    llfi_attr_id attr = llfi_ops[a->op].attr;
    llf_dtype own = llfi_type_at(a->g, a->type).dtype;
    word[LLFI_SETTING_KEEPDIMS] = ask->keepdims;
    word[LLFI_SETTING_OUT] =
        has(attr, LLFI_SETTING_OUT) ? (int64_t)(ask->has_dtype ? ask->dtype : own) : LLFI_REDUCE_NO_OUT;
    word[LLFI_SETTING_AXIS] = 0;
    if (has(attr, LLFI_SETTING_AXIS))
        LLF_TRY(one_axis(a, ask->along, &word[LLFI_SETTING_AXIS]));
    word[LLFI_SETTING_CORRECTION] = ask->correction;
    if (ask->correction < 0)
        return FAIL(a, LLF_E_TYPE, "%s: correction is %lld, but must not be negative", name(a),
                    (long long)ask->correction);
    LLF_TRY(check_float(a, LLFI_SETTING_EPS, ask->eps, false));
    LLF_TRY(check_float(a, LLFI_SETTING_MOMENTUM, ask->momentum, true));
    word[LLFI_SETTING_EPS] = (int64_t)ask->eps;
    word[LLFI_SETTING_MOMENTUM] = (int64_t)ask->momentum;
    word[LLFI_SETTING_REDUCTION] = ask->reduction;
    return LLF_OK;
}

llf_status llfi_settings_attr(llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, const llfi_ask *ask,
                              llfi_place at, uint64_t *attr)
{
    for (uint32_t i = 0; i < count; i++) {
        if (arg[i] == LLF_NONE && g->poisoned != LLF_OK)
            return g->poisoned;
        if (arg[i] >= g->nodes.count)
            return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, llfi_ops[op].name,
                                "%s: operand %u is no value of this graph", llfi_ops[op].name, i + 1);
    }
    if (!llfi_op_takes(&llfi_ops[op], count))
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, llfi_ops[op].name,
                            "%s: %u is no number of operands for it", llfi_ops[op].name, count);
    const asked a = {g, op, llfi_node_at(g, arg[0])->type, at};
    int64_t word[LLFI_SETTING_AXES + LLFI_RANK];
    uint32_t axes = 0, words = LLFI_SETTING_AXES;
    LLF_TRY(words_of(&a, ask, word));
    if (has(llfi_ops[op].attr, LLFI_SETTING_AXES))
        LLF_TRY(llfi_reduce_axes(g, op, a.type, ask, at, &axes));
    for (uint32_t k = 0; k < LLFI_RANK; k++)
        if (axes >> k & 1)
            word[words++] = k;
    uint32_t list = llfi_list_make(g, words, word);
    *attr = list;
    return list == UINT32_MAX ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

bool llfi_settings_ok(llfi_list l)
{
    int64_t last = -1;
    if (l.count < LLFI_SETTING_AXES || l.count > LLFI_SETTING_AXES + LLFI_RANK)
        return false;
    bool ok = (uint64_t)l.at[LLFI_SETTING_KEEPDIMS] < 2 && l.at[LLFI_SETTING_OUT] >= LLFI_REDUCE_NO_OUT &&
              l.at[LLFI_SETTING_OUT] < LLF_DTYPES && (uint64_t)l.at[LLFI_SETTING_AXIS] < LLFI_RANK &&
              l.at[LLFI_SETTING_CORRECTION] >= 0 &&
              (uint64_t)l.at[LLFI_SETTING_REDUCTION] < LLFI_COUNT(reduction_name);
    for (uint32_t i = LLFI_SETTING_AXES; ok && i < l.count; last = l.at[i++])
        ok = l.at[i] > last && l.at[i] < LLFI_RANK;
    return ok;
}

llfi_settings llfi_settings_of(const llf_graph *g, uint64_t attr)
{
    llfi_list l = llfi_list_at(g, attr);
    llfi_settings p = {.keepdims = l.at[LLFI_SETTING_KEEPDIMS] != 0,
                       .has_out = l.at[LLFI_SETTING_OUT] != LLFI_REDUCE_NO_OUT,
                       .axis = (uint32_t)l.at[LLFI_SETTING_AXIS],
                       .correction = l.at[LLFI_SETTING_CORRECTION],
                       .eps = llfi_bits_to_f64(LLF_F64, (uint64_t)l.at[LLFI_SETTING_EPS]),
                       .momentum = llfi_bits_to_f64(LLF_F64, (uint64_t)l.at[LLFI_SETTING_MOMENTUM]),
                       .reduction = (llf_reduction)l.at[LLFI_SETTING_REDUCTION]};
    p.out = p.has_out ? (llf_dtype)l.at[LLFI_SETTING_OUT] : LLF_F32;
    for (uint32_t i = LLFI_SETTING_AXES; i < l.count; i++)
        p.axes |= 1u << l.at[i];
    return p;
}

/* ---- printed */

static void print_axes(const llf_graph *g, const llfi_node *n, llfi_list l, llfi_str *s)
{
    bool all = l.count == LLFI_SETTING_AXES + llfi_type_of(g, llfi_args(g, n)[0]).rank;
    if (all && !llfi_setting_required(llfi_ops[n->op].attr, LLFI_SETTING_AXES))
        return;
    llfi_str_puts(s, ", axes=[");
    for (uint32_t i = LLFI_SETTING_AXES; i < l.count; i++)
        llfi_str_printf(s, "%s%lld", i > LLFI_SETTING_AXES ? ", " : "", (long long)l.at[i]);
    llfi_str_puts(s, "]");
}

static void print_float(llfi_attr_id attr, llfi_setting setting, uint64_t bits, llfi_str *s)
{
    if (bits == default_float(attr, setting))
        return;
    llfi_str_printf(s, ", %s=", setting_name[setting]);
    llfi_literal_print(LLF_F64, bits, s);
}

static void print_setting(const llf_graph *g, const llfi_node *n, llfi_setting setting, llfi_str *s)
{
    llfi_attr_id attr = llfi_ops[n->op].attr;
    llfi_list l = llfi_list_at(g, n->attr);
    int64_t w = setting < LLFI_SETTING_AXES ? l.at[setting] : 0;
    switch (setting) {
    case LLFI_SETTING_AXES: print_axes(g, n, l, s); return;
    case LLFI_SETTING_KEEPDIMS: llfi_str_puts(s, w ? ", keepdims" : ""); return;
    case LLFI_SETTING_OUT:
        if ((llf_dtype)w != llfi_dtype_of(g, llfi_args(g, n)[0]))
            llfi_str_printf(s, ", out=%s", llf_dtype_name((llf_dtype)w));
        return;
    case LLFI_SETTING_AXIS: llfi_str_printf(s, ", axis=%lld", (long long)w); return;
    case LLFI_SETTING_CORRECTION:
        if (w)
            llfi_str_printf(s, ", correction=%lld", (long long)w);
        return;
    case LLFI_SETTING_REDUCTION:
        if (w)
            llfi_str_printf(s, ", reduction=%s", reduction_name[w]);
        return;
    case LLFI_SETTING_EPS:
    case LLFI_SETTING_MOMENTUM: print_float(attr, setting, (uint64_t)w, s); return;
    }
}

void llfi_settings_print(const llf_graph *g, const llfi_node *n, llfi_str *s)
{
    const char *word = llfi_attr_name(llfi_ops[n->op].attr);
    while (*word) {
        size_t bytes = strcspn(word, " ");
        llfi_setting setting;
        if (llfi_setting_find(llfi_ops[n->op].attr, word, bytes, &setting))
            print_setting(g, n, setting, s);
        word += bytes + (word[bytes] == ' ');
    }
}
