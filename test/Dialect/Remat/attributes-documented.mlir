// The dialect's page has a row for each attribute that the verifier knows, and
// for no other.

// RUN: not remat-opt %s -split-input-file 2>&1 | grep -o "'remat\.[a-z_]*'" | tr -d "'" \
// RUN:   | grep -v remat.unknown | sort -u > %t.known
// RUN: FileCheck %s < %t.known
// RUN: grep "^| .remat\." %S/../../../docs/dialect.md | cut -d "|" -f 2 | grep -o "remat\.[a-z_]*" | sort -u > %t.page
// RUN: diff %t.known %t.page

// CHECK-DAG: remat.backward
// CHECK-DAG: remat.initial_value
// CHECK-DAG: remat.name

func.func @operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {remat.unknown} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @argument(%x: tensor<4xf32> {remat.unknown}) {
  return
}

// -----

func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {remat.unknown}) {
  return %x : tensor<4xf32>
}
