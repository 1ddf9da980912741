//===- RematAttrs.td - policies, slots, types --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMATATTRS_TD
#define REMAT_DIALECT_REMAT_IR_REMATATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

def Remat_Policy : I32EnumAttr<"Policy", "what is asked of a value", [
    I32EnumAttrCase<"MustSave", 0, "must_save">,
    I32EnumAttrCase<"PreferSave", 1, "prefer_save">,
    I32EnumAttrCase<"MustRecompute", 2, "must_recompute">,
    I32EnumAttrCase<"PreferRecompute", 3, "prefer_recompute">,
    I32EnumAttrCase<"MustCpuOffload", 4, "must_cpu_offload">,
    I32EnumAttrCase<"PreferCpuOffload", 5, "prefer_cpu_offload">]> {
  let cppNamespace = "::remat";
  let genSpecializedAttr = 0;
}

def Remat_PolicyAttr : EnumAttr<Remat_Dialect, Remat_Policy, "policy"> {
  let summary = "what is asked of a value between its forward and backward use";
  let description = [{
    The policies of PyTorch's selective activation checkpointing:

    * `must_save`: the producing operation runs exactly once.
    * `must_recompute`: nothing reads the value that the forward computation made
      once that is over, be it to compute others again.
    * `must_cpu_offload`: the producing operation runs once and backward
      operations read a copy brought back from host memory.
    * `prefer_*`: the same as wishes, which a planner may overrule.

    ```mlir
    %0 = linalg.matmul {remat.policy = #remat.policy<must_save>} ...
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Remat_Implementation : I32EnumAttr<"Implementation",
    "how a contraction is carried out", [
    I32EnumAttrCase<"Library", 0, "library">,
    I32EnumAttrCase<"Generated", 1, "generated">,
    I32EnumAttrCase<"Either", 2, "either">]> {
  let cppNamespace = "::remat";
  let genSpecializedAttr = 0;
}

def Remat_ImplementationAttr
    : EnumAttr<Remat_Dialect, Remat_Implementation, "implementation"> {
  let summary = "how a kernel that holds a contraction is carried out";
  let description = [{
    * `library`: by a call of a library.
    * `generated`: by generated code.
    * `either`: by an execution plan of a library (`remat.plans`) if the machine
      that loads the step takes it, else by generated code.

    The value of `remat.implementation` on a kernel. All tasks that call the
    kernel, clones included, then give the same bits.

    ```mlir
    func.func private @matmul(...) -> tensor<4x8xf32>
        attributes {remat.implementation = #remat.implementation<library>, remat.kernel}
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Remat_MemorySpace : I32EnumAttr<"MemorySpace", "where a value lives", [
    I32EnumAttrCase<"Arena", 0, "arena">,
    I32EnumAttrCase<"Host", 1, "host">,
    I32EnumAttrCase<"Result", 2, "result">,
    I32EnumAttrCase<"Reused", 3, "reused">]> {
  let cppNamespace = "::remat";
  let genSpecializedAttr = 0;
}

def Remat_CallbackAttr : AttrDef<Remat_Dialect, "Callback"> {
  let mnemonic = "callback";
  let summary = "a codec of the program that runs the step";
  let description = [{
    A codec whose functions are callbacks in C, which the program that runs the
    step gives to the runtime under this name (`remat_codec` in
    `remat/Runtime/Runtime.h`). They may compress a value, or write it to a
    file.

    `bytes` gives the bytes that the step keeps for a value of `n` bytes: a map
    of one dimension. `elements` are the element types of the values that the
    codec takes; without it, it takes all of floating point.

    ```mlir
    #remat.callback<"file", bytes = (n) -> (8)>
    #remat.callback<"rle", bytes = (n) -> (n + n ceildiv 128), elements = [f32, i64]>
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the codec">:$name,
                        "::mlir::AffineMap":$bytes,
                        OptionalArrayRefParameter<"::mlir::Type">:$elements);
  let assemblyFormat = [{
    `<` $name `,` `bytes` `=` $bytes
    (`,` `elements` `=` `[` $elements^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The bytes that are kept of a value of `bytes` bytes; none if the map
    /// gives no number, or a negative one.
    std::optional<int64_t> getPackedBytes(int64_t bytes) const;
  }];
}

def Remat_SlotAttr : AttrDef<Remat_Dialect, "Slot"> {
  let mnemonic = "slot";
  let summary = "the address of a value";
  let description = [{
    The byte range `[offset, offset + bytes)` of the arena or of the host
    arena. For a value that the step returns, `offset` is the number of the
    result whose buffer it is written to. `bytes` is a multiple of 64.

    The caller's buffer of a result is free until the result is written. In
    space `reused`, the range is one of the buffer of result `result`.

    ```mlir
    #remat.slot<arena, offset = 128, bytes = 64>
    #remat.slot<reused, offset = 0, bytes = 64, result = 2>
    ```
  }];
  let parameters = (ins EnumParameter<Remat_MemorySpace>:$space,
                        "int64_t":$offset, "int64_t":$bytes,
                        DefaultValuedParameter<"int64_t", "-1">:$result);
  let builders = [AttrBuilder<(ins "::remat::MemorySpace":$space,
                                   "int64_t":$offset, "int64_t":$bytes), [{
    return $_get($_ctxt, space, offset, bytes, -1);
  }]>];
  let assemblyFormat = [{
    `<` $space `,` `offset` `=` $offset `,` `bytes` `=` $bytes
    (`,` `result` `=` $result^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Remat_TargetAttr : AttrDef<Remat_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "facts of the machine that a step is compiled for";
  let description = [{
    What passes have to know of a machine, as data: a function, a graph or the
    module around them carries it as `remat.target`. Nothing else in remat knows
    a size or a speed of a machine before code is generated. What is left out
    has the value of a CPU with two threads, and so have all of them where there
    is no attribute.

    ```mlir
    module attributes {remat.target = #remat.target<"cpu", block_bytes = 98304>}
    ```

    | parameter | unit | meaning |
    |---|---|---|
    | `alignment` | bytes | buffers start at its multiples and are counted in them; a multiple of 64 |
    | `row_bytes` | bytes | the most that a kernel keeps to itself of one row; what does not fit in `block_bytes` is read piece by piece |
    | `block_bytes` | bytes | fast memory of a tile: what a kernel keeps to itself of its rows, and what is packed of a factor; up to 32 long rows that are multiplied together may take four times as much |
    | `block_rows` | rows | rows of a tile from which on a contraction in it is efficient |
    | `min_block_rows` | rows | rows of a tile below which a contraction in it is slow |
    | `sum_length` | elements | the longest sum of a contraction in a tile |
    | `channel_bytes` | bytes | what is read several times of one channel |
    | `slice_bytes` | bytes | contractions with results from this size on are done in slices of rows |
    | `slice_rows` | rows | rows of such a slice, if the shapes have such slices |
    | `min_slice_rows` | rows | the fewest rows of a slice where they have not |
    | `in_place` | bool | kernels may write a result where an operand lies that they have read |
    | `biases` | bool | the library adds a bias to a product of factors of 16 bits before it rounds and writes it; without `epilogues`, to a convolution, too |
    | `epilogues` | bool | the library adds a bias to a product and applies ReLU or GELU to it before it writes it, and makes their gradients so |
    | `strides` | bool | a slice is read where it lies by what is elementwise, and a part of a concatenation made there |
    | `shared_strides` | bool | slices that several operations read are read so by each, and the whole is kept as long as any of them |
    | `row_stages` | bool | what makes a factor of a kernel of rows, or makes more of its sums over rows, is part of that kernel, and slices are read there where they lie |
    | `windows` | bool | the sum of an element that few windows can reach, as in the gradient of max pooling, is made from these windows alone |
    | `threads` | | the threads of the host that the speeds below are for; 0 where they do not depend on them |
    | `contraction_flops` | 1/s | contractions and convolutions by a library, on those threads |
    | `narrow_contraction_flops` | 1/s | the same with factors of f16 or bf16; half as fast with those of f32, if these may be multiplied with 10 bits of mantissa; 0 for `contraction_flops` |
    | `tile_flops` | 1/s | contractions in tiles in the midst of a generated kernel; 0 for `contraction_flops` |
    | `narrow_tile_flops` | 1/s | the same with factors of f16 or bf16; 0 for `tile_flops` |
    | `loop_flops` | 1/s | generated loops, on those threads |
    | `bandwidth` | bytes/s | memory, on those threads; it does not grow with more |
    | `launch_ns` | ns | what starting a task takes |
    | `link_bandwidth` | bytes/s | the link to host memory, where a policy asks for offloading and nobody says how fast it is |
    | `duplex_link` | bool | transfers in both directions run at the same time, each at that speed |
  }];
  let parameters = (ins
    StringRefParameter<"name of the target">:$name,
    DefaultValuedParameter<"int64_t", "TargetDefaults::alignment">:$alignment,
    DefaultValuedParameter<"int64_t", "TargetDefaults::rowBytes">:$row_bytes,
    DefaultValuedParameter<"int64_t", "TargetDefaults::blockBytes">:$block_bytes,
    DefaultValuedParameter<"int64_t", "TargetDefaults::blockRows">:$block_rows,
    DefaultValuedParameter<"int64_t", "TargetDefaults::minBlockRows">:$min_block_rows,
    DefaultValuedParameter<"int64_t", "TargetDefaults::sumLength">:$sum_length,
    DefaultValuedParameter<"int64_t", "TargetDefaults::channelBytes">:$channel_bytes,
    DefaultValuedParameter<"int64_t", "TargetDefaults::sliceBytes">:$slice_bytes,
    DefaultValuedParameter<"int64_t", "TargetDefaults::sliceRows">:$slice_rows,
    DefaultValuedParameter<"int64_t", "TargetDefaults::minSliceRows">:$min_slice_rows,
    DefaultValuedParameter<"bool", "TargetDefaults::inPlace">:$in_place,
    DefaultValuedParameter<"bool", "TargetDefaults::biases">:$biases,
    DefaultValuedParameter<"bool", "TargetDefaults::epilogues">:$epilogues,
    DefaultValuedParameter<"bool", "TargetDefaults::strides">:$strides,
    DefaultValuedParameter<"bool", "TargetDefaults::sharedStrides">:$shared_strides,
    DefaultValuedParameter<"bool", "TargetDefaults::rowStages">:$row_stages,
    DefaultValuedParameter<"bool", "TargetDefaults::windows">:$windows,
    DefaultValuedParameter<"int64_t", "TargetDefaults::threads">:$threads,
    DefaultValuedParameter<"int64_t", "TargetDefaults::contractionFlops">:$contraction_flops,
    DefaultValuedParameter<"int64_t", "0">:$narrow_contraction_flops,
    DefaultValuedParameter<"int64_t", "0">:$tile_flops,
    DefaultValuedParameter<"int64_t", "0">:$narrow_tile_flops,
    DefaultValuedParameter<"int64_t", "TargetDefaults::loopFlops">:$loop_flops,
    DefaultValuedParameter<"int64_t", "TargetDefaults::bandwidth">:$bandwidth,
    DefaultValuedParameter<"int64_t", "TargetDefaults::launchNs">:$launch_ns,
    DefaultValuedParameter<"int64_t", "TargetDefaults::linkBandwidth">:$link_bandwidth,
    DefaultValuedParameter<"bool", "TargetDefaults::duplexLink">:$duplex_link);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name), [{
    return $_get($_ctxt, name,
                 TargetDefaults::alignment, TargetDefaults::rowBytes,
                 TargetDefaults::blockBytes, TargetDefaults::blockRows,
                 TargetDefaults::minBlockRows, TargetDefaults::sumLength,
                 TargetDefaults::channelBytes, TargetDefaults::sliceBytes,
                 TargetDefaults::sliceRows, TargetDefaults::minSliceRows, TargetDefaults::inPlace,
                 TargetDefaults::biases, TargetDefaults::epilogues, TargetDefaults::strides,
                 TargetDefaults::sharedStrides, TargetDefaults::rowStages,
                 TargetDefaults::windows, TargetDefaults::threads,
                 TargetDefaults::contractionFlops, /*narrow_contraction_flops=*/0, /*tile_flops=*/0,
                 /*narrow_tile_flops=*/0, TargetDefaults::loopFlops, TargetDefaults::bandwidth,
                 TargetDefaults::launchNs, TargetDefaults::linkBandwidth,
                 TargetDefaults::duplexLink);
  }]>];
  let assemblyFormat = [{
    `<` $name (`,` struct($alignment, $row_bytes, $block_bytes, $block_rows,
      $min_block_rows, $sum_length, $channel_bytes, $slice_bytes, $slice_rows,
      $min_slice_rows, $in_place, $biases, $epilogues, $strides, $shared_strides, $row_stages, $windows, $threads,
      $contraction_flops,
      $narrow_contraction_flops, $tile_flops, $narrow_tile_flops, $loop_flops,
      $bandwidth, $launch_ns, $link_bandwidth, $duplex_link)^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Remat_ConvKind : I32EnumAttr<"ConvKind",
    "which factor of the convolution's trilinear form is computed", [
    I32EnumAttrCase<"Forward", 0, "forward">,
    I32EnumAttrCase<"InputGrad", 1, "input_grad">,
    I32EnumAttrCase<"FilterGrad", 2, "filter_grad">]> {
  let cppNamespace = "::remat";
  let genSpecializedAttr = 0;
}
def Remat_ConvKindAttr
    : EnumAttr<Remat_Dialect, Remat_ConvKind, "conv_kind">;

def Remat_HostType : TypeDef<Remat_Dialect, "Host"> {
  let mnemonic = "host";
  let summary = "a tensor in host memory";
  let description = [{
    The type of a value that was copied out of device memory. Only
    `remat.reload` reads it.

    ```mlir
    !remat.host<tensor<4x8xf32>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let builders = [TypeBuilderWithInferredContext<
      (ins "::mlir::RankedTensorType":$tensor),
      [{ return $_get(tensor.getContext(), tensor); }]>];
  let assemblyFormat = "`<` $tensor `>`";
}

#endif // REMAT_DIALECT_REMAT_IR_REMATATTRS_TD
