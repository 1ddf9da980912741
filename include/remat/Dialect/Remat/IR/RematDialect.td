//===- RematDialect.td - the remat dialect -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
#define REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD

include "mlir/IR/OpBase.td"

def Remat_Dialect : Dialect {
  let name = "remat";
  let cppNamespace = "::remat";
  let summary = "Training steps whose memory is decided before they run";
  let description = [{
    The dialect describes a training step at five levels:

    * **L0 capture**: `func.func` on tensors. `remat.checkpoint`, `remat.tag`
      and the discardable attributes below say what the user wants kept,
      recomputed or offloaded.
    * **L1 joint**: forward and backward computation in one block. Operations
      of the backward computation carry the unit attribute `remat.backward`.
    * **L2 tasks**: a `remat.graph` of `remat.task`s, straight-line, with
      static shapes. A task calls a *kernel*, a private function on tensors
      that is marked `remat.kernel`.
    * **L3 planned**: the order of the graph is the schedule. Recomputations
      are clones of tasks, transfers are `remat.offload` and `remat.reload`. A
      value dies at its last use.
    * **L4 placed**: every value has a slot in the arena, in the host arena or
      in a result buffer.

    Discardable attributes:

    * `remat.policy`, a `#remat.policy`, on an operation: holds for all of its
      results. On a function argument it has no effect but is accepted.
    * `remat.name`, a string, on an operation: names its results, as
      `checkpoint_name` does in JAX.
    * `remat.backward`, on an operation: part of the backward computation.
    * `remat.kernel`, on a function: the body of tasks.
    * `remat.first_extremum`, on a structured operation that reduces by a maximum
      or minimum: the derivative belongs to the first of equal elements. See
      `remat-import-extrema`.
    * `remat.read_bytes`, an i64, on a joint function and its graph: bytes that
      the backward computation would read of forward values if nothing were made
      again.
    * `remat.phase`, an integer, on a function argument: the first call of a
      step in several calls that is given it. See `remat-separate-backward`.
    * `remat.allow_cache_entry_mutation`, on a function: its memrefs may be
      written between the use that a derivative saves them for and the
      derivative, which then sees what was written;
      `remat.allow_mutation_on_saved_tensors`: it sees what was there at first.
      See `remat-import-buffers`.
    * `remat.vjp`, `remat.jvp`, a symbol, on a function: the function that
      computes its derivative. `remat.fwd`, with `remat.vjp`: the function to
      call instead, which also returns what the derivative needs. See
      `remat-attach-rules`.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral policyAttrName = "remat.policy";
    static constexpr llvm::StringLiteral nameAttrName = "remat.name";
    static constexpr llvm::StringLiteral backwardAttrName = "remat.backward";
    /// Of a joint function or graph: bytes that the backward computation reads
    /// of what the forward computation made, before anything is made again.
    static constexpr llvm::StringLiteral readBytesAttrName = "remat.read_bytes";
    static constexpr llvm::StringLiteral kernelAttrName = "remat.kernel";
    static constexpr llvm::StringLiteral phaseAttrName = "remat.phase";
    static constexpr llvm::StringLiteral allowMutationAttrName =
        "remat.allow_cache_entry_mutation";
    static constexpr llvm::StringLiteral allowSavedMutationAttrName =
        "remat.allow_mutation_on_saved_tensors";
    static constexpr llvm::StringLiteral vjpAttrName = "remat.vjp";
    static constexpr llvm::StringLiteral jvpAttrName = "remat.jvp";
    static constexpr llvm::StringLiteral fwdAttrName = "remat.fwd";
  }];
}

class Remat_Op<string mnemonic, list<Trait> traits = []>
    : Op<Remat_Dialect, mnemonic, traits>;

#endif // REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
