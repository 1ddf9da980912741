//===- Cudnn.h - cuDNN, if there is one -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few functions of cuDNN's graph interface that are needed, declared here
// and found in the library when they are. An operation is a graph of
// descriptors, objects with attributes that are fixed by finalizing them.
// Numbers are those of the library's interface.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDNN_H
#define REMAT_LIB_RUNTIME_CUDA_CUDNN_H

#include "Driver.h"

#include <vector>

namespace remat::cudnn {

/// 0 is success; the library describes the others.
using Status = int;
using Handle = void *;
using Object = void *;

/// What a descriptor is of.
enum class Kind : int {
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  Heuristics = 4,
  Plan = 5,
  Forward = 10,
  FilterGradient = 11,
  InputGradient = 12,
  Graph = 15,
  VariantPack = 16,
  Tensor = 17,
  Device = 38
};

/// What an attribute's elements are.
enum class Type : int {
  Handle = 0,
  DataType = 1,
  Int64 = 3,
  Float = 4,
  Double = 5,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicsMode = 8,
  NumericalNote = 11,
  Descriptor = 15,
  Char = 24
};

enum class Attribute : int {
  ConvolutionType = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialDims = 106,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  HeuristicsDevice = 204,
  ConfigEngine = 300,
  PlanHandle = 400,
  PlanConfig = 401,
  PlanWorkspace = 402,
  PlanText = 405,
  PlanDevice = 407,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorType = 901,
  TensorDims = 902,
  TensorStrides = 903,
  TensorNumber = 906,
  PackNumbers = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
  EngineNotes = 1303,
  DeviceText = 2702
};

/// The attributes of an operation, of which each kind has its own.
struct OperationAttributes {
  Kind kind;
  int alpha, beta, convolution, input, filter, output;
};

enum DataType : int { typeF32 = 0, typeF64 = 1, typeF16 = 2, typeBF16 = 9 };

/// Numbers of the tensors of a plan.
enum TensorNumber : int64_t {
  inputNumber = 1,
  filterNumber = 2,
  outputNumber = 3
};

/// Tensors of a plan begin at multiples of this many bytes.
constexpr int64_t tensorAlignment = 16;

#define REMAT_CUDNN_FUNCTIONS(F)                                               \
  F(size_t, GetVersion, ())                                                    \
  F(const char *, GetErrorString, (Status))                                    \
  F(Status, Create, (Handle *))                                                \
  F(Status, Destroy, (Handle))                                                 \
  F(Status, SetStream, (Handle, cuda::Stream))                                 \
  F(Status, BackendCreateDescriptor, (int, Object *))                          \
  F(Status, BackendDestroyDescriptor, (Object))                                \
  F(Status, BackendSetAttribute, (Object, int, int, int64_t, const void *))    \
  F(Status, BackendGetAttribute,                                               \
    (Object, int, int, int64_t, int64_t *, void *))                            \
  F(Status, BackendFinalize, (Object))                                         \
  F(Status, BackendExecute, (Handle, Object, Object))

struct Library {
#define REMAT_CUDNN_MEMBER(result, name, parameters) result(*name) parameters;
  REMAT_CUDNN_FUNCTIONS(REMAT_CUDNN_MEMBER)
#undef REMAT_CUDNN_MEMBER

  /// The library, or null with a message that says what is missing. It is
  /// loaded once and stays.
  static const Library *get(std::string &error);

  /// Its version: 91900 is 9.19.0.
  uint32_t getVersion() const { return static_cast<uint32_t>(GetVersion()); }

  /// The library's words for a failure.
  std::string describe(Status status) const;
};

/// "9.19.0" of a version's number.
std::string printVersion(uint32_t version);

/// A descriptor, which is destroyed with this object. After a failure nothing
/// more is done with it.
class Descriptor {
public:
  Descriptor(const Library &library, Kind kind);
  Descriptor(Descriptor &&other) noexcept;
  Descriptor &operator=(Descriptor &&) = delete;
  ~Descriptor();

  Object get() const { return object; }
  /// The first failure, or 0.
  Status getStatus() const { return status; }

  void set(int attribute, Type type, int64_t count, const void *elements);
  void set(Attribute attribute, Type type, int64_t count,
           const void *elements) {
    set(static_cast<int>(attribute), type, count, elements);
  }
  template <typename Element>
  void set(Attribute attribute, Type type, const Element &element) {
    set(attribute, type, 1, &element);
  }
  void set(Attribute attribute, const std::vector<int64_t> &numbers) {
    set(attribute, Type::Int64, static_cast<int64_t>(numbers.size()),
        numbers.data());
  }
  void set(int attribute, const Descriptor &other);
  void set(Attribute attribute, const Descriptor &other) {
    set(static_cast<int>(attribute), other);
  }
  void setText(Attribute attribute, const std::string &text);

  /// Whether it is sound, as all that was set before.
  bool finalize();

  /// Elements of an attribute of a finalized descriptor: at most `most` of them
  /// in `elements`, if that is not null. Their number, or -1 on a failure.
  int64_t read(Attribute attribute, Type type, int64_t most, void *elements);

private:
  const Library &library;
  Object object = nullptr;
  Status status = 0;
};

} // namespace remat::cudnn

#endif // REMAT_LIB_RUNTIME_CUDA_CUDNN_H
