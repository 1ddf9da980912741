//===- Interrupts.h - Ctrl-C and its like -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_INTERRUPTS_H
#define REMAT_TOOLS_COMMON_INTERRUPTS_H

#include "llvm/ADT/StringRef.h"

namespace remat::tools {

/// From now on, SIGINT, SIGTERM and SIGHUP say on standard error that `tool`
/// was interrupted, delete temporary files, and end the process as the signal
/// does by default. `nohup` still works.
void handleInterrupts(llvm::StringLiteral tool);

/// The next signal of these calls `function` instead, which must be safe in a
/// signal handler. Null takes back what was set.
void setInterruptFunction(void (*function)());

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_INTERRUPTS_H
