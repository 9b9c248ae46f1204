/* fuzz_parse.c: libFuzzer target of the parser. Whatever the bytes are: no crash, no leak; a graph that
 * parses verifies or is refused with a message, and its text is a fixpoint. Must not link anything beyond the
 * library. */
#include "ir/ir.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void round_trip(llf_context *cx, const llf_graph *g)
{
    char *text = NULL, *again = NULL;
    size_t bytes = 0, n = 0;
    llf_graph *h = NULL;
    check(llf_graph_print(cx, g, &text, &bytes) == LLF_OK);
    check(llf_graph_parse(cx, text, bytes, NULL, &h) == LLF_OK);
    check(llf_graph_print(cx, h, &again, &n) == LLF_OK);
    check(n == bytes && memcmp(text, again, n) == 0);
    check(llfi_graph_hash(g) == llfi_graph_hash(h));
    llf_text_free(cx, text, bytes);
    llf_text_free(cx, again, n);
    llf_graph_destroy(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    llf_context_options o = {.size = sizeof o, .logs = ""};
    llf_context *cx = llf_context_create(&o);
    check(cx != NULL);
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, (const char *)data, size, "fuzz.llf", &g) == LLF_OK) {
        check(llfi_verify(g) == LLF_OK);
        round_trip(cx, g);
        llf_graph_destroy(g);
    } else {
        check(g == NULL && llf_last_error(cx)->status != LLF_OK && llf_last_error(cx)->message[0]);
    }
    llf_context_destroy(cx);
    return 0;
}
