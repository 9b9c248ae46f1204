"""adamw.py [TENSORS] > cases/adamw100.llf: one AdamW step over many tensors as one graph, in the order of operations
of torch.optim.AdamW's single-tensor loop. Bias corrections and the step are host scalars: one compile for all steps."""
import sys

tensors = int(sys.argv[1]) if len(sys.argv) > 1 else 100
inputs, body, outputs = [], [], []


def emit(text):
    body.append(f"  %{len(body)} = {text}")
    return f"%{len(body) - 1}"


for i in range(tensors):
    p, g, m, v = (f"%{name}{i}" for name in "pgmv")
    inputs += [f"{x}: f32[N]" for x in (p, g, m, v)]
    decayed = emit(f"mul {p}, %decay")
    difference = emit(f"sub {g}, {m}")
    first = emit(f"fma {difference}, 0.1, {m}")
    square = emit(f"mul {g}, {g}")
    kept = emit(f"mul {v}, 0.999")
    second = emit(f"fma {square}, 0.001, {kept}")
    root = emit(f"sqrt {second}")
    scaled = emit(f"div {root}, %bc2_sqrt")
    denominator = emit(f"add {scaled}, 1e-8")
    update = emit(f"div {first}, {denominator}")
    outputs += [emit(f"fma {update}, %minus_step, {decayed}"), first, second]
inputs += ["%decay: scalar f32", "%bc2_sqrt: scalar f32", "%minus_step: scalar f32"]

print(f"; One AdamW step over {tensors} tensors, written as one graph (made by bench/adamw.py): one launch of {tensors} parts")
print("; that share their code, as far as kernel parameters reach; an eager framework's loop launches some 14 a tensor.")
print("; set N=1048576")
print("; set.host N=4096")
print("; data v*=abs_normal decay=0.99999 bc2_sqrt=0.0316 minus_step=-0.01")
print(f"; expect transfers {27 * tensors} -> {7 * tensors}")
print(f"graph @adamw{tensors}({', '.join(inputs)}) {{")
print("\n".join(body))
print(f"  ret {', '.join(outputs)}\n}}")
