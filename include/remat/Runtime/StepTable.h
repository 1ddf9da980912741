//===- StepTable.h - data of a compiled training step -------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled step is a constant `remat_module`: a table of kernel functions and
// a blob of plain data, the *step table*. The compiler builds the blob with
// StepTableBuilder.h, the runtime checks it once and executes it. The blob has
// no pointers; it is the same for a JIT and for an object file.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_STEPTABLE_H
#define REMAT_RUNTIME_STEPTABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of everything in this file. A runtime accepts its own version only.
#define REMAT_STEP_TABLE_VERSION 17u
/// First eight bytes of a blob ("rematstp", little endian).
#define REMAT_STEP_TABLE_MAGIC UINT64_C(0x70747374616d6572)
/// "No buffer", "no entry", "no check", "no body".
#define REMAT_NONE UINT32_C(0xffffffff)
/// Values are placed at, and rounded up to, multiples of this many bytes.
#define REMAT_ALIGNMENT 64
/// Rows of a buffer that has gaps between them begin at multiples of this many
/// bytes: vectors that a device loads at once, and what libraries ask for.
#define REMAT_ROW_ALIGNMENT 16

/// Element types. An i1 is stored as one byte, 0 or 1; index is 64 bits wide. A
/// complex number is its real and its imaginary part, in this order, as in C.
typedef enum remat_dtype {
  REMAT_F32 = 0,
  REMAT_F64 = 1,
  REMAT_F16 = 2,
  REMAT_BF16 = 3,
  REMAT_I1 = 4,
  REMAT_I8 = 5,
  REMAT_I16 = 6,
  REMAT_I32 = 7,
  REMAT_I64 = 8,
  REMAT_C64 = 9,   // two f32
  REMAT_C128 = 10, // two f64
  REMAT_DTYPE_COUNT = 11
} remat_dtype;

/// What a kernel reports when a checked index is out of range, or an assertion
/// fails, which has bound -1. It must then not access memory through that
/// index. `check` is a number in the table's list of check messages, or -1.
/// Behind that is what a kernel for a CPU may call (KernelCalls.h).
typedef struct remat_kernel_status {
  int32_t failed;
  int32_t check;
  int64_t index;
  int64_t bound;
  const struct remat_kernel_calls *calls; // NULL on a device
} remat_kernel_status;

/// A kernel computes the part [begin, end) of its outer parallel extent.
/// `buffers` are the entry's operands, then its results, then its workspace if
/// it has one. Disjoint ranges run concurrently; each thread has its own
/// status, in which nothing has failed yet. What a kernel computes must not
/// depend on how the extent is split.
typedef void (*remat_kernel_fn)(void *const *buffers, int64_t begin,
                                int64_t end, remat_kernel_status *status);

/// A compiled step, emitted as a constant by the code generator.
typedef struct remat_module {
  uint32_t version;
  const void *blob;
  uint64_t blob_bytes;
  const remat_kernel_fn *kernels;
  uint32_t kernel_count;
  /// The code of a device (DeviceCode.h) that runs the kernels in place of
  /// functions, of which there are then none; NULL for a step of the CPU.
  const void *device_code;
  /// What the functions may need of a CPU beyond what all of its kind have:
  /// names of features, as LLVM calls them, separated by commas. A step is
  /// refused on a machine that is known to lack one. NULL where nobody knows.
  const char *cpu_features;
} remat_module;

//===----------------------------------------------------------------------===//
// The blob
//===----------------------------------------------------------------------===//

/// `count` records (or bytes) from byte `offset` of the blob.
typedef struct remat_section {
  uint64_t offset;
  uint64_t count;
} remat_section;

/// The start of the blob. Strings are referred to by their byte offset in
/// `strings` and end with a NUL; offset 0 is the empty string.
typedef struct remat_step_header {
  uint64_t magic;
  uint32_t version;
  /// Threads the workspaces were sized for; 0 when nothing depends on it.
  uint32_t threads;
  uint64_t blob_bytes;
  /// Of the whole blob, with 0 here: see remat_table_checksum. It finds damage;
  /// it does not tell who made the blob.
  uint64_t checksum;
  uint64_t arena_bytes;
  uint64_t host_bytes;
  /// The part of the arena that lasts from one call of the step to the next.
  uint64_t state_bytes;
  remat_section strings;      // char
  remat_section dims;         // int64_t
  remat_section arguments;    // remat_signature
  remat_section results;      // remat_signature
  remat_section buffers;      // remat_buffer
  remat_section entries;      // remat_entry
  remat_section uses;         // uint32_t, numbers of buffers
  remat_section matmuls;      // remat_matmul
  remat_section convolutions; // remat_convolution
  remat_section checks;       // uint32_t, strings
  remat_section constants;    // bytes
  remat_section calls; // uint32_t, first entry of each call but the first
  remat_section packed_values; // remat_packed_value
  remat_section waits;         // uint32_t, numbers of entries
  remat_section kernels;       // remat_device_kernel
  remat_section launches;      // remat_launch
  remat_section scratch;       // uint64_t, offsets in workspaces
  remat_section plans;         // remat_plan
  remat_section loops;         // remat_loop
  remat_section loop_lists;    // uint32_t, see remat_loop
  remat_section bodies;        // remat_section, in body_bytes
  remat_section body_bytes;    // bytes
  uint64_t flags;              // REMAT_TABLE_TF32 or 0
} remat_step_header;

/// The flags of a table.
enum {
  /// Products of f32 may be multiplied as TF32, with 10 bits of mantissa, where
  /// the device can.
  REMAT_TABLE_TF32 = 1u
};

/// What the header's `checksum` has to be. For each word of 64 bits in order,
/// of which the last is filled up with zeros, sum ^= word, then
/// sum *= 0x9e3779b97f4a7c15, then sum ^= sum >> 32. The sum is 0 at first.
/// Each step is a bijection, so that a single damaged word is always found.
uint64_t remat_table_checksum(const void *blob, uint64_t blob_bytes);

/// The flags of arguments and results.
enum {
  /// A result: a derivative that does not exist, since no differentiable path
  /// leads there. Its elements are zeros, or stay what they were where they are
  /// added to.
  REMAT_TENSOR_ABSENT = 1u,
  /// An argument in host memory, which nothing but copies uses; so is the
  /// result that has its buffer.
  REMAT_TENSOR_HOST = 2u
};

/// An argument or a result of the step: a dense row-major tensor.
typedef struct remat_signature {
  uint32_t name; // string
  int32_t dtype; // remat_dtype
  uint32_t rank;
  uint32_t dims; // first of `rank` extents in the section `dims`
  uint32_t flags;
  /// Of an argument that gives its buffer to a result, the number of the
  /// result; of the result, that of the argument. Else REMAT_NONE.
  uint32_t donation;
} remat_signature;

/// Where a buffer lives. The first two are owned by the step, arguments and
/// results by its caller; constants are read in the blob.
typedef enum remat_space {
  REMAT_SPACE_ARENA = 0,
  REMAT_SPACE_HOST = 1,
  REMAT_SPACE_ARGUMENT = 2,
  REMAT_SPACE_RESULT = 3,
  REMAT_SPACE_CONSTANT = 4,
  REMAT_SPACE_COUNT = 5
} remat_space;

/// A byte range. `root` is the buffer's own number, or that of the root buffer
/// that it is a view of; a view lies within its root and is not counted.
/// `bytes` of arena and host buffers are already rounded up to the alignment.
/// A reused buffer is a part of a result that is not yet written: it comes and
/// goes like one of the arena, but is not counted.
typedef struct remat_buffer {
  int32_t space;  // remat_space
  uint32_t index; // which argument or result; 0 otherwise
  uint64_t offset;
  uint64_t bytes;
  uint32_t root;
  uint32_t reused; // 0 or 1
  /// The bytes that mean something, and what they are.
  uint64_t used;
  int32_t dtype; // remat_dtype; -1 when it is none
  /// Where rows have gaps between them, the bytes of a row that mean something:
  /// rows begin at multiples of REMAT_ROW_ALIGNMENT. Else 0.
  uint32_t row;
} remat_buffer;

/// What an entry does, and what its `callee` is the number of.
typedef enum remat_entry_kind {
  /// kernels[callee](operands, results, workspace) over [0, extent); on a
  /// device, the launches of the record `kernels[callee]` of the blob.
  REMAT_ENTRY_KERNEL = 0,
  /// matmuls[callee]: operands A, B; result C. With `accumulate` there is a
  /// third operand, to which the matmul is added: C as it was before, in the
  /// place of the result or elsewhere. An epilogue may have one more operand,
  /// the last, and a second result: see remat_epilogue.
  REMAT_ENTRY_MATMUL = 1,
  /// convolutions[callee]: see remat_convolution for operands and result.
  REMAT_ENTRY_CONVOLUTION = 2,
  /// Copies operand 0 to result 0: offload (arena to host), reload (host to
  /// arena), or any other copy between spaces. The smaller size counts.
  REMAT_ENTRY_COPY = 3,
  /// packed_values[callee]: operand the value, result its packed form.
  REMAT_ENTRY_PACK = 4,
  /// The same the other way round.
  REMAT_ENTRY_UNPACK = 5,
  /// Does nothing: operand 0 is in use up to here, no results. What comes
  /// behind
  /// it waits for the copies of the operand.
  REMAT_ENTRY_RELEASE = 6,
  /// loops[callee]: see remat_loop for operands, results and workspaces.
  REMAT_ENTRY_LOOP = 7,
  REMAT_ENTRY_KIND_COUNT = 8
} remat_entry_kind;

/// The flags of entries.
enum {
  /// The entry belongs to the backward part.
  REMAT_ENTRY_BACKWARD = 1u,
  /// The entry is a clone of another: a recomputation.
  REMAT_ENTRY_RECOMPUTE = 2u,
  /// A constant of the operation is infinite, or NaN, and may be written.
  REMAT_ENTRY_WRITES_INFINITY = 4u,
  REMAT_ENTRY_WRITES_NAN = 8u,
  /// The entry belongs to an optimizer, which updates weights: it is no
  /// derivative of anything.
  REMAT_ENTRY_UPDATE = 16u
};

/// Queues of entries. Those of one stream run one after the other, in their
/// order; streams run beside each other. Only copies are in another stream than
/// REMAT_STREAM_COMPUTE, and each call of the step ends all of them.
typedef enum remat_stream {
  REMAT_STREAM_COMPUTE = 0,
  REMAT_STREAM_TO_DEVICE = 1, // reloads
  REMAT_STREAM_TO_HOST = 2,   // offloads
  REMAT_STREAM_COUNT = 3
} remat_stream;

/// One action of the schedule. It begins when what is before it in its stream,
/// and the entries that it waits for, have ended.
typedef struct remat_entry {
  int32_t kind; // remat_entry_kind
  uint32_t flags;
  uint32_t callee; // kernel or descriptor; 0 for copies
  /// uses[first_use ...]: operand_count operands, then result_count results.
  uint32_t first_use;
  uint32_t operand_count;
  uint32_t result_count;
  /// A root buffer of the arena that no other entry uses, or REMAT_NONE.
  uint32_t workspace;
  uint32_t task;         // number of the task; copies of a task have their own
  uint32_t original;     // task it is a clone of, or REMAT_NONE
  uint32_t copy;         // number of the copy; 0 for an original
  int64_t forward_index; // sequence number of the forward op, -1 when unknown
  int64_t extent;        // kernels: outer parallel extent, 1 is serial
  int64_t grain;         // kernels: least useful range per thread
  uint32_t name;         // string: the ops it was made from
  uint32_t location;     // string: where they stand in the source
  uint32_t stream;       // remat_stream
  /// waits[first_wait ...]: `wait_count` numbers of earlier entries.
  uint32_t first_wait;
  uint32_t wait_count;
  /// String of lines, each a letter, a space and a text: 'l' the layers of the
  /// task; an operation of it with its place that makes of finite numbers 'n' a
  /// NaN, 'i' an infinity, 'b' either, 'o' an infinity by overflow alone.
  uint32_t origins;
  /// Of a loop that keeps states on the host, a root buffer there that no other
  /// entry uses, or REMAT_NONE.
  uint32_t host_workspace;
  uint32_t reserved;
} remat_entry;

/// A kernel on a device: launches[first_launch ...], each of which waits for
/// the one before. Their parameters are the addresses of the entry's operands
/// and results, then the address of each scratch[first_scratch ...] bytes into
/// the entry's workspace, then that of the entry's remat_kernel_status, zeros
/// at first, in which all threads leave the same failure in every run.
typedef struct remat_device_kernel {
  uint32_t unit; // which part of the device code
  uint32_t first_launch, launch_count;
  uint32_t first_scratch, scratch_count;
  uint32_t reserved;
} remat_device_kernel;

/// `blocks` blocks of `threads` threads, with `shared_bytes` of memory that the
/// threads of a block share.
typedef struct remat_launch {
  uint32_t function; // string: the name in the unit
  uint32_t blocks, threads, shared_bytes;
} remat_launch;

/// A saved value that a codec of the caller packs and unpacks: remat_codec in
/// Runtime.h.
typedef struct remat_packed_value {
  uint64_t id;           // the same number in both entries, and in no others
  uint64_t packed_bytes; // of the packed form, not rounded up
  uint32_t codec;        // string: the name of the codec
  int32_t dtype;         // remat_dtype
  uint32_t rank;
  uint32_t dims; // first of `rank` extents in the section `dims`
} remat_packed_value;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The most loops around each other. It bounds the depth of what reads them.
#define REMAT_LOOP_NESTING 16

/// The flags of loops.
enum {
  /// The last iteration runs first.
  REMAT_LOOP_REVERSE = 1u,
  /// The last operand of the entry, an i64, is how many iterations run: none if
  /// it is less than 1. More than `count` are an error.
  REMAT_LOOP_TRIPS = 2u,
  /// The body says when the loop ends, see below. More than `count` iterations
  /// are an error.
  REMAT_LOOP_WHILE = 4u
};

/// Runs a body `count` times, one iteration after the other. The body is a step
/// table of its own within this one, `bodies[body]` of the section `body_bytes`
/// at a multiple of REMAT_ALIGNMENT; the ranges of bodies do not overlap and
/// are in their order. Its kernels are those of the module. It is one call, and
/// has no memory of the host, no packed values and no streams.
///
/// Arguments of the body: what is carried from one iteration to the next,
/// `carried` of them; invariants, which are the same in all iterations; then an
/// element of each slice. Results: what is carried on, with the types of the
/// arguments; then an element of each stack. Operands of the entry: what is
/// carried at first, the invariants, the slices, which have `count` elements
/// one behind the other, so that iteration i gets element i. Results: what is
/// carried at the end, then the stacks, to which iteration i gives element i.
/// An element is at a multiple of its element type, not of REMAT_ALIGNMENT.
///
/// Where argument i of the body gives its buffer to its result i, value i is
/// updated in place, and the entry may have operand i and result i in one
/// place. Where the argument that is an element of a slice gives its buffer to
/// the result that is one of a stack, and all iterations run, the entry may
/// have the stack in the place of the slice, or each buffer of its list in the
/// place of that with the same number. Nothing else that the entry writes
/// overlaps anything that it uses.
///
/// The workspace has the body's arena, and behind it, in their order, a copy of
/// each carried value that is not updated in place, all rounded up to
/// REMAT_ALIGNMENT: what is carried is there and in the result by turns.
///
/// With REMAT_LOOP_TRIPS or REMAT_LOOP_WHILE, `count` is the most iterations
/// that may run. Slices and stacks have `count` elements; iterations that do
/// not run leave zeros in stacks. Where `count` is 0 there is no limit, and
/// neither slices, stacks nor an advance. With REMAT_LOOP_REVERSE, the last
/// iteration is the last of those that run.
///
/// With REMAT_LOOP_WHILE, two numbers are carried in front of all else: an i1,
/// whether there is another iteration, and an i64, how many have run, 0 at
/// first. The loop checks the second. It is neither reversed nor has it an
/// advance, and not REMAT_LOOP_TRIPS.
///
/// With an `advance`, another body, the loop makes the first of its body's
/// slices itself. They are states: what `advance` carries. Its iterations are
/// those of the loop in the other order, and the body is given what each of
/// them begins with. They run again and again, from at most `slots` states that
/// are kept at a time, the first one included, which is an operand: see
/// remat/Schedules/Revolve.h.
///
/// Arguments of the body are then what is carried, invariants, states, and
/// elements of slices. Arguments of `advance`: the states, `advance_invariants`
/// invariants, and an element of each of `advance_slices` slices. Results: the
/// states. Operands of the entry: what is carried, invariants, slices, then the
/// states at first, and the invariants and slices of `advance`.
///
/// A slice or a stack may be a list: `count` buffers in the place of one, of
/// which iteration i gets or writes buffer i, wherever that is. Equal layers of
/// a model that are a loop read their own weights in this way. With `lists`,
/// `loop_lists[lists - 1 + i]` is 1 if part i is one and else 0, where the
/// parts are the slices, then the stacks, then the slices of `advance`. There
/// are no lists with REMAT_LOOP_TRIPS and REMAT_LOOP_WHILE.
///
/// The workspace has the larger of both arenas, the copies of what is carried,
/// then the states, the states once more that `advance` does not update in
/// place, and all states for each slot but the first. No more slots are taken
/// than there are iterations.
///
/// With `host_slots`, the iterations of `advance` are segments of `period`, the
/// last of which may be shorter. The states before the first iteration of a
/// segment are kept in the host workspace of the entry, those of at most
/// `host_slots` segments beside the first: Revolve says which, with segments
/// for iterations. Each segment is reversed with `slots` as above, where the
/// first slot is what the segment begins with. Behind the slots, the workspace
/// then has room for all states two times: what leaves for the host or has come
/// from there, in turns. These copies are made beside the computation. With a
/// period of 1 and at least `count` - 2 slots there, all states are made in one
/// of these places, and the workspace has those two and no other states.
typedef struct remat_loop {
  uint32_t body;
  uint32_t carried, invariants, slices, stacks;
  uint32_t flags;   // REMAT_LOOP_REVERSE, REMAT_LOOP_TRIPS, REMAT_LOOP_WHILE
  int64_t count;    // at least 1, or 0: no limit
  uint32_t advance; // body, or REMAT_NONE
  uint32_t advance_invariants, advance_slices;
  uint32_t lists;     // 1 and the place of the first part in loop_lists, or 0
  int64_t slots;      // at least 1; 0 without `advance`
  int64_t host_slots; // 0 if no states are kept on the host
  int64_t period;     // at least 1 with `host_slots`, else 0
} remat_loop;

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

/// What becomes of a matmul, with what it is added to, before it is written, in
/// f32 where that is kept in fewer digits; each result is rounded once. A sum
/// of some of these. What makes a forward result is a bias, at most one of ReLU
/// and GELU, or both. What makes gradients adds to nothing: a gradient of GELU
/// or ReLU, alone or with the sums of columns, or the sums of a factor alone.
enum remat_epilogue {
  /// A vector of n elements of C's type, one after the other, is added to each
  /// row: the last operand.
  REMAT_EPILOGUE_BIAS = 1,
  /// The maximum of the sum and 0.
  REMAT_EPILOGUE_RELU = 2,
  /// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 of the sum x.
  REMAT_EPILOGUE_GELU = 4,
  /// With GELU: the sum is result 1, with the type and the strides of C.
  REMAT_EPILOGUE_INPUT = 8,
  /// The product times the derivative of that GELU at x, which is the last
  /// operand, with the type and the strides of C.
  REMAT_EPILOGUE_GELU_GRADIENT = 16,
  /// With GELU_GRADIENT: the n sums of the columns of C, the gradient of a
  /// bias, are result 1. It has the type of C, and its elements follow each
  /// other, as those of the sums below.
  REMAT_EPILOGUE_COLUMN_SUMS = 32,
  /// The sums of A along k, m of them, are result 1, as the gradient of a bias
  /// beside that of a weight.
  REMAT_EPILOGUE_A_SUMS = 64,
  /// The sums of B along k, n of them.
  REMAT_EPILOGUE_B_SUMS = 128,
  /// With RELU: a mask is result 1, m rows of n / 8 bytes. Bit j % 8 of byte
  /// j / 8 of a row is 1 if element j of the ReLU is above 0; of a nan, it may
  /// be either. n is a multiple of 128.
  REMAT_EPILOGUE_MASK = 256,
  /// The product where such a mask, which is the last operand, has a 1, and
  /// else 0. COLUMN_SUMS may be with it.
  REMAT_EPILOGUE_RELU_GRADIENT = 512
};

/// C[b, m, n] (+)= sum over k of A[b, m, k] * B[b, k, n]. `b` has three dims;
/// unused ones have extent 1. All strides are in elements, so a transposed
/// operand has its strides exchanged and a broadcast one has stride 0. C must
/// not overlap itself, nor A or B. Sums of f16 and bf16 are kept in f32.
typedef struct remat_matmul {
  int32_t a_dtype, b_dtype, c_dtype;
  int32_t accumulate; // 1: adds to what C holds
  int32_t epilogue;   // remat_epilogue or 0
  int32_t reserved;
  int64_t batch[3];
  int64_t m, n, k;
  int64_t a_batch_stride[3], a_m_stride, a_k_stride;
  int64_t b_batch_stride[3], b_k_stride, b_n_stride;
  int64_t c_batch_stride[3], c_m_stride, c_n_stride;
} remat_matmul;

/// A convolution, or one of its gradients.
typedef enum remat_convolution_kind {
  /// operands input, filter; result output.
  REMAT_CONV_FORWARD = 0,
  /// operands output gradient, filter; result input gradient.
  REMAT_CONV_INPUT_GRADIENT = 1,
  /// operands input, output gradient; result filter gradient.
  REMAT_CONV_FILTER_GRADIENT = 2,
  REMAT_CONV_KIND_COUNT = 3
} remat_convolution_kind;

/// out[n, g*O+o, y] = sum over i, r of
///   in[n, g*I+i, y*stride + r*dilation - pad_lo] * filter[g, o, i, r],
/// where O = output_channels / groups, I = input_channels / groups, and
/// elements outside of the input are 0. `dilation` 1 is a dense filter. For
/// each spatial dim,
///   output <= (input + pad_lo + pad_hi - dilation*(filter-1) - 1)/stride + 1.
/// Spatial dims beyond `spatial_rank` are ignored. Strides are in elements.
/// With `bias`, which a filter gradient has not, a third operand of the type of
/// the result is added to it before it is rounded: a number for each of its
/// channels, one after the other.
typedef struct remat_convolution {
  int32_t kind; // remat_convolution_kind
  int32_t spatial_rank;
  int32_t input_dtype, filter_dtype, output_dtype;
  int32_t bias; // 1: adds one
  int64_t batch, groups, input_channels, output_channels;
  int64_t input[3], filter[3], output[3];
  int64_t stride[3], dilation[3], pad_lo[3], pad_hi[3];
  int64_t input_strides[5];  // n, c, spatial
  int64_t filter_strides[6]; // g, o, i, spatial
  int64_t output_strides[5]; // n, c, spatial
} remat_convolution;

/// How a convolution is carried out: by cuDNN on devices of one compute
/// capability, or by code of the step on any. It was chosen when the step was
/// compiled, so that all entries, and all processes that run the step on equal
/// machines, compute the same bits. A device takes the first plan of its
/// capability that the library takes for it; else code, if there is any.
/// Entries have a workspace for all of them.
typedef struct remat_plan {
  uint32_t convolution; // its number
  uint32_t capability;  // 90 is 9.0; 0 for code
  uint32_t version;     // of the library that made it: 91900 is 9.19.0
  uint32_t text;        // string: what it is, in the words of the library
  uint64_t workspace_bytes;
  /// Code: kernels[kernel], with the operands and the result of the entry. Else
  /// REMAT_NONE.
  uint32_t kernel;
  uint32_t reserved;
} remat_plan;

#ifdef __cplusplus
}
#endif

#endif // REMAT_RUNTIME_STEPTABLE_H
