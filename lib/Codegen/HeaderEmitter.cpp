//===- HeaderEmitter.cpp - the C header of a compiled step ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a C program has to know about an object file with a step: what to
// pass in which order. Plain C99, comments included.
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/HeaderEmitter.h"
#include "remat/Codegen/Dtypes.h"
#include "remat/Codegen/Signature.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Runtime/LibraryCalls.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

/// What else there is to say of an argument.
static std::string describeArgument(GraphOp graph, unsigned number) {
  std::optional<int64_t> result = getDonatedResult(graph, number);
  return result ? (", in the place of result " + Twine(*result)).str() : "";
}

/// What else there is to say of a result, whose buffer `donor` gives if it is
/// not null.
static std::string describeResult(GraphOp graph, unsigned number,
                                  BlockArgument donor) {
  std::string text;
  if (donor)
    text = (", in the place of argument " + Twine(donor.getArgNumber())).str();
  DictionaryAttr attrs = graph.getResultAttrDict(number);
  if (attrs && attrs.contains(RematDialect::absentAttrName))
    text += donor ? ", a derivative that does not exist: nothing is added"
                  : ", a derivative that does not exist: zeros";
  return text;
}

/// A line for each of `types`: number, name, type, shape, bytes and what
/// `remark` says.
static void describe(TypeRange types, StringRef kind,
                     llvm::function_ref<DictionaryAttr(unsigned)> getAttrs,
                     llvm::function_ref<std::string(unsigned)> remark,
                     llvm::raw_ostream &output) {
  for (auto [number, type] : llvm::enumerate(types)) {
    std::string name = (kind + Twine(number)).str();
    if (DictionaryAttr attrs = getAttrs(number))
      if (auto given = attrs.getAs<StringAttr>(RematDialect::nameAttrName))
        name = given.str();
    auto tensor = cast<RankedTensorType>(type);
    remat_dtype dtype = *getDtype(tensor.getElementType());
    output << "//   " << number << ": ";
    // A line break would end the comment.
    llvm::printEscapedString(name, output);
    output << ", " << remat_dtype_name(dtype) << " [";
    llvm::interleaveComma(tensor.getShape(), output);
    output << "], "
           << tensor.getNumElements() * int64_t(remat_dtype_bytes(dtype))
           << " bytes";
    output << remark(number) << "\n";
  }
}

static void describeStep(GraphOp graph, llvm::raw_ostream &output) {
  output << "// Made by remat-compile: the training step '";
  llvm::printEscapedString(graph.getSymName(), output);
  output << "'. All tensors are dense and row-major.\n//\n// Arguments:\n";
  describe(
      graph.getArgumentTypes(), "arg",
      [&](unsigned number) { return graph.getArgAttrDict(number); },
      [&](unsigned number) { return describeArgument(graph, number); }, output);
  output << "//\n// Results:\n";
  SmallVector<BlockArgument> donors = getDonors(graph);
  describe(
      graph.getResultTypes(), "result",
      [&](unsigned number) { return graph.getResultAttrDict(number); },
      [&](unsigned number) {
        return describeResult(graph, number, donors[number]);
      },
      output);
  output << "//\n// Arena: " << graph.getArenaBytes().value_or(0) << " bytes";
  if (graph.getBudget())
    output << " of a budget of " << *graph.getBudget() << " bytes";
  output << ". Host arena: " << graph.getHostArenaBytes().value_or(0)
         << " bytes.\n";
}

/// How the calls of a step in several calls are made.
static void describeCalls(GraphOp graph, StringRef upper,
                          llvm::raw_ostream &output) {
  if (GraphLiveness(graph).callBegins.empty())
    return;
  output << "//\n// Forward and backward are separate calls, too:\n//\n"
         << "//   remat_state state = {/* " << upper
         << "_STATE_BYTES bytes at a multiple of 64 */};\n"
         << "//   remat_step_forward(loaded, arguments, " << upper
         << "_ARGUMENT_COUNT, results,\n//                      " << upper
         << "_RESULT_COUNT, &state);\n"
         << "//   remat_step_backward(loaded, 0, arguments, " << upper
         << "_ARGUMENT_COUNT, results,\n//                       " << upper
         << "_RESULT_COUNT, &state);\n";
}

/// The codecs that the program has to give to remat_step_load.
static void describeCodecs(ModuleOp module, llvm::raw_ostream &output) {
  llvm::SetVector<StringRef> codecs;
  module.walk([&](PackOp pack) { codecs.insert(pack.getCodec()); });
  if (codecs.empty())
    return;
  output << "//\n// Loading it needs these codecs (remat_step_options):";
  llvm::interleave(
      codecs, output,
      [&](StringRef codec) {
        output << " \"";
        llvm::printEscapedString(codec, output);
        output << "\"";
      },
      ",");
  output << ".\n";
}

static void describeUse(GraphOp graph, StringRef name,
                        llvm::raw_ostream &output) {
  std::string upper = name.upper();
  output
      << "// Use, with the data and dims of all tensors filled in:\n//\n"
      << "//   remat_tensor arguments[" << upper << "_ARGUMENT_COUNT], "
      << "results[" << upper << "_RESULT_COUNT];\n"
      << "//   remat_step *loaded;\n"
      << "//   if (remat_step_load(&" << name
      << ", NULL, &loaded) != REMAT_OK)\n"
      << "//     fprintf(stderr, \"%s\\n\", remat_last_error());\n"
      << "//   else if (remat_step_run(loaded, arguments, " << upper
      << "_ARGUMENT_COUNT, results,\n"
      << "//                           " << upper
      << "_RESULT_COUNT) != REMAT_OK)\n"
      << "//     fprintf(stderr, \"%s\\n\", remat_step_error(loaded));\n"
      << "//   remat_step_free(loaded);\n//\n"
      << "// Link with libremat_runtime, oneDNN, OpenMP, the C++ library and "
         "libm.\n";
}

LogicalResult remat::codegen::emitHeader(ModuleOp module, StringRef name,
                                         llvm::raw_ostream &output) {
  auto graphs = getStepGraphs(module);
  if (graphs.empty())
    return module.emitError("expected a 'remat.graph' in the module");
  GraphOp graph = *graphs.begin();
  if (failed(checkSignature(graph)))
    return failure();
  std::string upper = name.upper();
  describeStep(graph, output);
  describeCodecs(module, output);
  output << "//\n";
  describeUse(graph, name, output);
  describeCalls(graph, upper, output);
  output << "\n#ifndef " << upper << "_H\n#define " << upper
         << "_H\n\n#include \"remat/Runtime/Runtime.h\"\n\n"
         << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
         << "#define " << upper << "_ARGUMENT_COUNT "
         << graph.getArgumentTypes().size() << "\n#define " << upper
         << "_RESULT_COUNT " << graph.getResultTypes().size() << "\n#define "
         << upper << "_ARENA_BYTES UINT64_C("
         << graph.getArenaBytes().value_or(0) << ")\n#define " << upper
         << "_HOST_BYTES UINT64_C(" << graph.getHostArenaBytes().value_or(0)
         << ")\n#define " << upper << "_STATE_BYTES UINT64_C("
         << graph.getStateBytes().value_or(0) << ")\n#define " << upper
         << "_BACKWARD_COUNT " << GraphLiveness(graph).callBegins.size()
         << "\n\nextern const struct remat_module " << name
         << ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif // " << upper
         << "_H\n";
  return success();
}
