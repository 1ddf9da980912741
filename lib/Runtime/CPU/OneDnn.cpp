//===- OneDnn.cpp - oneDNN primitives on step buffers ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See OneDnn.h.
//
//===----------------------------------------------------------------------===//

#include "OneDnn.h"
#include "Descriptors.h"
#include "Threads.h"
#include "Tuning.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

using namespace remat;

dnnl_engine_t remat::dnnlEngine() {
  // Never destroyed: steps may be freed by other destructors at exit.
  static dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    return dnnl_engine_create(&made, dnnl_cpu, 0) == dnnl_success ? made
                                                                  : nullptr;
  }();
  return engine;
}

dnnl_data_type_t remat::dnnlType(int32_t dtype) {
  switch (dtype) {
  case REMAT_F32:
    return dnnl_f32;
  case REMAT_BF16:
    return dnnl_bf16;
  default:
    return dnnl_data_type_undef;
  }
}

/// oneDNN divides by sizes that have become 0 where these do not fit an int.
static bool isTooLarge(const std::vector<int64_t> &dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [](int64_t extent) { return extent > INT32_MAX; });
}

bool remat::describe(dnnl_memory_desc_t &md, int32_t dtype,
                     const std::vector<int64_t> &dims,
                     const std::vector<int64_t> &strides) {
  dnnl_data_type_t type = dnnlType(dtype);
  return type != dnnl_data_type_undef && !isTooLarge(dims) &&
         dnnl_memory_desc_init_by_strides(&md, static_cast<int>(dims.size()),
                                          dims.data(), type,
                                          strides.data()) == dnnl_success;
}

bool remat::describeAny(dnnl_memory_desc_t &md, int32_t dtype,
                        const std::vector<int64_t> &dims) {
  dnnl_data_type_t type = dnnlType(dtype);
  return type != dnnl_data_type_undef && !isTooLarge(dims) &&
         dnnl_memory_desc_init_by_tag(&md, static_cast<int>(dims.size()),
                                      dims.data(), type,
                                      dnnl_format_tag_any) == dnnl_success;
}

DnnlHandle<dnnl_primitive_attr> remat::makeAttributes(bool accumulate) {
  dnnl_primitive_attr_t made = nullptr;
  if (dnnl_primitive_attr_create(&made) != dnnl_success)
    return nullptr;
  DnnlHandle<dnnl_primitive_attr> attributes(made);
  if (dnnl_primitive_attr_set_scratchpad_mode(
          made, dnnl_scratchpad_mode_user) != dnnl_success)
    return nullptr;
  if (!accumulate)
    return attributes;
  dnnl_post_ops_t ops = nullptr;
  if (dnnl_post_ops_create(&ops) != dnnl_success)
    return nullptr;
  DnnlHandle<dnnl_post_ops> owned(ops);
  if (dnnl_post_ops_append_sum(ops, 1.0f) != dnnl_success ||
      dnnl_primitive_attr_set_post_ops(made, ops) != dnnl_success)
    return nullptr;
  return attributes;
}

std::string remat::implementationOf(const dnnl_primitive_desc *desc) {
  const char *name = nullptr;
  if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) !=
          dnnl_success ||
      !name)
    return "unknown";
  return name;
}

PrimitiveDesc remat::pickPrimitive(const_dnnl_op_desc_t operation,
                                   const dnnl_primitive_attr *attributes,
                                   const dnnl_primitive_desc *hint) {
  dnnl_primitive_desc_t made = nullptr;
  if (dnnl_primitive_desc_create(&made, operation, attributes, dnnlEngine(),
                                 hint) != dnnl_success)
    return nullptr;
  PrimitiveDesc desc(made);
  // Implementations come fastest first: nothing but reference code is left.
  if (implementationOf(made).find("ref") != std::string::npos)
    return nullptr;
  return desc;
}

dnnl_memory_desc_t remat::memoryOf(const dnnl_primitive_desc *desc,
                                   dnnl_query_t what) {
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, what, 0);
  return md ? *md : dnnl_memory_desc_t();
}

uint64_t DnnlCall::takeWorkspace(uint64_t bytes) {
  uint64_t offset = workspaceBytes;
  workspaceBytes +=
      (bytes + REMAT_ALIGNMENT - 1) / REMAT_ALIGNMENT * REMAT_ALIGNMENT;
  return offset;
}

int DnnlCall::addMemory(const dnnl_memory_desc_t &md, Place place,
                        int64_t chunkBytes) {
  dnnl_memory_t made = nullptr;
  if (dnnl_memory_create(&made, &md, dnnlEngine(), DNNL_MEMORY_NONE) !=
      dnnl_success)
    return -1;
  DnnlHandle<dnnl_memory> handle(made);
  uint64_t offset =
      place == Workspace ? takeWorkspace(dnnl_memory_desc_get_size(&md)) : 0;
  memories.push_back(
      {std::move(handle), md, place, offset, chunkBytes, nullptr});
  return static_cast<int>(memories.size()) - 1;
}

/// Throws what an allocation that fails does, if there is not enough room for
/// what a primitive may take. oneDNN writes its code without asking whether it
/// got memory for it.
static void expectRoom() {
  constexpr size_t bytes = size_t(32) << 20;
  void *room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw std::bad_alloc();
  munmap(room, bytes);
}

bool DnnlCall::addPrimitive(const dnnl_primitive_desc *desc,
                            const std::vector<std::pair<int, int>> &arguments,
                            When when) {
  expectRoom();
  dnnl_primitive_t made = nullptr;
  if (dnnl_primitive_create(&made, desc) != dnnl_success)
    return false;
  Stage stage{when, DnnlHandle<dnnl_primitive>(made), {}, -1, -1};
  for (auto [argument, memory] : arguments)
    stage.arguments.push_back({argument, memories[memory].handle.get()});
  dnnl_memory_desc_t scratchpad = memoryOf(desc, dnnl_query_scratchpad_md);
  if (dnnl_memory_desc_get_size(&scratchpad) > 0) {
    int memory = addMemory(scratchpad, Workspace);
    if (memory < 0)
      return false;
    stage.arguments.push_back(
        {DNNL_ARG_SCRATCHPAD, memories[memory].handle.get()});
  }
  stages.push_back(std::move(stage));
  return true;
}

bool DnnlCall::addReorder(int from, int to, When when) {
  DnnlHandle<dnnl_primitive_attr> attributes = makeAttributes(false);
  dnnl_primitive_desc_t made = nullptr;
  if (!attributes ||
      dnnl_reorder_primitive_desc_create(
          &made, &memories[from].desc, dnnlEngine(), &memories[to].desc,
          dnnlEngine(), attributes.get()) != dnnl_success)
    return false;
  PrimitiveDesc desc(made);
  return addPrimitive(desc.get(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                      when);
}

void DnnlCall::addSum(int from, int to, When when) {
  stages.push_back({when, nullptr, {}, from, to});
}

int DnnlCall::addInLayout(const dnnl_memory_desc_t &given,
                          const dnnl_memory_desc_t &wanted, Place place,
                          int64_t chunkBytes, int &caller) {
  caller = addMemory(given, place, chunkBytes);
  if (caller < 0 || dnnl_memory_desc_equal(&given, &wanted))
    return caller;
  return addMemory(wanted, Workspace);
}

bool DnnlCall::finish() {
  dnnl_stream_t made = nullptr;
  if (dnnl_stream_create(&made, dnnlEngine(), dnnl_stream_default_flags) !=
      dnnl_success)
    return false;
  stream.reset(made);
  return true;
}

/// Memories that do not move are placed with the first chunk.
dnnl_status_t DnnlCall::placeMemories(const void *const *operands, void *result,
                                      void *workspace, int chunk) {
  for (Memory &memory : memories) {
    if (chunk != 0 && memory.chunkBytes == 0)
      continue;
    char *base = static_cast<char *>(
        memory.place == Workspace ? workspace
        : memory.place == Result  ? result
                                  : const_cast<void *>(operands[memory.place]));
    memory.data = base + memory.offset + chunk * memory.chunkBytes;
    // Also zeroes what a blocked layout pads.
    if (dnnl_status_t status = dnnl_memory_set_data_handle_v2(
            memory.handle.get(), memory.data, stream.get()))
      return status;
  }
  return dnnl_success;
}

dnnl_status_t DnnlCall::runStage(Stage &stage) {
  if (stage.primitive)
    return dnnl_primitive_execute(stage.primitive.get(), stream.get(),
                                  static_cast<int>(stage.arguments.size()),
                                  stage.arguments.data());
  auto *to = static_cast<float *>(memories[stage.to].data);
  auto *from = static_cast<const float *>(memories[stage.from].data);
  auto count = static_cast<int64_t>(
      dnnl_memory_desc_get_size(&memories[stage.to].desc) / sizeof(float));
  parallelFor(threads, count, ConvolutionTuning::addedElements,
              [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i)
                  to[i] += from[i];
              });
  return dnnl_success;
}

bool DnnlCall::run(const void *const *operands, void *result, void *workspace,
                   std::string &error) {
  dnnl_status_t status = dnnl_success;
  for (int chunk = 0; chunk < chunks && status == dnnl_success; ++chunk) {
    status = placeMemories(operands, result, workspace, chunk);
    for (Stage &stage : stages) {
      bool skip = (stage.when == First && chunk != 0) ||
                  (stage.when == NotFirst && chunk == 0) ||
                  (stage.when == Last && chunk != chunks - 1);
      if (status == dnnl_success && !skip)
        status = runStage(stage);
    }
  }
  if (status == dnnl_success)
    status = dnnl_stream_wait(stream.get());
  if (status == dnnl_success)
    return true;
  error = "oneDNN's '" + implementation + "' failed with status " +
          std::to_string(status);
  return false;
}
