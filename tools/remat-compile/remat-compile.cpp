//===- remat-compile.cpp - models to object files -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way ahead of time: reads a model, differentiates, plans and compiles it
// to an object file, and writes the C header that goes with it. The object
// needs libremat_runtime and libm, nothing of MLIR. A file that already holds a
// graph is taken up at the level it has.
//
// Exit status: 0; 1 on bad input, with a diagnostic; 3 when the budget is
// infeasible, with the smallest feasible one. Files are written at the end,
// whole or not at all.
//
//===----------------------------------------------------------------------===//

#include "common/Driver.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Codegen/HeaderEmitter.h"
#include "remat/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

namespace {
/// What to write; in the order in which it is reached.
enum class Output { Joint, Tasks, Placed, Assembly, Object };

/// The command line. Made after LLVM's own options, some of which have the same
/// names, were dropped.
struct Options {
  cl::OptionCategory category{"remat-compile options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::init("-"),
                                 cl::desc("<model.mlir>"), cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::init("-"), cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Output file")};
  cl::opt<std::string> headerFile{"header", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a C header here")};
  cl::opt<std::string> name{
      "name", cl::init("step"), cl::cat(category),
      cl::desc("Symbol of the remat_module, a C identifier")};
  cl::opt<Output> emit{
      "emit", cl::init(Output::Object), cl::cat(category),
      cl::desc("What to write:"),
      cl::values(
          clEnumValN(Output::Object, "object", "an object file (default)"),
          clEnumValN(Output::Assembly, "asm", "assembly"),
          clEnumValN(Output::Placed, "placed", "IR, planned and placed"),
          clEnumValN(Output::Tasks, "tasks", "IR, cut into tasks with costs"),
          clEnumValN(Output::Joint, "joint", "IR, forward and backward"))};
  cl::opt<bool> assembly{"S", cl::cat(category),
                         cl::desc("Same as --emit=asm")};
  cl::opt<std::string> targetCpu{
      "mcpu", cl::ZeroOrMore, cl::cat(category), cl::value_desc("name"),
      cl::desc("CPU to compile for; the host's if empty")};
  cl::opt<std::string> kernelCache{
      "kernel-cache", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Keep compiled kernels here, and take them from here")};
  cl::opt<int> threads{
      "threads", cl::init(0), cl::cat(category),
      cl::desc("Threads that the step will run on; 0 for all cores")};

  cl::opt<std::string> costsFile{
      "costs", cl::cat(category), cl::value_desc("file"),
      cl::desc("Plan with the measured costs in this file, and carry products "
               "out in the faster form")};

  cl::opt<std::string> function{"function", cl::cat(category), cl::init("main"),
                                cl::desc("Function to compile")};
  cl::opt<std::string> manifestFile{
      "manifest", cl::cat(category), cl::value_desc("file"),
      cl::desc("Names of the arguments, and which are parameters: these are "
               "differentiated with respect to")};
  cl::opt<bool> differentiate{"differentiate", cl::init(true),
                              cl::cat(category),
                              cl::desc("Append the backward computation")};
  cl::opt<bool> noGradients{"no-gradients", cl::cat(category),
                            cl::desc("Same as --differentiate=false")};
  cl::list<int64_t> wrt{
      "wrt", cl::CommaSeparated, cl::cat(category),
      cl::desc("Arguments to differentiate with respect to; the parameters of "
               "the manifest, or all of floating point, if not given")};
  cl::opt<int64_t> result{
      "result", cl::init(-1), cl::cat(category),
      cl::desc("Result to differentiate; negative numbers count from the end")};
  cl::opt<bool> cotangents{
      "cotangents", cl::cat(category),
      cl::desc("Differentiate all results, with a cotangent argument for each, "
               "instead of one")};

  cl::opt<bool> separateBackward{
      "separate-backward", cl::cat(category),
      cl::desc("Let forward and backward computation be separate calls")};

  cl::opt<std::string> budget{
      "budget", cl::cat(category), cl::value_desc("bytes|N%|min"),
      cl::desc("Bound on the arena: bytes with KiB, MiB or GiB, a percentage "
               "of the peak without rematerialization, or 'min'")};
  PlanFlags plan{category};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

//===----------------------------------------------------------------------===//
// Checking the command line
//===----------------------------------------------------------------------===//

/// Whether C99 and C++17 both let `name` be the name of a variable.
static bool isIdentifier(StringRef name) {
  static constexpr StringLiteral keywords =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch "
      "char char16_t char32_t class compl const const_cast constexpr continue "
      "decltype default delete do double dynamic_cast else enum explicit "
      "export "
      "extern false float for friend goto if inline int long mutable namespace "
      "new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register reinterpret_cast restrict return short signed sizeof "
      "static static_assert static_cast struct switch template this "
      "thread_local throw true try typedef typeid typename union unsigned "
      "using "
      "virtual void volatile wchar_t while xor xor_eq ";
  return !name.empty() && !isDigit(name[0]) &&
         all_of(name, [](char c) { return isAlnum(c) || c == '_'; }) &&
         !keywords.contains((" " + name + " ").str());
}

static Error checkOptions() {
  StringRef name = options().name;
  if (!isIdentifier(name))
    return makeError("'" + name + "' is no C identifier");
  if (name.starts_with("remat_"))
    return makeError("'" + name +
                     "' is no name for a module, names that start with "
                     "'remat_' are the runtime's");
  if (options().threads < 0)
    return makeError("'--threads' must not be negative, got " +
                     Twine(options().threads));
  if (options().assembly) {
    if (options().emit.getNumOccurrences() > 0 &&
        options().emit != Output::Assembly)
      return makeError("'-S' contradicts '--emit'");
    options().emit = Output::Assembly;
  }
  if (options().noGradients) {
    if (options().differentiate.getNumOccurrences() > 0 &&
        options().differentiate)
      return makeError("'--no-gradients' contradicts '--differentiate'");
    options().differentiate = false;
  }
  if (options().emit < Output::Placed && !options().headerFile.empty())
    return makeError("'--header' describes a placed step, but '--emit' stops "
                     "before");
  if (options().headerFile == options().outputFile)
    return makeError("the header and the output have the same name '" +
                     options().outputFile + "'");
  if (options().emit == Output::Object && options().outputFile == "-" &&
      outs().is_displayed())
    return makeError("an object file is nothing to show, give a file by '-o'");
  return Error::success();
}

/// An option that was given although the input is past the stage it is for.
static Error
checkUnused(std::initializer_list<std::reference_wrapper<cl::Option>> unused,
            StringRef why) {
  for (const cl::Option &option : unused)
    if (option.getNumOccurrences() > 0)
      return makeError("'--" + option.ArgStr + "' has no effect: " + why);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The levels
//===----------------------------------------------------------------------===//

/// Brings a module with functions to the level of tasks, or only to the joint
/// graph if that is asked for.
static Error compileFunction(mlir::ModuleOp module) {
  DifferentiateOptions derivative;
  derivative.wrt.assign(options().wrt.begin(), options().wrt.end());
  if (!options().manifestFile.empty()) {
    Expected<Manifest> manifest = loadManifest(options().manifestFile);
    if (!manifest)
      return manifest.takeError();
    if (options().function.getNumOccurrences() == 0)
      options().function = manifest->function;
    if (Error error = applyManifest(*manifest, module, options().function))
      return error;
    if (derivative.wrt.empty())
      derivative.wrt = getParameters(*manifest);
    if (derivative.wrt.empty() && options().differentiate)
      return makeError(options().manifestFile +
                       ": no argument is a parameter, give '--wrt' or "
                       "'--no-gradients'");
  }
  derivative.result = options().result;
  if (options().cotangents)
    derivative.mode = DifferentiateOptions::Reverse;
  StepOptions step;
  step.function = options().function;
  step.derivatives.clear();
  if (options().differentiate)
    step.derivatives.push_back(derivative);
  step.threads = options().threads;
  step.costs = options().costsFile;
  step.separateBackward = options().separateBackward;
  if (failed(options().emit == Output::Joint ? compileToJoint(module, step)
                                             : compileToTasks(module, step)))
    return makeError("could not compile " + options().inputFile);
  return Error::success();
}

/// Brings the module to the level that is to be written, L4 at most. Returns
/// what is known of the step if it is then placed.
static Expected<std::optional<StepSummary>> compile(mlir::ModuleOp module) {
  Options &given = options();
  auto graphs = module.getOps<GraphOp>();
  if (graphs.empty()) {
    if (Error error = compileFunction(module))
      return std::move(error);
  } else if (Error error = checkUnused(
                 {given.function, given.manifestFile, given.differentiate,
                  given.noGradients, given.wrt, given.result, given.cotangents,
                  given.separateBackward},
                 "the input is already a graph of tasks")) {
    return std::move(error);
  }
  if (given.emit <= Output::Tasks)
    return std::nullopt;
  GraphOp graph = getOnlyGraph(module);
  if (!graph)
    return makeError("could not compile " + given.inputFile);
  if (!graph.getPlannedPeak() && !graph.getArenaBytes()) {
    Expected<PlanOptions> plan = given.plan.makeOptions(given.budget);
    if (!plan)
      return plan.takeError();
    return planModule(module, *plan);
  }
  if (Error error = checkUnused(
          {given.budget, given.plan.planner, given.plan.effort,
           given.plan.timeLimit, given.plan.seed, given.plan.reorder,
           given.plan.hostBudget, given.plan.linkBandwidth},
          "the input is already planned"))
    return std::move(error);
  if (!graph.getArenaBytes())
    return placeModule(module, given.plan.lend);
  return summarizeStep(graph);
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

namespace {
struct Files {
  SmallVector<char, 0> header, output;
};
} // namespace

/// Makes the contents of the files; lowers the module if code is asked for.
static Expected<Files> makeFiles(mlir::ModuleOp module) {
  Files files;
  if (!options().headerFile.empty()) {
    raw_svector_ostream stream(files.header);
    if (failed(codegen::emitHeader(module, options().name, stream)))
      return makeError("could not describe the step");
  }
  raw_svector_ostream stream(files.output);
  if (options().emit <= Output::Placed) {
    module.print(stream);
    return files;
  }
  const Target *target = lookupTarget(module);
  if (!target ||
      failed(target->lower(module, {options().name, options().threads})))
    return makeError("could not compile " + options().inputFile);
  std::unique_ptr<codegen::KernelCache> cache;
  if (!options().kernelCache.empty()) {
    auto opened = codegen::KernelCache::open(options().kernelCache);
    if (!opened)
      return opened.takeError();
    cache = std::move(*opened);
  }
  OutputKind kind = options().emit == Output::Assembly ? OutputKind::Assembly
                                                       : OutputKind::Object;
  if (Error error = target->emit(module, {options().targetCpu, cache.get()},
                                 kind, stream))
    return std::move(error);
  return files;
}

/// Both files take their names only after both were written.
static Error writeFiles(const Files &files) {
  auto write = [](StringRef path, ArrayRef<char> bytes,
                  function_ref<Error()> then) {
    Error error = writeToOutput(path, [&](raw_ostream &os) {
      os.write(bytes.data(), bytes.size());
      // An error takes the file away from under the stream.
      os.flush();
      return then();
    });
    if (!error || error.isA<FileError>())
      return error;
    return createFileError(path, std::move(error));
  };
  return write(options().outputFile, files.output, [&]() -> Error {
    if (options().headerFile.empty())
      return Error::success();
    return write(options().headerFile, files.header,
                 [] { return Error::success(); });
  });
}

/// What the caller provides for the tensors.
static int64_t sumBytes(mlir::TypeRange types) {
  int64_t bytes = 0;
  for (mlir::Type type : types)
    if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
      if (auto dtype = codegen::getDtype(tensor.getElementType()))
        bytes += tensor.getNumElements() * int64_t(remat_dtype_bytes(*dtype));
  return bytes;
}

static void printSummary(raw_ostream &os, GraphOp graph,
                         const StepSummary &summary) {
  os << options().name << ": planned peak " << summary.plannedPeak << " bytes ("
     << summary.saveAllPeak << " without rematerialization), arena "
     << summary.arenaBytes << ", budget ";
  if (graph.getBudget())
    os << *graph.getBudget();
  else
    os << "none";
  if (graph.getStateBytes())
    os << ", state " << summary.stateBytes;
  if (summary.hostArenaBytes)
    os << ", host arena " << summary.hostArenaBytes;
  os << "; " << graph.getArgumentTypes().size() << " arguments ("
     << sumBytes(graph.getArgumentTypes()) << " bytes), "
     << graph.getResultTypes().size() << " results ("
     << sumBytes(graph.getResultTypes()) << " bytes), " << summary.distinctTasks
     << " kernels, " << summary.tasks << " tasks, " << summary.recomputedTasks
     << " recomputed\n";
}

static Error runTool() {
  if (Error error = checkOptions())
    return error;
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  Expected<std::optional<StepSummary>> summary = compile(**module);
  if (!summary)
    return summary.takeError();
  std::string text;
  raw_string_ostream stream(text);
  if (*summary)
    printSummary(stream, getOnlyGraph(**module), **summary);
  Expected<Files> files = makeFiles(**module);
  if (!files)
    return files.takeError();
  if (Error error = writeFiles(*files))
    return error;
  // Not into the output.
  bool isPiped = options().outputFile == "-" || options().headerFile == "-";
  (isPiped ? errs() : outs()) << text;
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM initLLVM(argc, argv);
  cl::ResetCommandLineParser();
  cl::HideUnrelatedOptions(options().category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Compile a training step to an object file\n");
  return reportError("remat-compile", runTool());
}
