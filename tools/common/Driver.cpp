//===- Driver.cpp - what the compiling tools share ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Driver.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

/// All planners, one a line, the summaries in a column of their own.
static std::string describePlanners() {
  std::vector<planning::SolverInfo> planners = planning::getSolvers();
  size_t width = 0;
  for (const planning::SolverInfo &info : planners)
    width = std::max(width, info.name.size());
  std::string text = "Planning algorithm:";
  raw_string_ostream os(text);
  for (const planning::SolverInfo &info : planners)
    os << "\n  " << left_justify(info.name, width + 2) << info.summary;
  return text;
}

/// Loads a library and lets it register its planners.
static Error loadPlanners(const std::string &path) {
  std::string message;
  auto library =
      sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return makeError("could not load the planners of '" + path +
                     "': " + message);
  const char *const entry = "rematRegisterPlanners";
  void *address = library.getAddressOfSymbol(entry);
  if (!address)
    return createFileError(
        path,
        makeError(Twine("is no library of planners: it has no function '") +
                  entry + "'"));
  Error error = Error::success();
  reinterpret_cast<void (*)(Error &)>(address)(error);
  return error ? createFileError(path, std::move(error)) : Error::success();
}

PlanFlags::PlanFlags(cl::OptionCategory &category)
    : plannerHelp(describePlanners()),
      planners("load-planner", cl::cat(category), cl::value_desc("file"),
               cl::desc("Load a shared library with planners; write it before "
                        "--help to have them listed"),
               cl::callback([this](const std::string &path) {
                 if (Error error = loadPlanners(path))
                   loadFailure = toString(std::move(error));
                 plannerHelp = describePlanners();
                 planner.setDescription(plannerHelp);
               })),
      planner("planner", cl::init("auto"), cl::cat(category),
              cl::value_desc("name"), cl::desc(plannerHelp)),
      effort(
          "effort", cl::init(1.0), cl::cat(category),
          cl::desc("Work that the planner may do, in about seconds; counted, "
                   "so that the plan is the same on every machine")),
      timeLimit("time-limit", cl::cat(category), cl::value_desc("seconds"),
                cl::desc("Let the clock end the planner's search, whatever the "
                         "effort")),
      seed("seed", cl::init(1), cl::cat(category),
           cl::desc("Seed of the planner's random choices")),
      reorder("reorder", cl::cat(category),
              cl::desc("Let the planner change the order of first runs")),
      lend("lend", cl::init(true), cl::cat(category),
           cl::desc("Let results' buffers hold other values until the result "
                    "is written")),
      hostBudget("host-budget", cl::cat(category), cl::value_desc("bytes"),
                 cl::desc("Bound on what is offloaded to host memory")),
      linkBandwidth("link-bandwidth", cl::init("0"), cl::cat(category),
                    cl::value_desc("bytes/s"),
                    cl::desc("Speed of the link to host memory, such as "
                             "25GB/s, or 'inf'; 0 offloads only what policies "
                             "ask for")),
      regionBudgets(
          "region-budget", cl::CommaSeparated, cl::cat(category),
          cl::value_desc("name:bytes"),
          cl::desc("Bound on what is kept of the values with a name, of a tag "
                   "or a checkpoint, for the backward computation")) {}

Expected<PlanOptions> PlanFlags::makeOptions(StringRef budget) const {
  using planning::BudgetRequest;
  PlanOptions options;
  if (!loadFailure.empty())
    return makeError(loadFailure);
  Expected<BudgetRequest> request = planning::parseBudget(budget);
  if (!request)
    return request.takeError();
  options.budget = *request;
  Expected<BudgetRequest> host = planning::parseBudget(hostBudget);
  if (!host)
    return host.takeError();
  if (host->kind == BudgetRequest::Kind::Bytes)
    options.hostBudget = host->bytes;
  else if (host->kind != BudgetRequest::Kind::Unlimited)
    return makeError("--host-budget '" + hostBudget +
                     "' must be given in bytes");
  Expected<int64_t> bandwidth = planning::parseBandwidth(linkBandwidth);
  if (!bandwidth)
    return bandwidth.takeError();
  options.linkBandwidth = *bandwidth;
  for (const std::string &text : regionBudgets) {
    auto region = planning::parseRegionBudget(text);
    if (!region)
      return region.takeError();
    options.regionBudgets.push_back(std::move(*region));
  }
  // Written so that NaN is refused.
  if (!(effort >= 0))
    return makeError("--effort must not be negative or NaN");
  if (!(timeLimit >= 0))
    return makeError("--time-limit must not be negative or NaN");
  Expected<planning::SolverInfo> known = planning::findSolver(planner);
  if (!known)
    return known.takeError();
  options.planner = known->name;
  options.reorder = reorder;
  options.lend = lend;
  options.solver.effort = effort;
  if (timeLimit.getNumOccurrences())
    options.solver.timeLimitSeconds = timeLimit;
  options.solver.seed = seed;
  return options;
}

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerRematDialects(registry);
  return registry;
}

ModelReader::ModelReader()
    : context(makeRegistry()), diagnostics(sources, &context) {
  context.printOpOnDiagnostic(false);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> ModelReader::read(StringRef path) {
  std::string message;
  std::unique_ptr<MemoryBuffer> buffer = mlir::openInputFile(path, &message);
  if (!buffer)
    return makeError(message);
  return read(std::move(buffer));
}

/// Random state in globals and memrefs among the arguments change the
/// functions' signatures, which manifests and files of arguments are about.
static LogicalResult importSignatures(mlir::ModuleOp module) {
  auto hasMemRef = [](mlir::FunctionOpInterface function) {
    return any_of(function.getArgumentTypes(), IsaPred<mlir::BaseMemRefType>);
  };
  if (module.getOps<mlir::ml_program::GlobalOp>().empty() &&
      none_of(module.getOps<mlir::FunctionOpInterface>(), hasMemRef))
    return success();
  mlir::PassManager pm(module.getContext());
  pm.addPass(mlir::createInlinerPass({}, [](mlir::OpPassManager &) {}));
  pm.addPass(createImportRandomStatePass());
  pm.addNestedPass<mlir::func::FuncOp>(createImportBuffersPass());
  return pm.run(module);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
ModelReader::read(std::unique_ptr<MemoryBuffer> buffer) {
  std::string path = buffer->getBufferIdentifier().str();
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return makeError("could not read " + path);
  if (failed(importSignatures(*module)))
    return makeError("could not compile " + path);
  return std::move(module);
}

std::vector<Tensor> tools::getInitialState(mlir::FunctionOpInterface entry) {
  std::vector<Tensor> state;
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    auto value = entry.getArgAttrOfType<mlir::DenseIntOrFPElementsAttr>(
        number, "remat.initial_value");
    std::optional<remat_dtype> dtype =
        value ? codegen::getDtype(value.getElementType()) : std::nullopt;
    if (!dtype)
      continue;
    Tensor &tensor = state.emplace_back(*dtype, value.getType().getShape());
    char *data = static_cast<char *>(tensor.getData());
    size_t size = getElementSize(*dtype);
    auto store = [&](const APInt &bits) {
      std::memcpy(data, bits.getRawData(), size);
      data += size;
    };
    if (isa<mlir::FloatType>(value.getElementType()))
      for (const APFloat &element : value.getValues<APFloat>())
        store(element.bitcastToAPInt());
    else
      for (const APInt &element : value.getValues<APInt>())
        store(element);
  }
  return state;
}

/// "f32 [2, 3]".
static std::string describe(remat_dtype dtype, ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << getDtypeName(dtype) << " [";
  interleaveComma(shape, os);
  os << "]";
  return text;
}

Error tools::applyManifest(const Manifest &manifest, mlir::ModuleOp module,
                           StringRef function) {
  mlir::FunctionOpInterface entry = findEntry(module, function);
  if (!entry)
    return Error::success();
  // State that was in globals is behind the model's own arguments.
  size_t numState = getInitialState(entry).size();
  if (entry.getNumArguments() != manifest.arguments.size() + numState)
    return makeError(
        "the model has " + Twine(entry.getNumArguments() - numState) +
        " arguments, the manifest " + Twine(manifest.arguments.size()));
  for (auto [number, type, argument] : enumerate(
           entry.getArgumentTypes().drop_back(numState), manifest.arguments)) {
    auto tensor = dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor || tensor.getShape() != ArrayRef(argument.shape) ||
        codegen::getDtype(tensor.getElementType()) != argument.dtype) {
      std::string found;
      raw_string_ostream(found) << type;
      return makeError("argument " + Twine(number) + " ('" + argument.name +
                       "') is a " + found + ", the manifest says " +
                       describe(argument.dtype, argument.shape));
    }
    entry.setArgAttr(number, RematDialect::nameAttrName,
                     mlir::StringAttr::get(module.getContext(), argument.name));
  }
  return Error::success();
}

SmallVector<int64_t> tools::getParameters(const Manifest &manifest) {
  SmallVector<int64_t> numbers;
  for (auto [number, argument] : enumerate(manifest.arguments))
    if (argument.isParameter)
      numbers.push_back(number);
  return numbers;
}

Error tools::makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

int tools::reportError(StringRef tool, Error error) {
  int status = 0;
  handleAllErrors(std::move(error), [&](const ErrorInfoBase &info) {
    WithColor::error(errs(), tool) << info.message() << '\n';
    status = info.isA<planning::InfeasibleBudgetError>() ? 3 : 1;
  });
  return status;
}
