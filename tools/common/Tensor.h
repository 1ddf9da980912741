//===- Tensor.h - host tensors of the command line tools --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor in memory: element type, shape and 64-byte aligned data, with the
// conversions that reports and files need.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_TENSOR_H
#define REMAT_TOOLS_COMMON_TENSOR_H

#include "remat/Runtime/Runtime.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <memory>

namespace remat::tools {

/// Bytes of an element.
size_t getElementSize(remat_dtype dtype);
/// "f32", "bf16", "i1", ...
llvm::StringRef getDtypeName(remat_dtype dtype);
inline bool isComplex(remat_dtype dtype) {
  return dtype == REMAT_C64 || dtype == REMAT_C128;
}

class Tensor {
public:
  Tensor(remat_dtype dtype, llvm::ArrayRef<int64_t> shape);
  explicit Tensor(const remat_tensor_info &info)
      : Tensor(info.dtype, {info.dims, static_cast<size_t>(info.rank)}) {}

  /// False if there was no memory for so many elements; such a tensor must not
  /// be used.
  bool isAllocated() const { return data != nullptr; }

  /// Another tensor with the same contents.
  Tensor copy() const;

  remat_dtype getDtype() const { return dtype; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  size_t getNumElements() const { return numElements; }
  /// The numbers that `get` and `set` count: a complex element has two, its
  /// real and its imaginary part.
  size_t getNumScalars() const {
    return isComplex(dtype) ? 2 * numElements : numElements;
  }
  size_t getBytes() const { return numElements * getElementSize(dtype); }
  void *getData() const { return data.get(); }

  /// Number `index` in row-major order, as a double.
  double get(size_t index) const;
  /// Rounds `value` to the type of the numbers and stores it.
  void set(size_t index, double value);
  /// Stores an integer exactly.
  void setInteger(size_t index, int64_t value);

  /// What the runtime takes. Valid as long as this tensor.
  remat_tensor getView() const;
  /// FNV-1a over the bytes: equal for bit-identical contents.
  uint64_t hash() const;

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };
  remat_dtype dtype;
  llvm::SmallVector<int64_t> shape;
  size_t numElements;
  std::unique_ptr<void, Free> data;
};

/// Reads a NumPy file. bf16 is stored as u16 there, so the type to read is
/// given; a file of another type or shape is an error that says both.
llvm::Expected<Tensor> readNpy(llvm::StringRef path, remat_dtype dtype,
                               llvm::ArrayRef<int64_t> shape);
/// Reads a NumPy file as it is; u16 is taken for bf16.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);
/// Reads a tensor of a file of safetensors, or of those that an index, a file
/// of JSON, is about.
llvm::Expected<Tensor> readSafetensor(llvm::StringRef path,
                                      llvm::StringRef name, remat_dtype dtype,
                                      llvm::ArrayRef<int64_t> shape);
/// Writes a NumPy file, replacing an older one at the end.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);
/// Prints the contents of such a file.
void writeNpy(llvm::raw_ostream &os, const Tensor &tensor);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_TENSOR_H
