"""Writes a model of equal layers and its manifest: layers.py KIND LAYERS FILE [ROWS]. Files are FILE.mlir and FILE.json.

KINDS: 'residual' has a matrix, a vector and a constant in each layer, and a scale that all share; 'pair' carries two
values, and returns those of all layers; 'stages' has two chains of layers of different widths."""

import json
import sys

kind, layers, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ROWS = int(sys.argv[4]) if len(sys.argv) > 4 else 8
args, lines, results, fills = [], [], [], []
count = 0


def arg(shape, role="param", bound=0.5, name=None):
    value = f"%arg{len(args)}"
    args.append(f"{value}: {tensor(shape)}")
    fills.append({"name": name or value[1:], "dtype": "float32", "shape": list(shape), "role": role,
                  "fill": {"kind": "uniform", "seed": len(args), "lo": -bound, "hi": bound}})
    return value


def tensor(shape):
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def add(text):
    global count
    count += 1
    lines.append(f"  %v{count} = {text}")
    return f"%v{count}"


def matmul(x, w, rows, inner, columns):
    empty = add(f"tensor.empty() : {tensor((rows, columns))}")
    zeros = add(f"linalg.fill ins(%zero : f32) outs({empty} : {tensor((rows, columns))}) -> {tensor((rows, columns))}")
    return add(f"linalg.matmul ins({x}, {w} : {tensor((rows, inner))}, {tensor((inner, columns))}) "
               f"outs({zeros} : {tensor((rows, columns))}) -> {tensor((rows, columns))}")


def rows_of(vector, width):
    empty = add(f"tensor.empty() : {tensor((ROWS, width))}")
    return add(f"linalg.broadcast ins({vector} : {tensor((width,))}) outs({empty} : {tensor((ROWS, width))}) "
               "dimensions = [0]")


def layer(x, width, scale, number):
    type = tensor((ROWS, width))
    product = matmul(x, arg((width, width), bound=1 / width ** 0.5), ROWS, width, width)
    biased = add(f"arith.addf {product}, {rows_of(arg((width,)), width)} : {type}")
    constant = add(f"arith.constant dense<{1 + number / 16}> : {type}")
    active = add(f"math.tanh {add(f'arith.mulf {biased}, {constant} : {type}')} : {type}")
    scaled = add(f"arith.mulf {active}, {rows_of(scale, width)} : {type}")
    return add(f"arith.addf {x}, {scaled} : {type}")


width = 16
x = arg((ROWS, width), role="data")
scale = arg((width,), name="shared")
if kind == "residual":
    for number in range(layers):
        x = layer(x, width, scale, number)
elif kind == "pair":
    other = x
    for number in range(layers):
        w = arg((width, width), bound=0.25)
        type = tensor((ROWS, width))
        x = add(f"math.tanh {matmul(x, w, ROWS, width, width)} : {type}")
        other = add(f"arith.addf {add(f'arith.mulf {other}, {rows_of(scale, width)} : {type}')}, {x} : {type}")
        results.append((x, (ROWS, width)))
    x = other
elif kind == "stages":
    for number in range(layers):
        x = layer(x, width, scale, number)
    x = matmul(x, arg((width, 2 * width), bound=0.25), ROWS, width, 2 * width)
    width *= 2
    wide = arg((width,), name="shared_by_wide")
    for number in range(layers):
        x = layer(x, width, wide, number)
else:
    sys.exit(f"unknown kind '{kind}', expected residual, pair or stages")
empty = add("tensor.empty() : tensor<f32>")
zero = add(f"linalg.fill ins(%zero : f32) outs({empty} : tensor<f32>) -> tensor<f32>")
square = add(f"arith.mulf {x}, {x} : {tensor((ROWS, width))}")
loss = add(f"linalg.reduce {{ arith.addf }} ins({square} : {tensor((ROWS, width))}) outs({zero} : tensor<f32>) "
           "dimensions = [0, 1]")
results.append((loss, ()))
with open(path + ".mlir", "w") as file:
    types = ", ".join(tensor(shape) for _, shape in results)
    file.write(f"func.func @main({', '.join(args)}) -> ({types}) {{\n  %zero = arith.constant 0.0 : f32\n")
    file.write("\n".join(lines))
    file.write(f"\n  return {', '.join(name for name, _ in results)} : {types}\n}}\n")
with open(path + ".json", "w") as file:
    json.dump({"model": kind, "function": "main", "args": fills}, file)
