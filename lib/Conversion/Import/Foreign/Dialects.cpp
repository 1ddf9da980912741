//===- Dialects.cpp - dialects without a definition -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes and types are kept as text. Operations can be read in generic form
// only: how they are printed otherwise is what the definition would say.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/ForeignDialects.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace remat;

static constexpr StringLiteral genericJax =
    "is not in generic form, which is the only one that remat reads of this "
    "dialect: print the module by 'lowered.compiler_ir().operation.get_asm("
    "print_generic_op_form=True)', or use 'remat.jax.export'";
static constexpr StringLiteral genericTorch =
    "is not in generic form, which is the only one that remat reads of this "
    "dialect: print the module by 'module.operation.get_asm("
    "print_generic_op_form=True)', or use 'remat.torch.export'";
static constexpr StringLiteral stopsEarly =
    "is of a dialect that remat does not read: export with "
    "'output_type=\"linalg-on-tensors\"', or use 'remat.torch.export'";
static constexpr StringLiteral portable =
    "is of a dialect that remat does not read: print the module as StableHLO, "
    "by 'lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)', "
    "or use 'remat.jax.export'";
static constexpr StringLiteral notRead =
    "is of a dialect that remat does not read: lower it to linalg on tensors, "
    "TOSA or StableHLO first";

namespace {
struct Foreign {
  StringLiteral name;
  /// Why an operation that is not in generic form is refused.
  StringLiteral advice;
  /// Whether operations are read.
  bool isRead;
};
} // namespace

static constexpr Foreign foreignDialects[] = {
    {"chlo", genericJax, true},
    {"iree_linalg_ext", notRead, false},
    {"mhlo", portable, false},
    {"onnx", notRead, false},
    {"sdy", genericJax, true},
    {"stablehlo", genericJax, true},
    {"tf", notRead, false},
    {"tfl", notRead, false},
    {"tm_tensor", genericTorch, true},
    {"torch", stopsEarly, false},
    {"torch_c", stopsEarly, false},
    {"tt", notRead, false},
    {"vhlo", portable, false},
};

static const Foreign *findForeign(StringRef name) {
  const Foreign *found =
      llvm::find_if(foreignDialects, [&](const Foreign &foreign) {
        return foreign.name == name;
      });
  return found == std::end(foreignDialects) ? nullptr : found;
}

StringRef remat::getForeignAdvice(StringRef dialect) {
  const Foreign *foreign = findForeign(dialect);
  return foreign && !foreign->isRead ? StringRef(foreign->advice) : "";
}

/// How the operations are printed otherwise is not known.
static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
  return parser.emitError(parser.getNameLoc())
         << findForeign(state.name.getDialectNamespace())->advice;
}

// A TypeID cannot be made of a class without a name that others could link to.
// NOLINTBEGIN(misc-use-internal-linkage)
namespace remat::foreign {
class ForeignDialect : public Dialect {
public:
  ForeignDialect(StringRef name, MLIRContext *context, TypeID id)
      : Dialect(name, context, id) {
    allowUnknownOperations();
    allowUnknownTypes();
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    return OpaqueAttr::get(StringAttr::get(getContext(), getNamespace()),
                           parser.getFullSymbolSpec(),
                           NoneType::get(getContext()));
  }

  Type parseType(DialectAsmParser &parser) const override {
    return OpaqueType::get(StringAttr::get(getContext(), getNamespace()),
                           parser.getFullSymbolSpec());
  }

  std::optional<ParseOpHook> getParseOperationHook(StringRef) const override {
    return refuse;
  }
};

/// A dialect is found by its class, so each has one.
template <size_t number>
class NumberedDialect : public ForeignDialect {
public:
  explicit NumberedDialect(MLIRContext *context)
      : ForeignDialect(getDialectNamespace(), context,
                       TypeID::get<NumberedDialect>()) {}
  static constexpr StringLiteral getDialectNamespace() {
    return foreignDialects[number].name;
  }
};
} // namespace remat::foreign
// NOLINTEND(misc-use-internal-linkage)

template <size_t... numbers>
static void registerNumbered(DialectRegistry &registry,
                             std::index_sequence<numbers...>) {
  registry.insert<foreign::NumberedDialect<numbers>...>();
}

void remat::registerForeignDialects(DialectRegistry &registry) {
  registerNumbered(registry,
                   std::make_index_sequence<std::size(foreignDialects)>());
}

/// What to say instead of `message`, which lists all dialects that there are or
/// names a flag that is not one of remat's; empty if it is another message.
static std::string explainUnknown(StringRef message) {
  constexpr StringLiteral reason =
      " is of a dialect that remat does not know: export linalg on tensors, "
      "TOSA or the generic form of StableHLO, as 'remat.torch.export' and "
      "'remat.jax.export' do";
  if (message.starts_with("operation being parsed with an unregistered"))
    return ("operation" + reason).str();
  if (!message.starts_with("Dialect `") || !message.contains("' not found"))
    return "";
  StringRef name = message.split("custom op '").second.split('\'').first;
  return ("'" + name + "'" + reason).str();
}

UnknownDialectHandler::UnknownDialectHandler(MLIRContext *context)
    : ScopedDiagnosticHandler(context, [](Diagnostic &diagnostic) {
        std::string text = explainUnknown(diagnostic.str());
        if (text.empty())
          return failure();
        emitError(diagnostic.getLocation(), text);
        return success();
      }) {}

//===----------------------------------------------------------------------===//
// Looking for them
//===----------------------------------------------------------------------===//

static bool isForeignType(Type type) {
  return type
      .walk([](Type inner) {
        auto integer = dyn_cast<IntegerType>(inner);
        bool foreign = isa<OpaqueType, TupleType>(inner) ||
                       (integer && !integer.isSignless());
        return foreign ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool remat::hasForeign(Operation *root) {
  return root
      ->walk([](Operation *op) {
        bool foreign =
            findForeign(op->getName().getDialectNamespace()) ||
            llvm::any_of(op->getResultTypes(), isForeignType) ||
            llvm::any_of(op->getRegions(), [](Region &region) {
              return llvm::any_of(region.getArgumentTypes(), isForeignType);
            });
        return foreign ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
