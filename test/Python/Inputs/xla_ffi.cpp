//===- xla_ffi.cpp - our declarations of XLA's FFI against XLA's ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "XlaFfi.h"
#include "xla/ffi/api/c_api.h"

namespace ours = remat::xla;

static_assert(XLA_FFI_API_MAJOR == ours::majorVersion);
static_assert(XLA_FFI_API_MINOR >= ours::minorVersion);

#define SAME(type, member, theirType, theirMember)                             \
  static_assert(offsetof(ours::type, member) ==                                \
                    offsetof(theirType, theirMember) &&                        \
                sizeof(ours::type::member) == sizeof(theirType::theirMember))
#define VALUE(ours, theirs) static_assert(static_cast<int>(ours) == theirs)

SAME(Header, size, XLA_FFI_Buffer, struct_size);
SAME(Header, extension, XLA_FFI_Buffer, extension_start);
SAME(Extension, type, XLA_FFI_Extension_Base, type);
SAME(Extension, next, XLA_FFI_Extension_Base, next);
SAME(Version, major, XLA_FFI_Api_Version, major_version);
SAME(Version, minor, XLA_FFI_Api_Version, minor_version);
SAME(ErrorArgs, message, XLA_FFI_Error_Create_Args, message);
SAME(ErrorArgs, code, XLA_FFI_Error_Create_Args, errc);
SAME(Buffer, type, XLA_FFI_Buffer, dtype);
SAME(Buffer, data, XLA_FFI_Buffer, data);
SAME(Buffer, rank, XLA_FFI_Buffer, rank);
SAME(Buffer, dims, XLA_FFI_Buffer, dims);
SAME(Buffers, count, XLA_FFI_Args, size);
SAME(Buffers, kinds, XLA_FFI_Args, types);
SAME(Buffers, buffers, XLA_FFI_Args, args);
SAME(Buffers, buffers, XLA_FFI_Rets, rets);
SAME(Span, data, XLA_FFI_ByteSpan, ptr);
SAME(Span, size, XLA_FFI_ByteSpan, len);
SAME(Scalar, type, XLA_FFI_Scalar, dtype);
SAME(Scalar, value, XLA_FFI_Scalar, value);
SAME(Attributes, count, XLA_FFI_Attrs, size);
SAME(Attributes, kinds, XLA_FFI_Attrs, types);
SAME(Attributes, names, XLA_FFI_Attrs, names);
SAME(Attributes, values, XLA_FFI_Attrs, attrs);
SAME(TypeInfo, destroy, XLA_FFI_TypeInfo, deleter);
SAME(StateArgs, context, XLA_FFI_State_Set_Args, ctx);
SAME(StateArgs, stage, XLA_FFI_State_Set_Args, stage);
SAME(StateArgs, type, XLA_FFI_State_Set_Args, type_id);
SAME(StateArgs, state, XLA_FFI_State_Set_Args, state);
SAME(StateArgs, type, XLA_FFI_State_Get_Args, type_id);
SAME(StateArgs, state, XLA_FFI_State_Get_Args, state);
SAME(StreamArgs, context, XLA_FFI_Stream_Get_Args, ctx);
SAME(StreamArgs, stream, XLA_FFI_Stream_Get_Args, stream);
SAME(Api, createError, XLA_FFI_Api, XLA_FFI_Error_Create);
SAME(Api, getStream, XLA_FFI_Api, XLA_FFI_Stream_Get);
SAME(Api, setState, XLA_FFI_Api, XLA_FFI_State_Set);
SAME(Api, getState, XLA_FFI_Api, XLA_FFI_State_Get);
SAME(Frame, api, XLA_FFI_CallFrame, api);
SAME(Frame, context, XLA_FFI_CallFrame, ctx);
SAME(Frame, stage, XLA_FFI_CallFrame, stage);
SAME(Frame, arguments, XLA_FFI_CallFrame, args);
SAME(Frame, results, XLA_FFI_CallFrame, rets);
SAME(Frame, attributes, XLA_FFI_CallFrame, attrs);
SAME(Metadata, version, XLA_FFI_Metadata, api_version);
SAME(Metadata, traits, XLA_FFI_Metadata, traits);
SAME(Metadata, stateType, XLA_FFI_Metadata, state_type_id);
SAME(MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);

VALUE(ours::metadataExtension, XLA_FFI_Extension_Metadata);
VALUE(ours::bufferKind, XLA_FFI_ArgType_BUFFER);
VALUE(ours::bufferKind, XLA_FFI_RetType_BUFFER);
VALUE(ours::scalarKind, XLA_FFI_AttrType_SCALAR);
VALUE(ours::Stage::Instantiate, XLA_FFI_ExecutionStage_INSTANTIATE);
VALUE(ours::Stage::Execute, XLA_FFI_ExecutionStage_EXECUTE);
VALUE(ours::ErrorCode::InvalidArgument, XLA_FFI_Error_Code_INVALID_ARGUMENT);
VALUE(ours::ErrorCode::NotFound, XLA_FFI_Error_Code_NOT_FOUND);
VALUE(ours::ErrorCode::ResourceExhausted,
      XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
VALUE(ours::ErrorCode::FailedPrecondition,
      XLA_FFI_Error_Code_FAILED_PRECONDITION);
VALUE(ours::ErrorCode::OutOfRange, XLA_FFI_Error_Code_OUT_OF_RANGE);
VALUE(ours::ErrorCode::Internal, XLA_FFI_Error_Code_INTERNAL);
VALUE(ours::DataType::Pred, XLA_FFI_DataType_PRED);
VALUE(ours::DataType::S8, XLA_FFI_DataType_S8);
VALUE(ours::DataType::S16, XLA_FFI_DataType_S16);
VALUE(ours::DataType::S32, XLA_FFI_DataType_S32);
VALUE(ours::DataType::S64, XLA_FFI_DataType_S64);
VALUE(ours::DataType::U8, XLA_FFI_DataType_U8);
VALUE(ours::DataType::U16, XLA_FFI_DataType_U16);
VALUE(ours::DataType::U32, XLA_FFI_DataType_U32);
VALUE(ours::DataType::U64, XLA_FFI_DataType_U64);
VALUE(ours::DataType::F16, XLA_FFI_DataType_F16);
VALUE(ours::DataType::F32, XLA_FFI_DataType_F32);
VALUE(ours::DataType::F64, XLA_FFI_DataType_F64);
VALUE(ours::DataType::BF16, XLA_FFI_DataType_BF16);
VALUE(ours::DataType::C64, XLA_FFI_DataType_C64);
VALUE(ours::DataType::C128, XLA_FFI_DataType_C128);
VALUE(ours::DataType::F8E5M2, XLA_FFI_DataType_F8E5M2);
VALUE(ours::DataType::F8E4M3FN, XLA_FFI_DataType_F8E4M3FN);
VALUE(ours::DataType::F8E4M3B11FNUZ, XLA_FFI_DataType_F8E4M3B11FNUZ);
VALUE(ours::DataType::F8E5M2FNUZ, XLA_FFI_DataType_F8E5M2FNUZ);
VALUE(ours::DataType::F8E4M3FNUZ, XLA_FFI_DataType_F8E4M3FNUZ);
VALUE(ours::DataType::F8E4M3, XLA_FFI_DataType_F8E4M3);
VALUE(ours::DataType::F8E3M4, XLA_FFI_DataType_F8E3M4);
VALUE(ours::DataType::F8E8M0FNU, XLA_FFI_DataType_F8E8M0FNU);
