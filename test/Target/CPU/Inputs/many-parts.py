"""many-parts.py COUNT: a function that puts its arguments together."""

import sys

count = int(sys.argv[1])
names = [f"%a{number}" for number in range(count)]
part = "tensor<1x16xf32>"
print(f"func.func @main({', '.join(f'{name}: {part}' for name in names)}) -> tensor<{count}x16xf32> {{")
print(f"  %0 = tensor.concat dim(0) {', '.join(names)} : ({', '.join([part] * count)}) -> tensor<{count}x16xf32>")
print(f"  return %0 : tensor<{count}x16xf32>\n}}")
