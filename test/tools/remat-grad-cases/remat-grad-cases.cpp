//===- remat-grad-cases.cpp - functions to check derivatives on -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a function of COUNT results, each of which is a random case of a
// family of operations, the same each time, for a comparison of derivatives
// with finite differences.
//
//   remat-grad-cases FAMILY [COUNT [SEED]]
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::cases;

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  static const std::pair<StringRef, Family> families[] = {
      {"unary", addUnary},
      {"binary", addBinary},
      {"broadcast", addBroadcast},
      {"reduction", addReduction},
      {"contraction", addContraction},
      {"convolution", addConvolution},
      {"pooling", addPooling},
      {"named", addNamed},
      {"complex", addComplex},
      {"reshape", addReshape},
      {"slice", addSlice},
      {"element", addElement},
      {"gather", addGather},
      {"control", addControl},
  };
  StringRef name = argc > 1 ? argv[1] : "";
  unsigned count = 50, seed = 1;
  if (argc > 2 && StringRef(argv[2]).getAsInteger(10, count))
    name = "";
  if (argc > 3 && StringRef(argv[3]).getAsInteger(10, seed))
    name = "";
  for (auto [known, family] : families) {
    if (known != name)
      continue;
    Function function(seed);
    for (unsigned number = 0; number < count; ++number)
      family(function, number);
    function.print(outs());
    return 0;
  }
  errs() << "usage: remat-grad-cases FAMILY [COUNT [SEED]]\nfamilies:";
  for (auto [known, family] : families)
    errs() << ' ' << known;
  errs() << '\n';
  return 1;
}
