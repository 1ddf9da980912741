"""Prints a tensor of N rows that N - 1 steps read, one row each; with --unused, behind something that does not read it."""
import sys

count = int(sys.argv[1])
row = "tensor<1x64xf32>"
whole = f"tensor<{count}x64xf32>"


def generic(inputs, init, body):
    names = ", ".join(name for name, _ in inputs)
    types = ", ".join(kind for _, kind in inputs)
    arguments = ", ".join(f"%i{number}: f32" for number in range(len(inputs)))
    maps = ", ".join(["#id"] * (len(inputs) + 1))
    kind = inputs[0][1]
    return (f'linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}} '
            f"ins({names} : {types}) outs({init} : {kind}) {{\n"
            f"^bb0({arguments}, %o: f32):\n  %r = {body} : f32\n  linalg.yield %r : f32\n}} -> {kind}")


print("#id = affine_map<(i, j) -> (i, j)>")
print(f"func.func @main(%x: {whole}, %y: {row}) -> ({row}, {row}) {{")
print(f"%e = tensor.empty() : {whole}\n%f = tensor.empty() : {row}")
print("%w =", generic([("%x", whole)], "%e", "math.sqrt %i0"))
for number in range(count):
    print(f"%s{number} = tensor.extract_slice %w[{number}, 0] [1, 64] [1, 1] : {whole} to {row}")
last = "%s0"
if "--unused" in sys.argv:
    print("%u =", generic([("%y", row)], "%f", "math.sqrt %i0"))
for number in range(1, count):
    print(f"%h{number} =", generic([(last, row), (f"%s{number}", row)], "%f", "arith.divf %i0, %i1"))
    last = f"%h{number}"
print(f"return {last}, {'%u' if '--unused' in sys.argv else '%y'} : {row}, {row}\n}}")
