#!/usr/bin/env python3
"""Writes tests/data/views.txt: views and broadcasts with numpy's results, the oracle of test_interp_view.c.

usage: python3 make_views.py > views.txt   (needs numpy)

Every input is the integers 0, 1, 2, ... plus 100 times its place, as f32. A case is a line `case N=3 M=1`, the
graph's text, and for each output a line `= shape : values`, ended by `end`.
"""
import random
import numpy as np

random.seed(20240229)


def data(shape, place=0):
    return (np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.float32) + np.float32(100 * place)).reshape(shape)


def text_shape(shape):
    return ", ".join(str(d) for d in shape)


def emit(inputs, lines, outputs, symbols=None):
    """inputs: [(name, type text)]; lines: ops; outputs: [(name, array)]."""
    print("case " + " ".join(f"{k}={v}" for k, v in (symbols or {}).items()))
    print("graph @case(" + ", ".join(f"%{n}: f32[{t}]" for n, t in inputs) + ") {")
    for line in lines:
        print("  " + line)
    print("  ret " + ", ".join("%" + n for n, _ in outputs))
    print("}")
    for _, a in outputs:
        a = np.asarray(a)
        print("= " + " ".join(str(d) for d in a.shape) + " : " + " ".join(str(int(v)) for v in a.reshape(-1)))
    print("end")


def bound(i):
    return "" if i is None else str(i)


def slices():
    shapes = [(5,), (4, 3), (2, 3, 4), (1,), (0, 2), (7, 1)]
    for _ in range(60):
        shape = random.choice(shapes)
        x, item, key = data(shape), [], []
        for n in shape:
            step = random.choice([1, 1, 2, 3, -1, -2, -3, 100, -100])
            start = random.choice([None] + list(range(-n, n + (1 if step > 0 else 0))))
            stop = random.choice([None] + list(range(-n, n + 1)))
            key.append(slice(start, stop, step))
            item.append(f"{bound(start)}:{bound(stop)}" + ("" if step == 1 else f":{step}"))
        emit([("x", text_shape(shape))], [f"%y = slice %x, at=[{', '.join(item)}]"], [("y", x[tuple(key)])])
    for n in range(0, 5):
        x = data((n,))
        at = [("::-1", x[::-1]), ("::2", x[::2]), ("::-2", x[::-2]), (":N//2", x[: n // 2]), ("N//2:", x[n // 2 :])]
        if n >= 1:
            at += [("1:", x[1:]), (":-1", x[:-1]), ("1:-1", x[1:-1]), ("-1::-2", x[-1::-2]), ("1:N", x[1:n])]
        if n >= 3:
            at += [("2:0", x[2:0]), ("2::-1", x[2::-1]), ("-3:3", x[-3:3])]
        emit([("x", "N")], [f"%y{i} = slice %x, at=[{a}]" for i, (a, _) in enumerate(at)],
             [(f"y{i}", v) for i, (_, v) in enumerate(at)], {"N": n})


def axes(rank, count):
    return [a - rank if random.random() < 0.4 else a for a in random.sample(range(rank), count)]


def layout():
    for _ in range(40):
        shape = tuple(random.choice([1, 2, 3]) for _ in range(random.randint(1, 4)))
        x, rank = data(shape), len(shape)
        order = axes(rank, rank)
        back = axes(rank, random.randint(0, rank))
        more = random.randint(0, 2)
        new = axes(rank + more, more)
        ones = [i for i, d in enumerate(shape) if d == 1]
        left = random.sample(ones, random.randint(0, len(ones)))
        total = x.size
        first = random.choice([d for d in range(1, total + 1) if total % d == 0])
        lead = random.choice([2, 3])
        emit([("x", text_shape(shape))],
             [f"%p = permute %x, axes={order}", f"%f = flip %p, axes={back}", f"%e = expand_dims %f, axes={new}",
              f"%s = squeeze %x, axes={left}", f"%r = reshape %p, shape=[{first}, -1]",
              f"%b = broadcast_to %f, shape=[{lead}, {text_shape([shape[a] for a in order])}]"],
             [("p", np.transpose(x, order)), ("f", np.flip(np.transpose(x, order), tuple(back))),
              ("e", np.expand_dims(np.flip(np.transpose(x, order), tuple(back)), tuple(new))),
              ("s", np.squeeze(x, tuple(left))), ("r", np.transpose(x, order).reshape(first, -1)),
              ("b", np.broadcast_to(np.flip(np.transpose(x, order), tuple(back)),
                                    (lead,) + tuple(shape[a] for a in order)))])


def broadcasts():
    pairs = [((3,), (2, 3)), ((2, 1), (3,)), ((1,), (4,)), ((2, 1, 3), (5, 1)), ((1, 1), (1,)), ((0,), (1,)),
             ((2, 1), (1, 0)), ((), (2, 2)), ((4, 1, 2), (4, 3, 1))]
    for a, b in pairs:
        x, y = data(a), data(b, 1)
        emit([("x", text_shape(a)), ("y", text_shape(b))],
             ["%0 = sub %x, %y", "%1 = sub %y, %x", "%2 = fma %x, 2.0, %y", "%c = lt %x, 2.0", "%3 = where %c, %y, %x"],
             [("0", x - y), ("1", y - x), ("2", x * 2 + y), ("3", np.where(x < 2, y, x))])
    for n, m in [(1, 3), (4, 1), (3, 2), (0, 2)]:
        x, y = data((n, 1)), data((m,), 1)
        emit([("x", "N, 1"), ("y", "M")], ["%0 = sub %x, %y", "%1 = permute %0, axes=[1, 0]", "%2 = sub %0, %y",
                                          "%3 = reshape %1, shape=[-1]", "%4 = broadcast_to %x, shape=[2, N, M]"],
             [("0", x - y), ("1", (x - y).T), ("2", (x - y) - y), ("3", (x - y).T.reshape(-1)),
              ("4", np.broadcast_to(x, (2, n, m)))], {"N": n, "M": m})


slices()
layout()
broadcasts()
