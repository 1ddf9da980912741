//===- CanonicalizationsTest.cpp - upstream patterns by name --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalization takes names of patterns to leave out, and a name that no
// pattern has leaves nothing out. Only the time it takes would tell.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringSet.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

/// The debug names of all canonicalizations of dialects and operations.
static llvm::StringSet<> collectNames(MLIRContext &context) {
  RewritePatternSet patterns(&context);
  for (Dialect *dialect : context.getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context.getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, &context);
  llvm::StringSet<> names;
  for (const auto &pattern : patterns.getNativePatterns())
    names.insert(pattern->getDebugName());
  return names;
}

TEST(Canonicalizations, ThoseThatAreLeftOutExist) {
  DialectRegistry registry;
  registerRematDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::StringSet<> names = collectNames(context);
  ASSERT_FALSE(getDisabledCanonicalizations().empty());
  for (StringRef name : getDisabledCanonicalizations())
    EXPECT_TRUE(names.contains(name))
        << "upstream has no canonicalization named '" << name.str() << "'";
}
