//===- XlaFfi.h - the part of XLA's FFI that handlers need ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The binary interface between XLA and handlers of custom calls, version 0.3.
// XLA's header is a part of jaxlib, which is not needed to build remat. So what
// the handlers use is declared here: layouts in memory, and numbers. A test
// compares them with the header where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_XLAFFI_H
#define REMAT_LIB_CAPI_XLAFFI_H

#include <cstddef>
#include <cstdint>

namespace remat::xla {

constexpr int majorVersion = 0, minorVersion = 3;

/// What all structures begin with.
struct Header {
  size_t size;
  struct Extension *extension;
};

struct Extension {
  size_t size;
  int type;
  Extension *next;
};
constexpr int metadataExtension = 1;

struct Version {
  Header header;
  int major, minor;
};

struct Error;
enum class ErrorCode : int {
  InvalidArgument = 3,
  NotFound = 5,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  OutOfRange = 11,
  Internal = 13
};
struct ErrorArgs {
  Header header;
  const char *message;
  ErrorCode code;
};

enum class DataType : int {
  Pred = 1,
  S8 = 2,
  S16 = 3,
  S32 = 4,
  S64 = 5,
  U8 = 6,
  U16 = 7,
  U32 = 8,
  U64 = 9,
  F16 = 10,
  F32 = 11,
  F64 = 12,
  C64 = 15,
  BF16 = 16,
  C128 = 18,
  F8E5M2 = 19,
  F8E4M3FN = 20,
  F8E4M3B11FNUZ = 23,
  F8E5M2FNUZ = 24,
  F8E4M3FNUZ = 25,
  F8E4M3 = 28,
  F8E3M4 = 29,
  F8E8M0FNU = 33
};

struct Buffer {
  Header header;
  DataType type;
  void *data;
  int64_t rank;
  int64_t *dims;
};
constexpr int bufferKind = 1;

/// Arguments or results.
struct Buffers {
  Header header;
  int64_t count;
  const int *kinds;
  void *const *buffers;
};

struct Span {
  const char *data;
  size_t size;
};
struct Scalar {
  DataType type;
  void *value;
};
constexpr int scalarKind = 3;
struct Attributes {
  Header header;
  int64_t count;
  const int *kinds;
  Span *const *names;
  void *const *values;
};

enum class Stage : int { Instantiate = 0, Execute = 3 };
struct Context;

struct TypeId {
  int64_t id;
};
struct TypeInfo {
  Header header;
  void (*destroy)(void *);
};

/// For setting and for getting the state.
struct StateArgs {
  Header header;
  Context *context;
  Stage stage;
  TypeId *type;
  void *state;
};

/// For asking for the stream of a GPU that the call is in.
struct StreamArgs {
  Header header;
  Context *context;
  void *stream;
};

struct Api {
  Header header;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorArgs *);
  void (*getErrorMessage)(void *);
  void (*destroyError)(void *);
  void *registerHandler;
  Error *(*getStream)(StreamArgs *);
  void *registerType, *getFromContext;
  Error *(*setState)(StateArgs *);
  Error *(*getState)(StateArgs *);
};

struct Frame {
  Header header;
  const Api *api;
  Context *context;
  Stage stage;
  Buffers arguments, results;
  Attributes attributes;
};

struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
  TypeId stateType;
};
struct MetadataExtension {
  Extension extension;
  Metadata *metadata;
};

} // namespace remat::xla

#endif // REMAT_LIB_CAPI_XLAFFI_H
