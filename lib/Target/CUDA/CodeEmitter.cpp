//===- CodeEmitter.cpp - the code of a step for devices -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Units are compiled on all cores, each on its own and once for each device, so
// that the code does not depend on the number of cores and may come from a
// cache.
//
//===----------------------------------------------------------------------===//

#include "CodeEmitter.h"
#include "PtxEmitter.h"
#include "Toolkit.h"

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/ModuleParts.h"
#include "remat/Runtime/DeviceCode.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/SHA256.h"

#include <cstring>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

namespace {

/// What a unit is compiled to.
struct Image {
  remat_image_kind kind;
  const Chip *chip;
};

/// One image of one unit.
struct CompiledImage {
  ObjectCode code;
  std::vector<FunctionResources> resources;
  std::string error;
};

class CodeEmitter {
public:
  CodeEmitter(ModuleOp module, const EmitOptions &options)
      : module(module), options(options),
        units(module.getOps<gpu::GPUModuleOp>()) {}
  llvm::Expected<std::string> run();

private:
  llvm::Error chooseImages();
  CompiledImage compile(size_t unit, const Image &image);
  llvm::Expected<ObjectCode> getPtx(size_t unit, const Chip &chip,
                                    bool limitsBlocks);
  llvm::Expected<ObjectCode> getCubin(size_t unit, const Chip &chip);
  llvm::Expected<ObjectCode>
  cached(ArrayRef<StringRef> key,
         llvm::function_ref<llvm::Expected<ObjectCode>()> make);
  void limitBlocks(MutableArrayRef<CompiledImage> compiled);
  void warn(size_t unit, const Image &image, const CompiledImage &compiled);
  std::string pack(ArrayRef<CompiledImage> compiled);

  ModuleOp module;
  const EmitOptions &options;
  SmallVector<gpu::GPUModuleOp> units;
  std::vector<std::string> keys;
  Toolkit toolkit;
  SmallVector<Image> images;
};

} // namespace

static constexpr Chip chips[] = {{"sm_80", 80}, {"sm_90", 90}};

static llvm::Expected<const Chip *> findChip(StringRef name) {
  for (const Chip &chip : chips)
    if (chip.name == name)
      return &chip;
  std::string known;
  for (const Chip &chip : chips)
    known += (known.empty() ? "" : ", ") + chip.name.str();
  return llvm::createStringError("unknown device '" + name +
                                 "', expected one of: " + known);
}

llvm::Expected<SmallVector<const Chip *>>
remat::cuda::findChips(StringRef name) {
  SmallVector<const Chip *> found;
  if (name.empty()) {
    for (const Chip &chip : chips)
      found.push_back(&chip);
    return found;
  }
  auto chip = findChip(name);
  if (!chip)
    return chip.takeError();
  found.push_back(*chip);
  return found;
}

/// A cubin for each device and PTX for those to come; without ptxas, PTX.
llvm::Error CodeEmitter::chooseImages() {
  auto found = Toolkit::find(options.toolkit);
  if (!found)
    return found.takeError();
  toolkit = std::move(*found);
  auto wanted = findChips(options.chip);
  if (!wanted)
    return wanted.takeError();
  bool assembles = !toolkit.ptxas.empty();
  if (!assembles && !units.empty())
    emitRemark(module.getLoc())
        << "there is no ptxas, so that the step has PTX, which the driver "
           "compiles when it is loaded; name a CUDA toolkit by --cuda-toolkit "
           "or by the environment variable CUDA_HOME";
  for (const Chip *chip : *wanted)
    images.push_back({assembles ? REMAT_IMAGE_CUBIN : REMAT_IMAGE_PTX, chip});
  if (assembles && options.chip.empty())
    images.push_back({REMAT_IMAGE_PTX, wanted->back()});
  return llvm::Error::success();
}

/// What a cache has under `key`, else what `make` makes. What compiles is a
/// part of the key: the number counts changes of ours that the code does not
/// show.
llvm::Expected<ObjectCode>
CodeEmitter::cached(ArrayRef<StringRef> key,
                    llvm::function_ref<llvm::Expected<ObjectCode>()> make) {
  if (!options.cache)
    return make();
  constexpr llvm::StringLiteral version = "4/" LLVM_VERSION_STRING;
  std::string text = llvm::join(key, "\n") + "\n" + version.str();
  return options.cache->get(
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                  /*LowerCase=*/true),
      make);
}

llvm::Expected<ObjectCode> CodeEmitter::getPtx(size_t unit, const Chip &chip,
                                               bool limitsBlocks) {
  StringRef library;
  if (!toolkit.libdevice.empty())
    library = toolkit.ptxasVersion;
  return cached(
      {limitsBlocks ? "limited ptx" : "ptx", keys[unit], chip.name, library},
      [&]() -> llvm::Expected<ObjectCode> {
        auto ptx =
            emitPtx(units[unit], chip.name, toolkit.libdevice, limitsBlocks);
        if (!ptx)
          return ptx.takeError();
        // With the NUL.
        return ObjectCode(ptx->c_str(), ptx->c_str() + ptx->size() + 1);
      });
}

/// What ptxas said of functions, in lines before the cubin.
static ObjectCode addResources(ArrayRef<FunctionResources> resources,
                               ArrayRef<char> cubin) {
  std::string text;
  for (const FunctionResources &function : resources) {
    text += function.function + " " + std::to_string(function.stackBytes) +
            " " + std::to_string(function.spillBytes);
    if (function.blockThreads)
      text += " " + std::to_string(*function.blockThreads);
    text += "\n";
  }
  text += "\n";
  ObjectCode code(text.begin(), text.end());
  llvm::append_range(code, cubin);
  return code;
}

static ObjectCode takeResources(const ObjectCode &code,
                                std::vector<FunctionResources> &resources) {
  StringRef rest(code.data(), code.size());
  for (;;) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.empty())
      return ObjectCode(rest.begin(), rest.end());
    SmallVector<StringRef> words;
    line.split(words, ' ');
    FunctionResources function{words[0].str()};
    if (words.size() >= 3) {
      words[1].getAsInteger(10, function.stackBytes);
      words[2].getAsInteger(10, function.spillBytes);
    }
    unsigned threads = 0;
    if (words.size() == 4 && !words[3].getAsInteger(10, threads))
      function.blockThreads = threads;
    resources.push_back(std::move(function));
  }
}

llvm::Expected<ObjectCode> CodeEmitter::getCubin(size_t unit,
                                                 const Chip &chip) {
  return cached({"cubin", keys[unit], chip.name, toolkit.ptxasVersion},
                [&]() -> llvm::Expected<ObjectCode> {
                  auto ptx = getPtx(unit, chip, /*limitsBlocks=*/false);
                  if (!ptx)
                    return ptx.takeError();
                  std::vector<FunctionResources> resources;
                  auto cubin = toolkit.assemble(StringRef(ptx->data()),
                                                chip.name, resources);
                  if (!cubin)
                    return cubin.takeError();
                  return addResources(resources, *cubin);
                });
}

CompiledImage CodeEmitter::compile(size_t unit, const Image &image) {
  CompiledImage compiled;
  auto code = image.kind == REMAT_IMAGE_PTX
                  ? getPtx(unit, *image.chip, toolkit.ptxas.empty())
                  : getCubin(unit, *image.chip);
  if (!code)
    compiled.error = llvm::toString(code.takeError());
  else if (image.kind == REMAT_IMAGE_PTX)
    compiled.code = std::move(*code);
  else
    compiled.code = takeResources(*code, compiled.resources);
  return compiled;
}

/// Tells the driver, which has the PTX of a device to assemble for others, of
/// the launches that ptxas had to be told of for that device. `compiled` are
/// the images of one unit.
void CodeEmitter::limitBlocks(MutableArrayRef<CompiledImage> compiled) {
  for (auto [image, ptx] : llvm::zip(images, compiled)) {
    if (image.kind != REMAT_IMAGE_PTX)
      continue;
    std::string text(ptx.code.data());
    for (auto [other, cubin] : llvm::zip(images, compiled))
      if (other.kind == REMAT_IMAGE_CUBIN && other.chip == image.chip)
        for (const FunctionResources &function : cubin.resources)
          if (function.blockThreads)
            cuda::limitBlocks(text, function.function, *function.blockThreads);
    ptx.code.assign(text.c_str(), text.c_str() + text.size() + 1);
  }
}

/// The user can do something about it: other tiles, smaller rows.
void CodeEmitter::warn(size_t unit, const Image &image,
                       const CompiledImage &compiled) {
  for (const FunctionResources &function : compiled.resources)
    if (function.spillBytes != 0 || function.stackBytes != 0)
      emitWarning(units[unit].getLoc())
          << "the launch '" << function.function << "' spills "
          << function.spillBytes << " bytes of registers and has "
          << function.stackBytes << " bytes on the stack on "
          << image.chip->name;
}

/// Header, records of images, images.
std::string CodeEmitter::pack(ArrayRef<CompiledImage> compiled) {
  auto align = [](uint64_t bytes) {
    return llvm::alignTo(bytes, uint64_t(REMAT_DEVICE_CODE_ALIGNMENT));
  };
  std::vector<remat_device_image> records;
  uint64_t recordsOffset = align(sizeof(remat_device_code));
  std::string bytes(
      align(recordsOffset + compiled.size() * sizeof(remat_device_image)),
      '\0');
  for (auto [number, image] : llvm::enumerate(compiled)) {
    const Image &kind = images[number % images.size()];
    records.push_back({uint32_t(number / images.size()), kind.kind,
                       kind.chip->capability, 0, bytes.size(),
                       image.code.size()});
    bytes.append(image.code.begin(), image.code.end());
    bytes.resize(align(bytes.size()), '\0');
  }
  remat_device_code header = {};
  header.magic = REMAT_DEVICE_CODE_MAGIC;
  header.unit_count = units.size();
  header.image_count = records.size();
  header.bytes = bytes.size();
  header.images_offset = recordsOffset;
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!records.empty())
    std::memcpy(bytes.data() + recordsOffset, records.data(),
                records.size() * sizeof(remat_device_image));
  header.checksum = remat_table_checksum(bytes.data(), bytes.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

llvm::Expected<std::string> CodeEmitter::run() {
  if (llvm::Error error = chooseImages())
    return std::move(error);
  if (failed(lowerToNVVM(module)))
    return llvm::createStringError(
        "kernels cannot be lowered for CUDA devices");
  keys.resize(units.size());
  std::vector<CompiledImage> compiled(units.size() * images.size());
  MLIRContext *context = module.getContext();
  // A unit's own name depends on the step.
  parallelFor(context, 0, units.size(), [&](size_t unit) {
    for (Operation &op : *units[unit].getBody())
      keys[unit] += hashCode(&op);
  });
  parallelFor(context, 0, compiled.size(), [&](size_t number) {
    compiled[number] =
        compile(number / images.size(), images[number % images.size()]);
  });
  for (auto [number, image] : llvm::enumerate(compiled)) {
    if (!image.error.empty())
      return llvm::createStringError(image.error);
    warn(number / images.size(), images[number % images.size()], image);
  }
  for (size_t unit = 0; unit < units.size(); ++unit)
    limitBlocks(
        MutableArrayRef(compiled).slice(unit * images.size(), images.size()));
  if (options.cache)
    if (std::string text = options.cache->takeWarning(); !text.empty())
      emitWarning(UnknownLoc::get(context)) << text;
  return pack(compiled);
}

llvm::Expected<std::string>
remat::cuda::emitDeviceCode(ModuleOp module, const EmitOptions &options) {
  return CodeEmitter(module, options).run();
}

llvm::Expected<std::string>
remat::cuda::emitAllPtx(ModuleOp module, const EmitOptions &options) {
  auto chip =
      findChip(options.chip.empty() ? StringRef("sm_90") : options.chip);
  if (!chip)
    return chip.takeError();
  auto toolkit = Toolkit::find(options.toolkit);
  if (!toolkit)
    return toolkit.takeError();
  SmallVector<gpu::GPUModuleOp> units(module.getOps<gpu::GPUModuleOp>());
  if (units.empty())
    return llvm::createStringError("expected a 'gpu.module' of launches");
  // Each has its own report of failed checks, and they are all the same.
  gpu::GPUModuleOp all = units.front();
  for (gpu::GPUModuleOp unit : llvm::drop_begin(units)) {
    for (Operation &op : llvm::make_early_inc_range(*unit.getBody()))
      if (SymbolTable::getSymbolName(&op).getValue() != failFunctionName)
        op.moveBefore(all.getBody(), all.getBody()->end());
    unit.erase();
  }
  if (failed(lowerToNVVM(module)))
    return llvm::createStringError(
        "kernels cannot be lowered for CUDA devices");
  return emitPtx(all, (*chip)->name, toolkit->libdevice, /*limitsBlocks=*/true);
}
