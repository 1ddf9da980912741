// Facts of the machine are data: the same function, two contractions with a
// maximum of each row between them, is done in tiles of other sizes where less
// memory is fast, and in one kernel an operation where there is none to speak of.

// RUN: sed -e 's/FACTS/"cpu"/' %s | remat-opt --remat-form-tasks | FileCheck %s --check-prefix=CPU
// RUN: sed -e 's/FACTS/"cpu", block_bytes = 12288, row_bytes = 12288/' %s | remat-opt --remat-form-tasks | FileCheck %s --check-prefix=SMALL
// RUN: sed -e 's/FACTS/"cpu", block_bytes = 1024, row_bytes = 1024/' %s | remat-opt --remat-form-tasks | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/FACTS/"cpu", sum_length = 16/' %s | remat-opt --remat-form-tasks | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/FACTS/"cpu", in_place = false, threads = 4, launch_ns = 0, duplex_link = true/' %s | remat-opt --verify-roundtrip | FileCheck %s --check-prefix=PRINT

// CPU-COUNT-3: remat.block = 64
// SMALL-COUNT-3: remat.block = 8
// NONE-NOT: remat.block
// PRINT: #remat.target<"cpu", in_place = false, threads = 4, launch_ns = 0, duplex_link = true>

#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#id = affine_map<(b, i, j) -> (b, i, j)>
module attributes {remat.target = #remat.target<FACTS>} {
  func.func @main(%q: tensor<4x256x32xf32>, %k: tensor<4x512x32xf32>, %v: tensor<4x32x512xf32>) -> tensor<4x256x32xf32> {
    %zero = arith.constant 0.0 : f32
    %es = tensor.empty() : tensor<4x256x512xf32>
    %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x256x512xf32>) -> tensor<4x256x512xf32>
    %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x256x32xf32>, tensor<4x512x32xf32>) outs(%fs : tensor<4x256x512xf32>) -> tensor<4x256x512xf32>
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x256x512xf32>) outs(%es : tensor<4x256x512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.maximumf %a, %zero : f32
      linalg.yield %r : f32
    } -> tensor<4x256x512xf32>
    %eo = tensor.empty() : tensor<4x256x32xf32>
    %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x256x32xf32>) -> tensor<4x256x32xf32>
    %o = linalg.contract indexing_maps = [#q, #k, #s] ins(%t, %v : tensor<4x256x512xf32>, tensor<4x32x512xf32>) outs(%fo : tensor<4x256x32xf32>) -> tensor<4x256x32xf32>
    return %o : tensor<4x256x32xf32>
  }
}
