"""Writes a model whose names would do harm in a page. usage: make_names.py OUTPUT.mlir"""
import sys

name = r"main/</script><script>alert(1)</script><!-- \E2\80\A8 \FF & {{x}}"
with open(sys.argv[1], "w") as file:
    file.write(f"""func.func @main(%x: tensor<8x8xf32>) -> tensor<f32> {{
  %e = math.exp %x : tensor<8x8xf32> loc("{name}")
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce {{arith.addf}} ins(%e : tensor<8x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1] loc("{name}")
  return %sum : tensor<f32>
}}
""")
