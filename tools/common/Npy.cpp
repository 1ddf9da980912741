//===- Npy.cpp - NumPy's file format --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Format 1.0 and 2.0 of .npy files: a magic string, the length of a header, a
// Python dictionary literal with `descr`, `fortran_order` and `shape`, and the
// elements.
//
//===----------------------------------------------------------------------===//

#include "common/Tensor.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace remat::tools;

/// NumPy's name of an element type, little endian. bf16 travels as u16.
static StringRef getDescr(remat_dtype dtype) {
  static constexpr StringLiteral names[] = {"<f4", "<f8", "<f2", "<u2",
                                            "|b1", "|i1", "<i2", "<i4",
                                            "<i8", "<c8", "<c16"};
  return names[dtype];
}

static std::optional<remat_dtype> parseDescr(StringRef descr) {
  for (int dtype = 0; dtype < REMAT_DTYPE_COUNT; ++dtype)
    if (getDescr(static_cast<remat_dtype>(dtype)) == descr)
      return static_cast<remat_dtype>(dtype);
  return std::nullopt;
}

static std::string printShape(ArrayRef<int64_t> shape) {
  std::string text =
      "(" +
      join(map_range(shape, [](int64_t size) { return std::to_string(size); }),
           ", ");
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// The text after `'key':` in a header, up to the next comma outside of
/// parentheses.
static StringRef findEntry(StringRef header, StringRef key) {
  size_t position = header.find(("'" + key + "'").str());
  if (position == StringRef::npos)
    return {};
  StringRef rest = header.drop_front(position + key.size() + 2).ltrim(" :");
  if (rest.starts_with("("))
    return rest.take_front(rest.find(')') + 1);
  return rest.take_until([](char c) { return c == ',' || c == '}'; }).trim();
}

/// The first byte of a truth value that is neither 0 nor 1. NumPy writes no
/// other, and kernels take them for either.
static const char *findBadBool(const Tensor &tensor) {
  const char *data = static_cast<const char *>(tensor.getData());
  const char *end = data + tensor.getBytes();
  if (tensor.getDtype() != REMAT_I1)
    return nullptr;
  const char *bad =
      std::find_if(data, end, [](char byte) { return byte & ~1; });
  return bad == end ? nullptr : bad;
}

/// Reads a file; a null `dtype` or `shape` accepts what the file has.
static Expected<Tensor> read(StringRef path, const remat_dtype *expectedDtype,
                             const ArrayRef<int64_t> *expectedShape) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), path + ": " + message);
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(file.getError().message());
  StringRef content = (*file)->getBuffer();
  if (!content.consume_front("\x93NUMPY") || content.size() < 6)
    return fail("is no NumPy file, expected what numpy.save writes");
  bool isLong = content[0] > 1;
  uint32_t length = 0;
  std::memcpy(&length, content.data() + 2, isLong ? 4 : 2);
  content = content.drop_front(isLong ? 6 : 4);
  if (content.size() < length)
    return fail("truncated header");
  StringRef header = content.take_front(length);
  content = content.drop_front(length);

  StringRef descr = findEntry(header, "descr").trim("'\"");
  std::optional<remat_dtype> dtype = parseDescr(descr);
  // Integers have no sign here: it is operations that read one.
  if (!dtype && descr.size() > 1 && descr[1] == 'u')
    dtype = parseDescr((descr.take_front() + "i" + descr.drop_front(2)).str());
  if (!dtype && expectedDtype)
    return fail("has elements of type '" + descr + "', expected '" +
                getDescr(*expectedDtype) + "'");
  if (!dtype)
    return fail("has elements of unknown type '" + descr + "'");
  bool isExpected = !expectedDtype ||
                    getDescr(*dtype) == getDescr(*expectedDtype) ||
                    (descr == "<u2" && *expectedDtype == REMAT_I16);
  if (!isExpected)
    return fail("has elements of type '" + descr + "', expected '" +
                getDescr(*expectedDtype) + "'");
  if (findEntry(header, "fortran_order") != "False")
    return fail(
        "is in Fortran order, expected C order, as numpy.ascontiguousarray "
        "makes it");
  SmallVector<StringRef> sizes;
  findEntry(header, "shape").trim("()").split(sizes, ',', -1, false);
  SmallVector<int64_t> shape;
  for (StringRef size : sizes) {
    size = size.trim();
    if (size.empty())
      continue;
    int64_t value;
    if (size.getAsInteger(10, value) || value < 0)
      return fail("has a shape with size '" + size + "'");
    shape.push_back(value);
  }
  if (expectedShape && ArrayRef<int64_t>(shape) != *expectedShape)
    return fail("has shape " + printShape(shape) + ", expected " +
                printShape(*expectedShape));
  Tensor tensor(expectedDtype ? *expectedDtype : *dtype, shape);
  if (!tensor.isAllocated())
    return fail("no memory for shape " + printShape(shape));
  if (content.size() < tensor.getBytes())
    return fail("has " + Twine(content.size()) + " bytes of data, expected " +
                Twine(tensor.getBytes()));
  if (tensor.getBytes() != 0)
    std::memcpy(tensor.getData(), content.data(), tensor.getBytes());
  if (const char *bad = findBadBool(tensor))
    return fail("has the byte " + Twine(unsigned(uint8_t(*bad))) +
                " as element " +
                Twine(bad - static_cast<const char *>(tensor.getData())) +
                " of type '|b1', expected 0 or 1");
  return std::move(tensor);
}

Expected<Tensor> remat::tools::readNpy(StringRef path, remat_dtype dtype,
                                       ArrayRef<int64_t> shape) {
  return read(path, &dtype, &shape);
}

Expected<Tensor> remat::tools::readNpy(StringRef path) {
  return read(path, nullptr, nullptr);
}

void remat::tools::writeNpy(raw_ostream &os, const Tensor &tensor) {
  std::string header =
      ("{'descr': '" + getDescr(tensor.getDtype()) +
       "', 'fortran_order': False, 'shape': " + printShape(tensor.getShape()) +
       ", }")
          .str();
  // The elements start at a multiple of 64 bytes.
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  os << StringRef("\x93NUMPY\x01\x00", 8);
  os << static_cast<char>(header.size() & 0xff)
     << static_cast<char>(header.size() >> 8) << header;
  os.write(static_cast<const char *>(tensor.getData()), tensor.getBytes());
}

Error remat::tools::writeNpy(StringRef path, const Tensor &tensor) {
  return writeOutputFile(path, [&](raw_ostream &os) { writeNpy(os, tensor); });
}
