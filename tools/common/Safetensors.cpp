//===- Safetensors.cpp - files of named tensors ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eight bytes with the length of a header, the header as JSON, and the data: of
// each name the dtype, the shape and the place of its bytes. Large models are
// in several such files, and an index says which of them has a tensor.
//
//===----------------------------------------------------------------------===//

#include "common/Tensor.h"
#include "remat/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace llvm;
using namespace remat::tools;

static StringRef getFormatName(remat_dtype dtype) {
  static constexpr StringLiteral names[] = {"F32",  "F64", "F16", "BF16",
                                            "BOOL", "I8",  "I16", "I32",
                                            "I64",  "C64", "C128"};
  return names[dtype];
}

/// The bytes of an entry of the header; null if they are not in `data`.
static std::optional<StringRef> getData(const json::Object &entry,
                                        StringRef data) {
  const json::Array *offsets = entry.getArray("data_offsets");
  if (!offsets || offsets->size() != 2)
    return std::nullopt;
  std::optional<int64_t> begin = (*offsets)[0].getAsInteger();
  std::optional<int64_t> end = (*offsets)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin ||
      uint64_t(*end) > data.size())
    return std::nullopt;
  return data.slice(*begin, *end);
}

static bool hasShape(const json::Object &entry, ArrayRef<int64_t> shape) {
  const json::Array *sizes = entry.getArray("shape");
  return sizes && sizes->size() == shape.size() &&
         llvm::equal(*sizes, shape, [](const json::Value &size, int64_t want) {
           return size.getAsInteger() == want;
         });
}

/// The file, beside the index at `path`, that has the tensor `name`.
static Expected<std::string> findShard(StringRef path, StringRef name) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), path + ": " + message);
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path);
  if (!file)
    return fail(file.getError().message());
  Expected<json::Value> index = remat::parseJson((*file)->getBuffer());
  if (!index)
    return fail("not an index of safetensors: " + toString(index.takeError()));
  const json::Object *object = index->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return fail("not an index of safetensors: there is no 'weight_map'");
  std::optional<StringRef> shard = map->getString(name);
  if (!shard)
    return fail("has no tensor '" + name + "'");
  SmallString<256> found(sys::path::parent_path(path));
  sys::path::append(found, *shard);
  return found.str().str();
}

static std::string printShape(const json::Object &entry) {
  std::string text;
  raw_string_ostream stream(text);
  const json::Value *shape = entry.get("shape");
  stream << (shape ? *shape : json::Value(nullptr));
  return text;
}

Expected<Tensor> remat::tools::readSafetensor(StringRef path, StringRef name,
                                              remat_dtype dtype,
                                              ArrayRef<int64_t> shape) {
  std::string shard;
  if (path.ends_with(".json")) {
    Expected<std::string> found = findShard(path, name);
    if (!found)
      return found.takeError();
    shard = std::move(*found);
    path = shard;
  }
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), path + ": " + message);
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(file.getError().message());
  StringRef content = (*file)->getBuffer();
  uint64_t length =
      content.size() < 8 ? ~0ull : support::endian::read64le(content.data());
  if (length > content.size() - std::min<size_t>(content.size(), 8))
    return fail("not a file of safetensors");
  Expected<json::Value> header = remat::parseJson(content.substr(8, length));
  if (!header)
    return fail("not a file of safetensors: " + toString(header.takeError()));
  const json::Object *entries = header->getAsObject();
  const json::Object *entry = entries ? entries->getObject(name) : nullptr;
  if (!entry)
    return fail("has no tensor '" + name + "'");
  StringRef format = entry->getString("dtype").value_or("");
  // Unsigned integers are integers of their size.
  std::string own = format.starts_with("U") ? ("I" + format.drop_front()).str()
                                            : format.str();
  if (own != getFormatName(dtype))
    return fail("tensor '" + name + "' is of type '" + format +
                "', expected '" + getFormatName(dtype) + "'");
  if (!hasShape(*entry, shape))
    return fail(
        "tensor '" + name + "' has shape " + printShape(*entry) +
        ", expected [" +
        join(
            map_range(shape, [](int64_t size) { return std::to_string(size); }),
            ",") +
        "]");
  std::optional<StringRef> data = getData(*entry, content.substr(8 + length));
  Tensor tensor(dtype, shape);
  if (!tensor.isAllocated())
    return fail("no memory for tensor '" + name + "'");
  if (!data || data->size() != tensor.getBytes())
    return fail("does not have " + Twine(tensor.getBytes()) +
                " bytes of tensor '" + name + "'");
  if (!data->empty())
    std::memcpy(tensor.getData(), data->data(), data->size());
  if (dtype == REMAT_I1 &&
      llvm::any_of(*data, [](char byte) { return byte & ~1; }))
    return fail("tensor '" + name + "' has a byte that is neither 0 nor 1");
  return std::move(tensor);
}
