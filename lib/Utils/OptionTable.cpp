//===- OptionTable.cpp - the options of a struct, said once ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/OptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace remat;

/// The known name that `name` was probably meant to be, or none: about a third
/// of its letters may be wrong.
static StringRef findNearest(StringRef name, ArrayRef<StringRef> known) {
  StringRef nearest;
  unsigned least = std::max<unsigned>(1, (name.size() + 1) / 3) + 1;
  for (StringRef candidate : known) {
    unsigned distance = name.edit_distance(candidate, true, least);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

Error remat::makeUnknownNameError(StringRef what, StringRef name,
                                  ArrayRef<StringRef> known) {
  std::string text;
  raw_string_ostream os(text);
  os << "unknown " << what << " '" << name << "', expected "
     << (known.size() == 1 ? "" : "one of ");
  interleaveComma(known, os, [&](StringRef name) { os << "'" << name << "'"; });
  StringRef nearest = findNearest(name, known);
  if (!nearest.empty() && known.size() > 1)
    os << "; did you mean '" << nearest << "'?";
  return createStringError(inconvertibleErrorCode(), text);
}

Error remat::makeExpectedError(const Twine &expected, StringRef text) {
  return createStringError(inconvertibleErrorCode(),
                           "expected " + expected + ", got '" + text + "'");
}

Error remat::prefixError(const Twine &prefix, Error error) {
  if (!error)
    return error;
  return createStringError(inconvertibleErrorCode(),
                           prefix + ": " + toString(std::move(error)));
}

std::string remat::printNumber(double value) {
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    text.clear();
    raw_string_ostream(text) << format("%.*g", digits, value);
    double parsed;
    if (!StringRef(text).getAsDouble(parsed) && parsed == value)
      break;
  }
  return text;
}

Error FlagSyntax::parse(StringRef text, bool &value) const {
  std::string lower = text.trim().lower();
  bool isTrue = is_contained({"", "true", "1"}, lower);
  if (!isTrue && !is_contained({"false", "0"}, lower))
    return makeExpectedError("true or false", text);
  value = isTrue;
  return Error::success();
}

Error AmountSyntax::parse(StringRef text, double &value) const {
  double parsed;
  // No text would be 0, and a search without end is not what anyone means.
  if (text.trim().empty() || text.trim().getAsDouble(parsed) ||
      !std::isfinite(parsed) || parsed < 0)
    return makeExpectedError("a number, 0 or more", text);
  value = parsed;
  return Error::success();
}

Error IndexListSyntax::parse(StringRef text,
                             SmallVectorImpl<int64_t> &value) const {
  SmallVector<int64_t> parsed;
  SmallVector<StringRef> parts;
  if (!text.trim().empty())
    text.split(parts, ',');
  for (StringRef part : parts) {
    int64_t index;
    if (part.trim().getAsInteger(10, index) || index < 0)
      return makeExpectedError("integers, 0 or more, with commas between them",
                               text);
    parsed.push_back(index);
  }
  value.assign(parsed.begin(), parsed.end());
  return Error::success();
}

std::string IndexListSyntax::print(ArrayRef<int64_t> value) const {
  std::string text;
  raw_string_ostream os(text);
  interleave(value, os, ",");
  return text;
}
