// RUN: remat-opt %s --split-input-file --verify-diagnostics --remat-annotate-costs
// RUN: not remat-opt %s --remat-set-target=target=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: unknown target 'tpu', expected one of: cpu

// expected-error @+1 {{unknown target 'tpu', expected one of: cpu}}
module attributes {remat.target = #remat.target<"tpu">} {
}

// -----

// expected-error @+1 {{attribute 'remat.target' must be a '#remat.target', got "cpu"}}
module attributes {remat.target = "cpu"} {
}

// -----

// expected-error @+1 {{alignment must be a power of two and a multiple of 64, got 96}}
module attributes {remat.target = #remat.target<"cpu", alignment = 96>} {
}

// -----

// expected-error @+1 {{row_bytes must be positive, got -1}}
module attributes {remat.target = #remat.target<"cpu", row_bytes = -1>} {
}

// -----

// expected-error @+1 {{narrow_tile_flops must not be negative, got -1}}
module attributes {remat.target = #remat.target<"cpu", narrow_tile_flops = -1>} {
}

// -----

// expected-error @+1 {{block_rows, 4, must be at least min_block_rows, 8}}
module attributes {remat.target = #remat.target<"cpu", block_rows = 4>} {
}

// -----

// expected-error @+1 {{launch_ns must not be negative, got -1}}
module attributes {remat.target = #remat.target<"cpu", launch_ns = -1>} {
}

// -----

// expected-error @+1 {{alignment must be at most 281474976710656, got 562949953421312}}
module attributes {remat.target = #remat.target<"cpu", alignment = 562949953421312>} {
}
