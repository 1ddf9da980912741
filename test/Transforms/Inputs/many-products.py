"""many-products.py COUNT: the product of all arguments, element by element."""

import sys

count = int(sys.argv[1])
names = [f"%a{number}" for number in range(count)]
vector = "tensor<4xf32>"
print("#id = affine_map<(d0) -> (d0)>")
print(f"func.func @main({', '.join(f'{name}: {vector}' for name in names)}) -> {vector} {{")
print(f"  %e = tensor.empty() : {vector}")
product = names[0]
for number, name in enumerate(names[1:]):
    print(f'  %p{number} = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}} '
          f"ins({product}, {name} : {vector}, {vector}) outs(%e : {vector}) {{\n"
          f"  ^bb0(%x: f32, %y: f32, %o: f32):\n    %r = arith.mulf %x, %y : f32\n    linalg.yield %r : f32\n  }} -> {vector}")
    product = f"%p{number}"
print(f"  return {product} : {vector}\n}}")
