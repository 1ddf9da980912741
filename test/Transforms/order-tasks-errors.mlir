// RUN: remat-opt %s -verify-diagnostics --remat-order-tasks

// What was planned is in the order that was planned.

// expected-error @+1 {{is planned, expected its order to be free}}
remat.graph @planned() attributes {planned_peak = 0 : i64} {
  remat.return
}
