//===- Callback.cpp - values that the caller's codecs pack ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that packs or unpacks a value is a call of a function that the
// runtime is given when the step is loaded.
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/StepTableBuilder.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace {
class CodecCall : public LibraryCall {
public:
  CodecCall(remat_entry_kind kind, unsigned operand, StringRef codec,
            int64_t id, RankedTensorType value, remat_dtype dtype,
            int64_t packedBytes)
      : kind(kind), codec(codec), id(id), shape(value.getShape()), dtype(dtype),
        packedBytes(packedBytes) {
    operands = {operand};
  }

  int64_t countFlops() const override { return 0; }
  int64_t getWorkspaceBytes(int threads) const override { return 0; }
  void addTo(StepTableBuilder &table, StepEntry &entry) const override {
    entry.kind = kind;
    entry.callee = table.addPackedValue(codec, id, dtype, shape, packedBytes);
  }

private:
  remat_entry_kind kind;
  std::string codec;
  int64_t id;
  std::vector<int64_t> shape;
  remat_dtype dtype;
  int64_t packedBytes;
};
} // namespace

LibraryCallRef remat::codegen::matchCodec(FunctionOpInterface kernel) {
  Operation *op = getResultMaker(kernel);
  if (!isa_and_nonnull<PackOp, UnpackOp>(op))
    return {};
  bool packs = isa<PackOp>(op);
  BlockArgument operand = getKernelArgument(op->getOperand(0));
  Value value = packs ? op->getOperand(0) : op->getResult(0);
  Value packed = packs ? op->getResult(0) : op->getOperand(0);
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<remat_dtype> dtype = getDtype(type.getElementType());
  if (!operand || !dtype)
    return {};
  StringRef codec =
      packs ? cast<PackOp>(op).getCodec() : cast<UnpackOp>(op).getCodec();
  int64_t id = packs ? cast<PackOp>(op).getId() : cast<UnpackOp>(op).getId();
  return std::make_shared<CodecCall>(
      packs ? REMAT_ENTRY_PACK : REMAT_ENTRY_UNPACK, operand.getArgNumber(),
      codec, id, type, *dtype,
      cast<RankedTensorType>(packed.getType()).getNumElements());
}
