//===- ProgressFlag.h - whether to say how far a tool is --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_PROGRESSFLAG_H
#define REMAT_TOOLS_COMMON_PROGRESSFLAG_H

#include "common/ChoiceParser.h"

namespace remat::tools {

/// When to say how far something is.
enum class ShowProgress { Auto, Always, Never };

/// --progress of all tools that search.
class ProgressFlag {
public:
  /// `what` may take long, in the words of the help.
  ProgressFlag(llvm::cl::OptionCategory &category, llvm::StringRef what);

  /// Whether to say how far it is: by default on a terminal.
  bool shows() const;

private:
  std::string help;
  ChoiceFlag<ShowProgress> flag;
};

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_PROGRESSFLAG_H
