//===- Runtime.h - run a compiled training step -------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one header that users of a compiled step need: load it, ask for its
// arguments and results, run it, ask what it used. No call aborts or throws; a
// call that fails returns a code and leaves a message.
//
//   remat_step *step;
//   if (remat_step_load(&module, NULL, &step) != REMAT_OK)
//     fprintf(stderr, "%s\n", remat_last_error());
//   remat_step_run(step, arguments, 2, results, 1);
//   remat_step_free(step);
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_RUNTIME_H
#define REMAT_RUNTIME_RUNTIME_H

#include "remat/Runtime/LibraryCalls.h"
#include "remat/Runtime/StepTable.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a call comes to. Of a failure, remat_last_error or remat_step_error has
/// the message.
typedef enum remat_status {
  REMAT_OK = 0,
  /// The call is given something else than it takes, or the step is running.
  REMAT_INVALID_ARGUMENT = 1,
  REMAT_OUT_OF_MEMORY = 2,
  /// The program used an index that is not in its tensor.
  REMAT_INDEX_OUT_OF_BOUNDS = 3,
  /// The module is damaged, or was made for another run time.
  REMAT_INVALID_MODULE = 4,
  /// oneDNN, or a library of the device, failed or cannot do what was planned.
  REMAT_LIBRARY_ERROR = 5,
  /// An assertion of the program does not hold.
  REMAT_ASSERTION_FAILED = 6,
  /// A recomputation made other bits than the computation that it repeats, in a
  /// step that compares them.
  REMAT_NONDETERMINISTIC = 7,
  /// A codec failed, or unpacked bytes that are no elements of the value's
  /// type.
  REMAT_CODEC_ERROR = 8,
  /// There is no device that the step could run on, or no driver for it.
  REMAT_NO_DEVICE = 9,
  /// The device failed. Later runs may fail as well.
  REMAT_DEVICE_ERROR = 10,
  /// The algorithms of matmuls that were given are those of another device or
  /// version of the library.
  REMAT_STALE_ALGORITHMS = 11,
  /// An operation made a NaN or an infinity of finite numbers, in a step that
  /// looks for that.
  REMAT_ANOMALY = 12
} remat_status;

/// A loaded step: its table, its arena and its library primitives. A step runs
/// on one caller at a time; different steps are independent.
typedef struct remat_step remat_step;

/// The flags of remat_step_options.
enum {
  /// Keep the time of every entry (remat_step_entry_times, and
  /// remat_step_entry_cpu_times), and when it ran (remat_step_entry_spans).
  REMAT_STEP_PROFILE = 1u,
  /// Overwrite a buffer with 0xff bytes (NaN) when it dies, and the arena
  /// before each run, so that a wrong placement shows up in the results.
  REMAT_STEP_POISON = 2u,
  /// Trace what is recomputed (remat_step_trace), see remat_set_debug too; not
  /// within bodies of loops.
  REMAT_STEP_DEBUG = 4u,
  /// End a run with REMAT_ANOMALY when an entry writes a NaN although it read
  /// none, or an infinity although it read only finite numbers. Constants count
  /// as read. All that entries write is read for this, which takes as long as a
  /// copy of it; on a device it is brought to the host.
  REMAT_STEP_ANOMALY_ERROR = 8u,
  /// The same, but go on (remat_step_anomalies).
  REMAT_STEP_ANOMALY_WARN = 16u,
  /// Of a step for a device: each call is given a state in memory of the device
  /// (remat_step_forward), so that the arena has no room for one. It is
  /// remat_step_arena_bytes then, less what remat_step_state_bytes has in whole
  /// 256 bytes. Of a step for the CPU, it changes nothing.
  REMAT_STEP_STATE_IS_GIVEN = 32u
};

/// What is asked of recomputations. METADATA: that they have as many results of
/// the same sizes as their originals, checked when the step is loaded. BITWISE:
/// the same bits, too, checked while the step runs, which keeps a copy of all
/// that is recomputed; other bits end the run with REMAT_NONDETERMINISTIC and a
/// message that names operation, location and the first element.
typedef enum remat_determinism_check {
  REMAT_CHECK_METADATA = 0,
  REMAT_CHECK_NONE = 1,
  REMAT_CHECK_BITWISE = 2
} remat_determinism_check;

/// A value that a codec packs.
typedef struct remat_saved_value {
  /// Its number in the step; the same for pack and unpack, in every run.
  uint64_t id;
  /// Of the value: a dense row-major tensor.
  remat_dtype dtype;
  int32_t rank;
  const int64_t *dims;
  uint64_t bytes;
  /// Of the packed form, as the program declares them.
  uint64_t packed_bytes;
  /// Where the program has the operation that is running; "" if unknown.
  const char *location;
} remat_saved_value;

/// How the values are kept that the program saves by `#remat.callback` with
/// this name. `pack` reads the value at `data` and writes what is to be kept to
/// `packed`, `unpack` writes the value from it; all bytes of a value, which are
/// at multiples of REMAT_ALIGNMENT. What `pack` does not write is undefined.
/// Each packed value is packed once in a run and unpacked as often as the plan
/// reads it again. Another result than 0 ends the run with REMAT_CODEC_ERROR
/// and a message that names it. Neither may use the step.
///
/// A codec that keeps values outside of the step, such as in a file, can find
/// them by `id`. Where several states of a step are in use at a time, only a
/// handle in the packed form tells them apart.
typedef struct remat_codec {
  const char *name;
  int (*pack)(void *user, const remat_saved_value *value, const void *data,
              void *packed);
  int (*unpack)(void *user, const remat_saved_value *value, const void *packed,
                void *data);
  /// Passed to both.
  void *user;
} remat_codec;

/// Tools that run steps (remat-run) find codecs in a shared library by a
/// function of this type called `remat_codecs`, which sets `count` to the
/// number of codecs at the address that it returns.
typedef const remat_codec *(*remat_codecs_fn)(size_t *count);

/// All zeros, or no options at all, is the default.
typedef struct remat_step_options {
  int threads; // 0: all cores this process may use, or OMP_NUM_THREADS if less
  uint32_t flags;
  /// The caller's memory for the arena, aligned to REMAT_ALIGNMENT, in place of
  /// memory that the step allocates; of a step for a device, memory of the
  /// device, aligned to 256 bytes. NULL: allocate.
  void *arena;
  uint64_t arena_bytes;
  remat_determinism_check determinism_check;
  /// The codecs that the step may need. They must live as long as the step.
  const remat_codec *codecs;
  size_t codec_count;
  /// Algorithms of matmuls on a device that another step, in this process or
  /// another, has chosen (remat_step_algorithms): what they are for is computed
  /// with the same bits as there. They are copied. NULL: choose all.
  const void *algorithms;
  uint64_t algorithm_bytes;
} remat_step_options;

/// A dense row-major tensor. `data` may have any alignment; it may be NULL only
/// when the tensor has no elements. An argument of type i1 has bytes 0 and 1; a
/// call that is given others returns REMAT_INVALID_ARGUMENT.
///
/// A step for a device takes memory of the device and of the host; which of
/// both it is, the driver knows. What is on the host, or at no multiple of 256
/// bytes, has a copy on the device, which is kept. In memory of the device, the
/// bytes of type i1 are not checked. Memory of another device is refused. A run
/// waits for the default stream, and for those of remat_step_wait and
/// remat_step_follow: what others write to its tensors must be finished before.
typedef struct remat_tensor {
  void *data;
  int32_t dtype; // remat_dtype
  int32_t rank;
  const int64_t *dims;
} remat_tensor;

/// "No place in the state".
#define REMAT_NO_PLACE UINT64_MAX

/// What is known of an argument or a result; lives as long as the step.
typedef struct remat_tensor_info {
  const char *name;
  remat_dtype dtype;
  int32_t rank;
  const int64_t *dims;
  uint64_t bytes;
  /// The first and the last of the step's calls that use the tensor; both
  /// REMAT_NONE if none does.
  uint32_t first_call, last_call;
  /// Of REMAT_TENSOR_ABSENT and REMAT_TENSOR_HOST those that apply. The data of
  /// the latter is in host memory; a device copies pinned memory faster, and
  /// only that beside the computation.
  uint32_t flags;
  /// Of an argument that gives its buffer to a result, the number of the
  /// result; of the result, that of the argument. Both must be given with the
  /// same `data`. REMAT_NONE of others.
  uint32_t donation;
  /// Of a result of backward calls, the byte of the state at which it may be
  /// given to them: from the first time that a call writes the result, none
  /// uses that memory of the state again. So it takes the place of what is
  /// dead, and stays behind the last call. These places do not overlap. On a
  /// device, the state must be in its memory. REMAT_NO_PLACE of others.
  uint64_t state_offset;
} remat_tensor_info;

/// What a call asks of its caller while it runs, in the thread that made it.
/// Each function may be NULL, and none may use the step.
typedef struct remat_tensor_events {
  /// The memory of a result that was given with dims and without data, before
  /// the call first writes there: at least the bytes of the result, which
  /// overlap no other tensor of the call, neither the arena nor the state's
  /// host memory, and nothing of the state but at its `state_offset`. NULL ends
  /// the call with REMAT_OUT_OF_MEMORY.
  void *(*provide)(void *user, size_t result);
  /// The call reads an argument no more, so that its memory may be released,
  /// and be that of a result; not of one that gives its buffer to a result.
  void (*release)(void *user, size_t argument);
  /// Passed to all.
  void *user;
  /// The call reads a result of an earlier call no more, and has not written
  /// it, likewise.
  void (*release_result)(void *user, size_t result);
} remat_tensor_events;

/// What the forward call of a step leaves for its backward calls: memory of the
/// caller. Several forward calls may have been made before the backward calls,
/// each with a state of its own. Its three parts do not overlap each other, nor
/// the arena, of which a step for the CPU leaves the first
/// remat_step_state_bytes to a state.
typedef struct remat_state {
  /// At least remat_step_state_bytes, aligned to REMAT_ALIGNMENT, or in memory
  /// of a device to 256 bytes.
  void *data;
  uint64_t bytes;
  /// For what is offloaded: at least remat_step_host_bytes, aligned likewise.
  void *host;
  uint64_t host_bytes;
  /// The calls made with it since the forward call, which is the first. Kept by
  /// the library; anything before the forward call.
  uint32_t calls;
  /// For the check and the trace of recomputations: at least
  /// remat_step_check_bytes, aligned likewise. Without it, which only a step
  /// traced by remat_set_debug allows, the trace knows the last forward call.
  void *check;
  uint64_t check_bytes;
  /// NULL: all tensors are there while a call runs. On a device, tensors are
  /// asked for before the call computes, and released behind it.
  const remat_tensor_events *events;
} remat_state;

/// What the last run used, counted while it ran, not copied from the plan.
typedef struct remat_step_stats {
  /// Greatest sum of the bytes of live arena buffers, workspaces included. A
  /// buffer lives from the entry that defines it to the last that uses it.
  uint64_t measured_peak_bytes;
  /// End of the highest arena buffer that an entry used.
  uint64_t touched_bytes;
  uint64_t arena_bytes;
  /// As measured_peak_bytes, for the host arena.
  uint64_t host_peak_bytes;
  uint64_t host_bytes;
  /// Bytes of the arena that were live when the run ended: of a step in several
  /// calls, what this call left for later ones.
  uint64_t state_bytes;
  /// Bytes copied from the arena to the host arena.
  uint64_t offloaded_bytes;
  /// With those that the bodies of loops ran, in all iterations.
  uint64_t executed_entries;
  uint64_t recomputed_entries;
  /// Library calls that had to run on fewer threads, or on our own loops,
  /// because the module's workspace is too small for this machine; on a device,
  /// convolutions that generated code carries out, as the library does not take
  /// their plans, and matmuls that need more workspace than was planned, which
  /// they have beside the arena.
  uint64_t degraded_calls;
  uint64_t runs; // successful ones since the step was loaded
  /// Bytes of copies and hashes written for checks and traces.
  uint64_t check_bytes;
  /// Bytes by which the free memory of the device became less since the step
  /// was loaded: the arena and what the driver, libraries and copies of the
  /// caller's tensors take beside it. 0 of a step for the CPU.
  uint64_t device_bytes;
} remat_step_stats;

/// Bytes per second that copies between the arena and the host arena reach.
typedef struct remat_link_speed {
  uint64_t to_host;
  uint64_t to_device;
} remat_link_speed;

/// An entry of the schedule, for profilers; lives as long as the step.
typedef struct remat_entry_info {
  remat_entry_kind kind;
  uint32_t flags;
  uint32_t task;
  uint32_t original;
  uint32_t copy;
  int64_t forward_index;
  const char *name;
  const char *location;
  /// Copies in another stream than that of the computation run beside it.
  remat_stream stream;
} remat_entry_info;

/// Nanoseconds on the clock on the wall since the run began, of a step in
/// several calls since its forward call began.
typedef struct remat_entry_span {
  int64_t begin, end;
} remat_entry_span;

/// A buffer that an entry has written, see remat_step_observe.
typedef struct remat_observed {
  void *data;
  uint64_t bytes;
  int32_t dtype; // remat_dtype; -1 when it is none
} remat_observed;

/// Is called behind each entry with the `count` buffers that it has written,
/// which may be read until it returns; see remat_step_observe.
typedef void (*remat_observe_fn)(void *user, size_t entry,
                                 const remat_observed *results, size_t count);

/// Checks the module completely, allocates the arenas and prepares the library
/// calls. On failure *step is NULL and remat_last_error() has the message.
remat_status remat_step_load(const remat_module *module,
                             const remat_step_options *options,
                             remat_step **step);

/// Runs the step. Arguments and results must be as remat_step_argument and
/// remat_step_result say; a result must not overlap another result or an
/// argument, but for the one that gives it its buffer (remat_tensor_info's
/// `donation`), which must be in the same place. None of them overlaps the
/// arena, if that is the caller's. After a failure the results' contents are
/// undefined; the step can be run again.
remat_status remat_step_run(remat_step *step, const remat_tensor *arguments,
                            size_t argument_count, const remat_tensor *results,
                            size_t result_count);

/// The calls of a step that was compiled with separate backward computations:
/// forward, then backward 0, backward 1, ... in this order, each once for one
/// state. Arguments and results are those of remat_step_run; what a call does
/// not use (remat_tensor_info) may be all zeros. A backward call reads
/// arguments and earlier results again, which must be as they were. After a
/// failure the state is good for nothing but another forward call. Any step
/// that was loaded from the same module may carry on with a state.
remat_status remat_step_forward(remat_step *step, const remat_tensor *arguments,
                                size_t argument_count,
                                const remat_tensor *results,
                                size_t result_count, remat_state *state);
remat_status remat_step_backward(remat_step *step, size_t backward,
                                 const remat_tensor *arguments,
                                 size_t argument_count,
                                 const remat_tensor *results,
                                 size_t result_count, remat_state *state);

/// Lets the next call of a step for a device begin behind all that `stream`, a
/// CUstream of this device, has been given so far. The call returns when its
/// results are there, for whatever stream. It may be called for several
/// streams. REMAT_INVALID_ARGUMENT of a step for the CPU.
remat_status remat_step_wait(remat_step *step, void *stream);

/// The same, and what `stream` is given behind the next call begins when the
/// call is done, which may return before that. Until then, its tensors and its
/// state must stay where they are; `remat_state` and the arrays of tensors need
/// not. Another stream that uses them has to wait for this one. The call waits
/// all the same where the host takes part: with tensors, a state or its host
/// memory that are not on the device at multiples of 256 bytes, loops of which
/// the host reads how often they run, profiles, traces and checks.
///
/// If a check of such a call fails, or the device does, the next call that
/// finds this out returns it and does nothing else; remat_step_synchronize
/// finds it for sure. The results since then, and states, are worth nothing.
remat_status remat_step_follow(remat_step *step, void *stream);

/// Waits until all calls of the step are done. What fails with a failed check
/// of one of them that no call has returned yet; the step's error names it.
/// REMAT_OK of a step for the CPU.
remat_status remat_step_synchronize(remat_step *step);

/// The number of checks that runs of the step carry out, of indices and by
/// assertions, as far as they differ in their messages.
size_t remat_step_check_count(const remat_step *step);
/// The number of the device that runs the step; -1 of a step for the CPU.
int remat_step_device(const remat_step *step);

/// Number of backward calls; 0 for a step that is one call.
size_t remat_step_backward_count(const remat_step *step);
/// Bytes that last from one call to the next, of the arena's.
uint64_t remat_step_state_bytes(const remat_step *step);
/// Bytes that last likewise for the check of recomputations: with
/// REMAT_CHECK_BITWISE, copies of what is recomputed and a record of 16 bytes
/// for each task concerned, with REMAT_STEP_DEBUG the records alone, else 0.
uint64_t remat_step_check_bytes(const remat_step *step);

/// Releases the step; NULL is allowed.
void remat_step_free(remat_step *step);

/// The numbers of arguments, results and entries of the step; 0 if it is NULL.
size_t remat_step_argument_count(const remat_step *step);
size_t remat_step_result_count(const remat_step *step);
size_t remat_step_entry_count(const remat_step *step);
/// Describe one of them. REMAT_INVALID_ARGUMENT if `index` is not below their
/// number, or if a pointer is NULL.
remat_status remat_step_argument(const remat_step *step, size_t index,
                                 remat_tensor_info *info);
remat_status remat_step_result(const remat_step *step, size_t index,
                               remat_tensor_info *info);
remat_status remat_step_entry(const remat_step *step, size_t index,
                              remat_entry_info *info);

/// The number of the argument or result with a name, such as that of random
/// state: what the program kept in a global is an argument and a result with
/// the global's name, so its caller reads and sets it. REMAT_INVALID_ARGUMENT
/// if there is none.
remat_status remat_step_find_argument(const remat_step *step, const char *name,
                                      size_t *index);
remat_status remat_step_find_result(const remat_step *step, const char *name,
                                    size_t *index);

/// Bytes of the device and host arenas; threads that the step runs on.
uint64_t remat_step_arena_bytes(const remat_step *step);
uint64_t remat_step_host_bytes(const remat_step *step);
int remat_step_threads(const remat_step *step);

/// Figures of the last run (zero before the first).
void remat_step_get_stats(const remat_step *step, remat_step_stats *stats);

/// Nanoseconds of each entry, the smallest of all runs, one per entry; NULL
/// unless the step was loaded with REMAT_STEP_PROFILE. On one thread it is the
/// thread's CPU time, which other processes do not disturb; on several, time of
/// the clock on the wall.
const int64_t *remat_step_entry_times(const remat_step *step);

/// Nanoseconds of CPU time of each entry, the smallest of all runs, one per
/// entry; NULL unless the step was loaded with REMAT_STEP_PROFILE, and of a
/// step on a device. It is the time of all threads of the process while the
/// entry runs, those that wait in a loop included; of the thread alone if the
/// step runs on one, and of entries that a thread copies beside the others.
const int64_t *remat_step_entry_cpu_times(const remat_step *step);

/// When each entry ran in the last run, one per entry; NULL unless the step was
/// loaded with REMAT_STEP_PROFILE. Entries of one stream do not overlap. Those
/// of the bodies of loops are not told apart from the loop's.
const remat_entry_span *remat_step_entry_spans(const remat_step *step);

/// How often the bodies of a loop ran when entry `index`, which is one, ran
/// last: its body, and its advance or 0; then the same of each loop among the
/// entries of the body, and behind them of those of the advance, in all runs of
/// these together. Sets `count`. NULL and 0 of another entry, and unless the
/// step was loaded with REMAT_STEP_PROFILE.
const uint64_t *remat_step_body_runs(const remat_step *step, size_t index,
                                     size_t *count);

/// What the entries of the bodies of a loop took, in nanoseconds of the clock
/// on the wall and in all iterations together, in the run in which entry
/// `index`, the loop, took the least time: the entries of its body, then those
/// of its advance if it has one; then the same of each loop among the entries
/// of the body, and behind them of those of the advance. Where iterations are
/// so short that reading the clock would slow the loop down, only some are
/// timed, and the others count as those before them. Sets `count`. NULL and 0
/// of another entry, of a step on a device, and unless the step was loaded with
/// REMAT_STEP_PROFILE.
const int64_t *remat_step_body_times(const remat_step *step, size_t index,
                                     size_t *count);

/// Has `observe` called with `user` in each run, after each entry, with what
/// the entry has written; NULL for no more. It may read the buffers, and write
/// other elements into them, which the entries behind then read: so one finds
/// out what a value does to the results. A buffer is valid until its value
/// dies. Entries of the bodies of loops are not told apart from the loop's.
/// REMAT_INVALID_ARGUMENT of a step on a device.
remat_status remat_step_observe(remat_step *step, remat_observe_fn observe,
                                void *user);

/// The algorithms by which the library carries out matmuls on a device, one for
/// each description: those of the options and those that were chosen beside
/// them when the step was loaded. Bytes to keep with the compiled step, which
/// say what device and version of the library they are of; others refuse them
/// with REMAT_STALE_ALGORITHMS. They live as long as the step. NULL and 0 bytes
/// of a step without any.
const void *remat_step_algorithms(const remat_step *step, uint64_t *bytes);

/// Measures how fast a run of the step copies what is offloaded, one direction
/// after the other, in memory of the same kind as its arenas: of a step for a
/// device between this and pinned memory, else on one thread. It takes a
/// fraction of a second and, meanwhile, 64 MiB of either memory.
remat_status remat_step_measure_link(remat_step *step, remat_link_speed *speed);

/// With REMAT_STEP_DEBUG: a line for each recomputation of the last run with
/// the operation that ran forward on one side and its repetition on the other,
/// with hashes of what they gave; those that differ are marked by !=. A failed
/// bitwise check has it in its message. "" otherwise; valid until the next
/// call.
const char *remat_step_trace(const remat_step *step);

/// With REMAT_STEP_ANOMALY_ERROR or _WARN: a line for each of the first entries
/// of the last run that made a NaN or an infinity, each once, in the order in
/// which they ran: kind, element, result, entry, layers, and the operations
/// with their places that may have made it, those of a backward entry with the
/// forward operation. "" if there is none; valid until the next call.
const char *remat_step_anomalies(const remat_step *step);

/// Overrides REMAT_STEP_DEBUG for all steps: 1 on, 0 off, -1 as the step's
/// flags say, which is so at first.
void remat_set_debug(int mode);

/// Lets this thread load steps to the CUDA device of this number, as the driver
/// counts. -1, as at first: to that of its current context, else to the first
/// one. REMAT_NO_DEVICE if there is none of this number; then nothing changes.
remat_status remat_cuda_use_device(int device);
/// The compute capability (90 is 9.0) of the CUDA device that this thread loads
/// steps to. REMAT_NO_DEVICE if there is none.
remat_status remat_cuda_capability(uint32_t *capability);
/// The driver's name of this device, as much of it as fits into `bytes` bytes
/// with a NUL.
remat_status remat_cuda_device_name(char *name, size_t bytes);

/// Memory of a device for tensors of a step, where a program has no library
/// that gives any: at a multiple of 256 bytes, with any contents. It lives
/// until it is freed, which waits until the device is done. REMAT_OUT_OF_MEMORY
/// if there is not that much. *memory is NULL on failure.
remat_status remat_cuda_allocate(int device, uint64_t bytes, void **memory);
/// Frees what remat_cuda_allocate gave for this device; NULL is allowed.
remat_status remat_cuda_free(int device, void *memory);
/// Copies between memory of the device and the host, in either direction, or
/// within one of them, behind what `stream`, a CUstream, has been given; NULL
/// is the default one. It is there when the function returns.
remat_status remat_cuda_copy(int device, void *to, const void *from,
                             uint64_t bytes, void *stream);

/// Message of the step's last failed run; "" when there was none.
const char *remat_step_error(const remat_step *step);

/// Message of the last failed call in this thread; "" when there was none.
const char *remat_last_error(void);

/// The code's name, e.g. "out of memory".
const char *remat_status_name(remat_status status);

#ifdef __cplusplus
}
#endif

#endif // REMAT_RUNTIME_RUNTIME_H
