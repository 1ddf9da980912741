//===- Absorptions.cpp - values that readers can make themselves ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Absorptions.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace remat;

static constexpr StringLiteral kernelKey = "kernel", tasksKey = "tasks",
                               operandsKey = "operands", costKey = "cost",
                               workspaceKey = "workspace";

SmallVector<Absorption> remat::getAbsorptions(TaskOp task) {
  SmallVector<Absorption> absorptions;
  auto list = task->getAttrOfType<ArrayAttr>(absorptionsAttrName);
  if (!list)
    return absorptions;
  for (auto members : list.getAsRange<DictionaryAttr>()) {
    Absorption &absorption = absorptions.emplace_back();
    absorption.kernel = members.getAs<FlatSymbolRefAttr>(kernelKey);
    llvm::append_range(absorption.tasks,
                       members.getAs<DenseI64ArrayAttr>(tasksKey).asArrayRef());
    ArrayRef<int64_t> pairs =
        members.getAs<DenseI64ArrayAttr>(operandsKey).asArrayRef();
    for (size_t i = 0; i < pairs.size(); i += 2)
      absorption.operands.push_back(
          {pairs[i], static_cast<unsigned>(pairs[i + 1])});
    absorption.cost = members.getAs<IntegerAttr>(costKey).getInt();
    absorption.workspace = members.getAs<IntegerAttr>(workspaceKey).getInt();
  }
  return absorptions;
}

void remat::setAbsorptions(TaskOp task, ArrayRef<Absorption> absorptions) {
  Builder builder(task.getContext());
  SmallVector<Attribute> list;
  for (const Absorption &absorption : absorptions) {
    SmallVector<int64_t> pairs;
    for (auto [number, operand] : absorption.operands)
      pairs.append({number, static_cast<int64_t>(operand)});
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(kernelKey, absorption.kernel),
         builder.getNamedAttr(tasksKey,
                              builder.getDenseI64ArrayAttr(absorption.tasks)),
         builder.getNamedAttr(operandsKey, builder.getDenseI64ArrayAttr(pairs)),
         builder.getNamedAttr(costKey,
                              builder.getI64IntegerAttr(absorption.cost)),
         builder.getNamedAttr(
             workspaceKey, builder.getI64IntegerAttr(absorption.workspace))}));
  }
  task->setAttr(absorptionsAttrName, builder.getArrayAttr(list));
}

bool remat::isAbsorptionList(Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && llvm::all_of(list, [](Attribute entry) {
           auto members = dyn_cast<DictionaryAttr>(entry);
           if (!members || !members.getAs<FlatSymbolRefAttr>(kernelKey))
             return false;
           auto tasks = members.getAs<DenseI64ArrayAttr>(tasksKey);
           auto operands = members.getAs<DenseI64ArrayAttr>(operandsKey);
           if (!tasks || !operands || operands.size() % 2 != 0)
             return false;
           for (int64_t i = 1; i < operands.size(); i += 2)
             if (operands[i] < 0 || operands[i] > UINT32_MAX)
               return false;
           return llvm::all_of(ArrayRef<StringLiteral>{costKey, workspaceKey},
                               [&](StringRef key) {
                                 auto count = members.getAs<IntegerAttr>(key);
                                 return count &&
                                        count.getType().isInteger(64) &&
                                        count.getInt() >= 0;
                               });
         });
}

ArrayRef<int64_t> remat::getAbsorbed(TaskOp task) {
  auto tasks = task->getAttrOfType<DenseI64ArrayAttr>(absorbedAttrName);
  return tasks ? tasks.asArrayRef() : ArrayRef<int64_t>();
}

bool remat::removeAbsorptions(ModuleOp module) {
  bool isChanged = false;
  for (auto graph : module.getOps<GraphOp>())
    if (graph.isPlanned())
      for (auto task : graph.getOps<TaskOp>())
        isChanged |= bool(task->removeAttr(absorptionsAttrName));
  return isChanged;
}
