"""Attention in the forms in which programs have it, as IR.

    attention_forms.py FORM ROWS COLUMNS WIDTH [BLOCK_BYTES]

FORM is words with commas between them:

    merged     batch and heads are one dimension
    views      they are two, of which the contractions see one
    separate   they are two everywhere
    grouped    two heads of queries share keys and values; with views, these are repeated
    causal     a row sees the columns up to its own place
    padding    where an argument is below -0.5, it hides columns of each element of the batch
    bias       an argument is added to the scores
    dropout    a fifth of the probabilities is dropped
    f16, bf16  the type of what contractions read, to which arguments are rounded; f32 without
    rounded    contractions give this type, too
    projected  rows of queries, keys and values of all heads are next to each other, keys and values as halves of a sum; all
               are transposed, queries and keys scaled, and keys turned
    signature  the function returns its fourth argument
    gradients  with views, and f32: it returns gradients, as frameworks write them, that of the result being its fourth
               argument

The gradient of the sum of the result's products with one more argument is that of attention. With BLOCK_BYTES, the fast
memory of a tile has so many bytes, and a tile 16 rows.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

BATCH, HEADS = 2, 4


class Program:

    def __init__(self):
        self.lines, self.count = [], 0

    def add(self, text, type=None):
        self.count += 1
        self.lines.append("  %%v%d = %s" % (self.count, text))
        return "%%v%d" % self.count

    def constant(self, value, type):
        return self.add("arith.constant %s : %s" % (value, type))

    def generic(self, inputs, maps, shape, element, body, init=None, reduces=False):
        """Over the dimensions of `shape`, of which the last is reduced if it `reduces`. `body` gets names of elements and
        returns lines and the name of what is yielded."""
        rank = len(shape)
        loops = ", ".join("d%d" % i for i in range(rank))
        out = list(range(rank - 1 if reduces else rank))
        result = tensor([shape[i] for i in out], element)
        target = self.add("tensor.empty() : " + result)
        if init is not None:
            target = self.add("linalg.fill ins(%s : %s) outs(%s : %s) -> %s" % (
                self.constant(init, element), element, target, result, result))
        text = ["affine_map<(%s) -> (%s)>" % (loops, ", ".join("d%d" % i for i in dims)) for dims in [*maps, out]]
        kinds = ['"parallel"'] * len(out) + ['"reduction"'] * reduces
        lines, made = body(*["%%e%d" % i for i in range(len(inputs))], "%o")
        types = [kind.split("x")[-1].rstrip(">") for _, kind in inputs]
        arguments = ["%%e%d: %s" % (i, kind) for i, kind in enumerate(types)] + ["%o: " + element]
        operands = "ins(%s : %s) " % (", ".join(n for n, _ in inputs), ", ".join(k for _, k in inputs)) if inputs else ""
        return self.add("linalg.generic {indexing_maps = [%s], iterator_types = [%s]} %souts(%s : %s) {\n  ^bb0(%s):\n%s"
                        "    linalg.yield %s : %s\n  } -> %s" % (
                            ", ".join(text), ", ".join(kinds), operands, target, result, ", ".join(arguments),
                            "".join("    %s\n" % line for line in lines), made, element, result)), result

    def contract(self, a, b, maps, shape, element):
        result = tensor(shape, element)
        zeros = self.constant("dense<0.0>", result)
        text = ", ".join("affine_map<(%s) -> (%s)>" % (", ".join("bghijd"), ", ".join(m)) for m in maps)
        used = [loop for loop in "bghijd" if any(loop in m for m in maps)]
        text = text.replace("(b, g, h, i, j, d)", "(%s)" % ", ".join(used))
        return self.add("linalg.contract indexing_maps = [%s] ins(%s, %s : %s, %s) outs(%s : %s) -> %s" % (
            text, a[0], b[0], a[1], b[1], zeros, result, result)), result

    def convert(self, value, shape, element):
        old = value[1].split("x")[-1].rstrip(">")
        if old == element:
            return value
        op = "extf" if element == "f32" else "truncf"
        dims = list(range(len(shape)))
        return self.generic([value], [dims], shape, element,
                            lambda x, o: (["%%r = arith.%s %s : %s to %s" % (op, x, old, element)], "%r"))

    def project(self, arguments, front, keys, element):
        """Queries, keys and values out of rows that have all heads."""
        (_, (batch, rows, heads)), (_, both) = arguments[:2]
        columns, half, width = both[1], both[2] // 2, heads // HEADS
        q = self.convert(("%q", tensor([batch, rows, heads], "f32")), [batch, rows, heads], element)
        total = self.generic([("%k", tensor(both, "f32")), ("%v", tensor(both, "f32"))], [[0, 1, 2]] * 2, both, "f32",
                             lambda x, y, o: (["%%r = arith.addf %s, %s : f32" % (x, y)], "%r"))
        total = self.convert(total, both, element)
        k, v = [(self.add("tensor.extract_slice %s[0, 0, %d] [%d, %d, %d] [1, 1, 1] : %s to %s" % (
            total[0], place, batch, columns, half, total[1], tensor([batch, columns, half], element))),
                 tensor([batch, columns, half], element)) for place in (0, half)]
        scale = lambda x, o: (["%%c = arith.constant 0.75 : %s" % element, "%%r = arith.mulf %s, %%c : %s" % (x, element)],
                              "%r")
        copy = lambda x, o: ([], x)

        def turn(value, leading, size, order, body):
            inner = list(range(2, 2 + len(leading) - 1))
            groups = str([[0], [1], inner + [inner[-1] + 1]])
            value = self.view(value, groups, [batch, size] + leading[1:] + [width], element)
            # The dimensions of the result, by those of what is read.
            last = len(leading)
            places = {"row": [0, last] + list(range(1, last)) + [last + 1],
                      "column": [0, last + 1] + list(range(1, last)) + [last]}[order]
            shape = leading + ([size, width] if order == "row" else [width, size])
            return self.generic([value], [places], shape, element, body)

        return turn(q, front, rows, "row", scale), turn(k, keys, columns, "column", scale), turn(
            v, keys, columns, "row", copy)

    def view(self, value, groups, shape, element):
        """Joins or divides dimensions."""
        old = value[1]
        new = tensor(shape, element)
        if old.count("x") > len(shape):
            return self.add("tensor.collapse_shape %s %s : %s into %s" % (value[0], groups, old, new)), new
        return self.add("tensor.expand_shape %s %s output_shape %s : %s into %s" % (
            value[0], groups, list(shape), old, new)), new


def tensor(shape, element):
    return "tensor<%s>" % "x".join([*map(str, shape), element])


def build(words, rows, columns, width):
    p = Program()
    element = next((w for w in ("f16", "bf16") if w in words), "f32")
    made = element if "rounded" in words else "f32"
    groups = HEADS // 2 if "grouped" in words else HEADS
    if "merged" in words:
        front, keys, loops, key_loops = [BATCH * HEADS], [BATCH * HEADS], "b", "b"
    elif "grouped" in words:
        front, keys, loops, key_loops = [BATCH, groups, 2], [BATCH, groups], "bgh", "bg"
    else:
        front, keys, loops, key_loops = [BATCH, HEADS], [BATCH, HEADS], "bg", "bg"
    arguments = [("%q", front + [rows, width]), ("%k", keys + [columns, width]), ("%v", keys + [columns, width]),
                 ("%w", front + [rows, width])]
    if "padding" in words:
        arguments.append(("%hidden", [BATCH, columns]))
    if "bias" in words:
        arguments.append(("%bias", [rows, columns]))
    key_order = "jd"
    if "projected" in words:
        heads, both = HEADS * width, [BATCH, columns, 2 * groups * width]
        arguments[:3] = [("%q", [BATCH, rows, heads]), ("%k", both), ("%v", both)]
        q, k, v = p.project(arguments, front, keys, element)
        key_order = "dj"
    else:
        q, k, v = [p.convert((name, tensor(shape, "f32")), shape, element) for name, shape in arguments[:3]]
    scores = front + [rows, columns]
    if "views" in words:
        # Contractions see one dimension in front of rows and columns.
        count = BATCH * HEADS
        if "grouped" in words:
            k, v = [p.generic([x], [[0, 1, 3, 4]], front + size, element, lambda e, o: ([], e))
                    for x, size in ((k, [width, columns] if key_order == "dj" else [columns, width]), (v, [columns, width]))]
        inner = list(range(len(front)))
        joined = str([inner, [len(front)], [len(front) + 1]])
        qv = p.view(q, joined, [count, rows, width], element)
        kv = p.view(k, joined, [count, width, columns] if key_order == "dj" else [count, columns, width], element)
        vv = p.view(v, joined, [count, columns, width], element)
        s = p.contract(qv, kv, ["bid", "b" + key_order, "bij"], [count, rows, columns], made)
        s = p.view(s, joined, scores, made)
    else:
        s = p.contract(q, k, [loops + "id", key_loops + key_order, loops + "ij"], scores, made)
    rank = len(scores)
    every, row = list(range(rank)), list(range(rank - 1))
    scale = "%f" % width**-0.5
    s = p.convert(s, scores, "f32")

    inputs, maps = [s], [every]
    if "padding" in words:
        inputs.append(("%hidden", tensor([BATCH, columns], "f32")))
        maps.append([0, rank - 1])
    if "bias" in words:
        inputs.append(("%bias", tensor([rows, columns], "f32")))
        maps.append([rank - 2, rank - 1])

    def score(*names):
        lines = ["%%c = arith.constant %s : f32" % scale, "%%s = arith.mulf %s, %%c : f32" % names[0]]
        last = "%s"
        if "bias" in words:
            lines.append("%%a = arith.addf %s, %s : f32" % (last, names[-2]))
            last = "%a"
        if "causal" in words:
            lines += ["%%i = linalg.index %d : index" % (rank - 2), "%%j = linalg.index %d : index" % (rank - 1),
                      "%least = arith.constant 0xFF800000 : f32", "%seen = arith.cmpi sle, %j, %i : index",
                      "%%m = arith.select %%seen, %s, %%least : f32" % last]
            last = "%m"
        if "padding" in words:
            lines += ["%low = arith.constant -1.0e4 : f32", "%least_shown = arith.constant -0.5 : f32",
                      "%%hides = arith.cmpf olt, %s, %%least_shown : f32" % names[1],
                      "%%p = arith.select %%hides, %%low, %s : f32" % last]
            last = "%p"
        return lines, last

    s = p.generic(inputs, maps, scores, "f32", score)
    most = p.generic([s], [every], scores, "f32", lambda x, o: (["%%r = arith.maximumf %s, %s : f32" % (x, o)], "%r"),
                     init="0xFF800000", reduces=True)
    e = p.generic([s, most], [every, row], scores, "f32",
                  lambda x, y, o: (["%%d = arith.subf %s, %s : f32" % (x, y), "%r = math.exp %d : f32"], "%r"))
    total = p.generic([e], [every], scores, "f32", lambda x, o: (["%%r = arith.addf %s, %s : f32" % (x, o)], "%r"),
                      init="0.0", reduces=True)
    y = p.generic([e, total], [every, row], scores, "f32",
                  lambda x, y, o: (["%%r = arith.divf %s, %s : f32" % (x, y)], "%r"))
    if "dropout" in words:
        seed, place = p.constant("dense<7>", "tensor<i64>"), p.constant("dense<3>", "tensor<i64>")
        drawn = p.add("remat.random %s, %s : (tensor<i64>, tensor<i64>) -> %s" % (seed, place, tensor(scores, "f32")))
        y = p.generic([y, (drawn, tensor(scores, "f32"))], [every, every], scores, "f32", lambda x, y, o: (
            ["%z = arith.constant 0.0 : f32", "%fifth = arith.constant 0.2 : f32", "%more = arith.constant 1.25 : f32",
             "%%kept = arith.cmpf oge, %s, %%fifth : f32" % y, "%%m = arith.mulf %s, %%more : f32" % x,
             "%r = arith.select %kept, %m, %z : f32"], "%r"))
    if "gradients" in words:
        wv = p.view(("%w", q[1]), joined, [count, rows, width], "f32")
        dy = p.view(p.contract(wv, vv, ["bid", "bjd", "bij"], [count, rows, columns], "f32"), joined, scores, "f32")
        moved = p.generic([y, dy], [every, every], scores, "f32",
                          lambda x, y, o: (["%%r = arith.mulf %s, %s : f32" % (x, y)], "%r"))
        mean = p.generic([moved], [every], scores, "f32",
                         lambda x, o: (["%%r = arith.addf %s, %s : f32" % (x, o)], "%r"), init="0.0", reduces=True)
        change = p.generic([moved, y, mean], [every, every, row], scores, "f32", lambda x, y, z, o: (
            ["%%m = arith.mulf %s, %s : f32" % (y, z), "%%d = arith.subf %s, %%m : f32" % x,
             "%%c = arith.constant %s : f32" % scale, "%r = arith.mulf %d, %c : f32"], "%r"))
        change = p.view(change, joined, [count, rows, columns], "f32")
        yv = p.view(y, joined, [count, rows, columns], "f32")
        made = [(change, kv, ["bij", "bjd", "bid"], rows), (change, qv, ["bij", "bid", "bjd"], columns),
                (yv, wv, ["bij", "bid", "bjd"], columns)]
        return arguments, p.lines, [
            p.view(p.contract(a, b, maps, [count, size, width], "f32"), joined, front + [size, width], "f32")
            for a, b, maps, size in made]
    y = p.convert(y, scores, element)
    shape = front + [rows, width]
    if "views" in words:
        yv = p.view(y, joined, [count, rows, columns], element)
        r = p.view(p.contract(yv, vv, ["bij", "bjd", "bid"], [count, rows, width], made), joined, shape, made)
    else:
        r = p.contract(y, v, [loops + "ij", key_loops + "jd", loops + "id"], shape, made)
    r = p.convert(p.convert(r, shape, element), shape, "f32")
    flat = list(range(len(shape)))
    # The result is not the last thing that is made, as in a model.
    product = p.generic([r, ("%w", tensor(shape, "f32"))], [flat, flat], shape, "f32",
                        lambda x, y, o: (["%%r = arith.mulf %s, %s : f32" % (x, y)], "%r"))
    return arguments, p.lines, [product]


def main():
    words = sys.argv[1].split(",")
    rows, columns, width = map(int, sys.argv[2:5])
    arguments, lines, results = build(words, rows, columns, width)
    if "signature" in words:
        lines, results = [], [("%w", tensor(arguments[3][1], "f32"))]
    facts = ""
    if len(sys.argv) > 5:
        facts = (' attributes {remat.target = #remat.target<"cuda", alignment = 256, row_bytes = 8388608, block_bytes = %s,'
                 ' block_rows = 16, min_block_rows = 8, in_place = true, epilogues = true, strides = true, shared_strides = true, row_stages = true>}' % sys.argv[5])
    print("module%s {" % facts)
    names, types = zip(*results)
    print("func.func @main(%s) -> (%s) {" % (
        ", ".join("%s: %s" % (name, tensor(shape, "f32")) for name, shape in arguments), ", ".join(types)))
    print("\n".join(lines))
    print("  return %s : %s\n}\n}" % (", ".join(names), ", ".join(types)))


main()
