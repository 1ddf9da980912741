//===- OneDnn.h - oneDNN primitives on step buffers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over oneDNN's C API: a call is a list of primitives (reorders
// and the operation itself) whose memories are operands, the result, or pieces
// of the workspace. Scratchpads are pieces of the workspace too, so that oneDNN
// allocates none of its own while a step runs.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_ONEDNN_H
#define REMAT_LIB_RUNTIME_ONEDNN_H

#include "LibraryCall.h"

#include <dnnl.h>
#include <utility>
#include <vector>

namespace remat {

/// Destroys a C handle of oneDNN.
struct DnnlDelete {
  void operator()(dnnl_primitive *p) const { dnnl_primitive_destroy(p); }
  void operator()(dnnl_primitive_desc *p) const {
    dnnl_primitive_desc_destroy(p);
  }
  void operator()(dnnl_primitive_attr *p) const {
    dnnl_primitive_attr_destroy(p);
  }
  void operator()(dnnl_post_ops *p) const { dnnl_post_ops_destroy(p); }
  void operator()(dnnl_memory *p) const { dnnl_memory_destroy(p); }
  void operator()(dnnl_stream *p) const { dnnl_stream_destroy(p); }
};
template <typename T>
using DnnlHandle = std::unique_ptr<T, DnnlDelete>;
using PrimitiveDesc = DnnlHandle<dnnl_primitive_desc>;

/// The process's CPU engine; null when oneDNN cannot make one.
dnnl_engine_t dnnlEngine();

/// oneDNN's element type; dnnl_data_type_undef when it has none.
dnnl_data_type_t dnnlType(int32_t dtype);

/// Description of a strided tensor; false when oneDNN has none for it.
bool describe(dnnl_memory_desc_t &md, int32_t dtype,
              const std::vector<int64_t> &dims,
              const std::vector<int64_t> &strides);
/// The same tensor in whatever layout the primitive prefers.
bool describeAny(dnnl_memory_desc_t &md, int32_t dtype,
                 const std::vector<int64_t> &dims);

/// Attributes of all our primitives: scratchpad given by us, and optionally
/// result += in place of result =.
DnnlHandle<dnnl_primitive_attr> makeAttributes(bool accumulate);

/// The primitive that oneDNN picks; null when it has none, or only its slow
/// reference code.
PrimitiveDesc pickPrimitive(const_dnnl_op_desc_t operation,
                            const dnnl_primitive_attr *attributes,
                            const dnnl_primitive_desc *hint);
std::string implementationOf(const dnnl_primitive_desc *desc);
dnnl_memory_desc_t memoryOf(const dnnl_primitive_desc *desc, dnnl_query_t what);

/// A call made of oneDNN primitives, built up by the functions that prepare it.
/// Its stages run for one chunk of the operands after the other.
class DnnlCall : public LibraryCall {
public:
  /// Where a memory's bytes are.
  enum Place { Operand0 = 0, Operand1 = 1, Operand2 = 2, Result, Workspace };
  /// For which chunks a stage runs.
  enum When { Always, First, NotFirst, Last };

  /// Adds a memory; its number, or -1 on failure. It starts `chunkBytes`
  /// further on with each chunk.
  int addMemory(const dnnl_memory_desc_t &md, Place place,
                int64_t chunkBytes = 0);

  /// Adds a primitive on the memories (argument, number) of `arguments`.
  bool addPrimitive(const dnnl_primitive_desc *desc,
                    const std::vector<std::pair<int, int>> &arguments,
                    When when = Always);

  /// Adds a change of layout between two memories.
  bool addReorder(int from, int to, When when = Always);

  /// Adds a sum: memory `to` += `from`, both f32 in one layout.
  void addSum(int from, int to, When when);

  /// A memory for `place` in layout `wanted`: the caller's own when that is its
  /// layout `given`, otherwise a copy in the workspace. `caller` receives the
  /// number of the memory in the caller's layout.
  int addInLayout(const dnnl_memory_desc_t &given,
                  const dnnl_memory_desc_t &wanted, Place place,
                  int64_t chunkBytes, int &caller);

  int chunks = 1;

  /// To be called last.
  bool finish();

  bool run(const void *const *operands, void *result, void *workspace,
           std::string &error) override;

private:
  struct Memory {
    DnnlHandle<dnnl_memory> handle;
    dnnl_memory_desc_t desc;
    Place place;
    uint64_t offset;
    int64_t chunkBytes;
    void *data;
  };
  struct Stage {
    When when;
    /// Null for a sum.
    DnnlHandle<dnnl_primitive> primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    int from, to;
  };

  uint64_t takeWorkspace(uint64_t bytes);
  dnnl_status_t placeMemories(const void *const *operands, void *result,
                              void *workspace, int chunk);
  dnnl_status_t runStage(Stage &stage);

  std::vector<Memory> memories;
  std::vector<Stage> stages;
  DnnlHandle<dnnl_stream> stream;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_ONEDNN_H
