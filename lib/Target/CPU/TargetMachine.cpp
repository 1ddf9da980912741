//===- TargetMachine.cpp - the CPU that code is for -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/TargetMachine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <map>

using namespace remat;
using namespace remat::cpu;

static bool isHost(llvm::StringRef chip) {
  return chip.empty() || chip == "native";
}

/// What this machine has and lacks. Sorted, so that equal hosts give equal code
/// and equal messages.
static std::map<std::string, bool> getHostFeatures() {
  std::map<std::string, bool> features;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    features[feature.first().str()] = feature.second;
  return features;
}

/// LLVM ends the process at an x86 CPU that is not one of 64 bits.
static llvm::Error checkName(const llvm::Triple &triple, llvm::StringRef cpu) {
  if (!triple.isX86())
    return llvm::Error::success();
  llvm::SmallVector<llvm::StringRef> known;
  llvm::X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  if (llvm::is_contained(known, cpu))
    return llvm::Error::success();
  return llvm::createStringError("unknown CPU '" + cpu +
                                 "', expected 'native' or one of " +
                                 llvm::join(known, ", "));
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
remat::cpu::createTargetMachine(llvm::StringRef chip) {
  // Once: parts are compiled on several threads.
  static bool isRegistered = !llvm::InitializeNativeTarget() &&
                             !llvm::InitializeNativeTargetAsmPrinter();
  if (!isRegistered)
    return llvm::createStringError("no code generation for this machine");
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return llvm::createStringError("no code generation for '" + triple.str() +
                                   "': " + message);
  std::string cpu = chip.str(), features;
  if (isHost(chip)) {
    cpu = llvm::sys::getHostCPUName().str();
    for (auto &[name, isOn] : getHostFeatures())
      features +=
          (features.empty() ? "" : ",") + std::string(isOn ? "+" : "-") + name;
  } else if (llvm::Error error = checkName(triple, cpu)) {
    return std::move(error);
  }
  llvm::TargetOptions options;
  // Results must not depend on which operations share a kernel.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive, /*JIT=*/false));
  if (!machine)
    return llvm::createStringError("no target machine for '" + triple.str() +
                                   "'");
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu))
    return llvm::createStringError("unknown CPU '" + cpu + "'");
  return machine;
}

std::vector<std::string>
remat::cpu::getFeatures(const llvm::TargetMachine &machine) {
  std::vector<std::string> features;
  for (auto &[name, isOn] : getHostFeatures())
    if (machine.getMCSubtargetInfo()->checkFeatures("+" + name))
      features.push_back(name);
  return features;
}

bool remat::cpu::hasX86Feature(const llvm::TargetMachine &machine,
                               llvm::StringRef feature) {
  return machine.getTargetTriple().isX86() &&
         machine.getMCSubtargetInfo()->checkFeatures(("+" + feature).str());
}

/// Whether code has such instructions only where a program asks for them by
/// name, which kernels do not. Virtual machines often hide them.
static bool isSystemFeature(llvm::StringRef feature) {
  static const llvm::StringSet<> names{
      "cldemote", "clflushopt", "clwb",   "clzero",    "enqcmd",    "fsgsbase",
      "hreset",   "invpcid",    "kl",     "lwp",       "movdir64b", "movdiri",
      "mwaitx",   "pconfig",    "pku",    "prefetchi", "ptwrite",   "rdpid",
      "rdpru",    "rdrnd",      "rdseed", "rtm",       "serialize", "sgx",
      "shstk",    "tsxldtrk",   "uintr",  "usermsr",   "waitpkg",   "wbnoinvd",
      "widekl",   "xsave",      "xsavec", "xsaveopt",  "xsaves"};
  return names.contains(feature);
}

std::vector<std::string>
remat::cpu::getCodeFeatures(const llvm::TargetMachine &machine) {
  std::vector<std::string> features = getFeatures(machine);
  llvm::erase_if(features, isSystemFeature);
  return features;
}

llvm::Error remat::cpu::checkRunsHere(llvm::StringRef chip) {
  auto machine = createTargetMachine(chip);
  if (!machine)
    return machine.takeError();
  if (isHost(chip))
    return llvm::Error::success();
  std::vector<std::string> missing = getCodeFeatures(**machine);
  std::map<std::string, bool> here = getHostFeatures();
  llvm::erase_if(missing, [&](const std::string &name) { return here[name]; });
  if (missing.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "CPU '" + chip.str() + "' has instructions that this machine lacks: " +
      llvm::join(missing, ", ") + "; name a CPU without them, or none");
}
