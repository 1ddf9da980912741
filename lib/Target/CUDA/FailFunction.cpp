//===- FailFunction.cpp - the failure that a launch reports ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads fail in any order. What is reported must not depend on it, so that
// the first field of the status is also a lock under which failures are
// compared. Only what fails ever waits for it.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {

/// The first field of a status.
enum State { None = 0, Failed = 1, Locked = 2 };

class FailFunction {
public:
  FailFunction(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), context(builder.getContext()),
        ptr(LLVM::LLVMPointerType::get(context)), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}
  void create();

private:
  Value state(State value) {
    return LLVM::ConstantOp::create(builder, loc, i32,
                                    builder.getI32IntegerAttr(value));
  }
  Value field(int32_t number);
  Value exchange(State value, LLVM::AtomicOrdering ordering);
  Value isBefore();

  OpBuilder &builder;
  Location loc;
  MLIRContext *context;
  Type ptr, i32, i64;
  Block *entry = nullptr;
};

} // namespace

Value FailFunction::field(int32_t number) {
  auto type = LLVM::LLVMStructType::getLiteral(context, {i32, i32, i64, i64});
  return LLVM::GEPOp::create(builder, loc, ptr, type, entry->getArgument(0),
                             ArrayRef<LLVM::GEPArg>{0, number});
}

Value FailFunction::exchange(State value, LLVM::AtomicOrdering ordering) {
  return LLVM::AtomicRMWOp::create(builder, loc, LLVM::AtomicBinOp::xchg,
                                   entry->getArgument(0), state(value),
                                   ordering);
}

/// Whether the new failure is before the one in the status, in the order of
/// check, index and bound.
Value FailFunction::isBefore() {
  Value result;
  for (int32_t number = 3; number > 0; --number) {
    Value mine = entry->getArgument(number);
    Value old =
        LLVM::LoadOp::create(builder, loc, mine.getType(), field(number));
    Value less =
        LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, mine, old);
    if (result) {
      Value equal = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                         mine, old);
      less = LLVM::OrOp::create(
          builder, loc, less, LLVM::AndOp::create(builder, loc, equal, result));
    }
    result = less;
  }
  return result;
}

void FailFunction::create() {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr, i32, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, failFunctionName, type,
                                           LLVM::Linkage::Internal);
  function.setNoInline(true);
  OpBuilder::InsertionGuard guard(builder);
  entry = function.addEntryBlock(builder);
  Block *wait = function.addBlock(), *compare = function.addBlock();
  Block *record = function.addBlock(), *release = function.addBlock();
  builder.setInsertionPointToStart(entry);
  LLVM::BrOp::create(builder, loc, ValueRange(), wait);

  builder.setInsertionPointToStart(wait);
  Value old = exchange(Locked, LLVM::AtomicOrdering::acquire);
  auto is = [&](State value) -> Value {
    return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, old,
                                state(value));
  };
  LLVM::CondBrOp::create(builder, loc, is(Locked), wait, compare);

  builder.setInsertionPointToStart(compare);
  Value isFirst = is(None);
  LLVM::CondBrOp::create(builder, loc,
                         LLVM::OrOp::create(builder, loc, isFirst, isBefore()),
                         record, release);

  builder.setInsertionPointToStart(record);
  for (int32_t number = 1; number < 4; ++number)
    LLVM::StoreOp::create(builder, loc, entry->getArgument(number),
                          field(number));
  LLVM::BrOp::create(builder, loc, ValueRange(), release);

  builder.setInsertionPointToStart(release);
  exchange(Failed, LLVM::AtomicOrdering::release);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void remat::cuda::createFailFunction(OpBuilder &builder, Location loc) {
  FailFunction(builder, loc).create();
}
