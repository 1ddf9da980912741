//===- CodeOptions.cpp - what becomes code, and for what ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace remat;
using namespace remat::options;

namespace {

/// The name of a variable in C99 and C++17 that is none of a library's.
struct IdentifierSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "identifier"; }
  Error parse(StringRef text, std::string &value) const;
  std::string print(const std::string &value) const { return value; }
};

/// ieee or tf32.
struct MatmulPrecisionSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "ieee|tf32"; }
  Error parse(StringRef text, bool &allowsTf32) const {
    if (text != "ieee" && text != "tf32")
      return makeUnknownNameError("precision", text, {"ieee", "tf32"});
    allowsTf32 = text == "tf32";
    return Error::success();
  }
  std::string print(bool allowsTf32) const {
    return allowsTf32 ? "tf32" : "ieee";
  }
};

/// twice or once.
struct BiasRoundingSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "twice|once"; }
  Error parse(StringRef text, bool &roundsOnlySums) const {
    if (text != "twice" && text != "once")
      return makeUnknownNameError("rounding", text, {"twice", "once"});
    roundsOnlySums = text == "once";
    return Error::success();
  }
  std::string print(bool roundsOnlySums) const {
    return roundsOnlySums ? "once" : "twice";
  }
};

/// program or factors.
struct AttentionRoundingSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "program|factors"; }
  Error parse(StringRef text, bool &roundsFactors) const {
    if (text != "program" && text != "factors")
      return makeUnknownNameError("rounding", text, {"program", "factors"});
    roundsFactors = text == "factors";
    return Error::success();
  }
  std::string print(bool roundsFactors) const {
    return roundsFactors ? "factors" : "program";
  }
};

struct RepeatKeepingNames {
  static constexpr StringLiteral what = "keeping",
                                 description = "never|always|auto";
  static constexpr std::array<std::pair<StringLiteral, RepeatKeeping>, 3>
      names = {{{"never", RepeatKeeping::Never},
                {"always", RepeatKeeping::Always},
                {"auto", RepeatKeeping::Auto}}};
};

} // namespace

static bool isKeyword(StringRef name) {
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
  return keywords.contains((" " + name + " ").str());
}

/// Whether the C library or the header of a step has something of this name, or
/// may have it: kernels call functions of the library, and would find the
/// module there.
static bool isOfLibrary(StringRef name) {
  static const TargetLibraryInfoImpl library{Triple("x86_64-linux-gnu")};
  LibFunc function;
  bool isReserved = name.starts_with("__") ||
                    (name.size() > 1 && name[0] == '_' && isUpper(name[1]));
  bool isOfHeader = name == "NULL" || name == "offsetof" ||
                    name.starts_with("REMAT_") || name.ends_with("_t");
  return isReserved || isOfHeader || name == "main" ||
         library.getLibFunc(name, function);
}

Error IdentifierSyntax::parse(StringRef text, std::string &value) const {
  bool isIdentifier =
      !text.empty() && !isDigit(text[0]) &&
      all_of(text, [](char c) { return isAlnum(c) || c == '_'; }) &&
      !isKeyword(text);
  if (!isIdentifier)
    return createStringError("'" + text + "' is no C identifier");
  if (text.starts_with("remat_"))
    return createStringError("'" + text +
                             "' is no name for a module, names that start with "
                             "'remat_' are the runtime's");
  if (isOfLibrary(text))
    return createStringError("'" + text +
                             "' is no name for a module, the C library or a "
                             "header has or may have it; give another");
  value = text.str();
  return Error::success();
}

void options::addCodeOptions(TableBuilder &table) {
  table.add("name", CodeStage, MEMBER(name), IdentifierSyntax(),
            "Symbol of the remat_module, a C identifier");
  table
      .add(
          "matmul-precision", TasksStage | CodeStage, MEMBER(allowsTf32),
          MatmulPrecisionSyntax(),
          "How products of f32 are multiplied on a CUDA device: 'ieee' as f32, "
          "'tf32' with 10 bits of mantissa where tensor cores can")
      .choices = [] {
    return std::vector<OptionChoice>{{"ieee", "as f32"},
                                     {"tf32", "with 10 bits of mantissa"}};
  };
  table
      .add("bias-rounding", TasksStage, MEMBER(roundsOnlySums),
           BiasRoundingSyntax(),
           "How often a product of f16 or bf16, or on a CPU a convolution, to "
           "which a program adds a bias is rounded: 'twice', before and behind "
           "the bias, as the program says, or 'once', as PyTorch does")
      .choices = [] {
    return std::vector<OptionChoice>{{"twice", "as the program says"},
                                     {"once", "only the sum"}};
  };
  table
      .add("attention-rounding", JointStage | TasksStage, MEMBER(roundsFactors),
           AttentionRoundingSyntax(),
           "What attention of f16 and bf16 rounds of what a program has in "
           "f32: 'program', nothing that the program does not, or 'factors', "
           "as PyTorch's kernels do: on a CUDA device scores and their "
           "gradients before they are multiplied with 16 bits, and results "
           "before the gradient reads them")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"program", "only what the program rounds"},
        {"factors", "scores, their gradients, and results"}};
  };
  table
      .add("keep-repeated", TasksStage, MEMBER(keepRepeated),
           NameSyntax<RepeatKeepingNames>(),
           "Keep what is cheap to make again, but not without a kernel of its "
           "own, until the plan says that this runs again")
      .choices = [] {
    return std::vector<OptionChoice>{
        {"never", "it is made again before any budget asks for it"},
        {"always", "it is kept, as all values are, where the budget allows"},
        {"auto",
         "with a budget, both are planned, and the better one is taken; "
         "without one, it is made again"}};
  };
  table.add("mcpu", JointStage | TasksStage | ObjectStage, MEMBER(chip),
            TextSyntax{"name"},
            "CPU to make code for, all of whose instructions the machine that "
            "runs it must have, the host's if empty; of the target 'cuda' the "
            "only device to make code for, all if empty");
  table.add(
      "device", TasksStage | ObjectStage, MEMBER(device), TextSyntax{"name"},
      "What runs a step that is loaded here: of the target 'cuda', 'cuda' "
      "is the GPU that the driver has, and 'sim' and 'sim-reverse' run "
      "the code on this machine, threads of a block in either order; "
      "what the target is made for if empty");
  table.add("kernel-cache", ObjectStage, MEMBER(kernelCache), TextSyntax{"dir"},
            "Keep compiled kernels here, and take them from here");
  table.add("cuda-toolkit", ObjectStage, MEMBER(cudaToolkit), TextSyntax{"dir"},
            "CUDA toolkit to assemble the code of the target 'cuda' with; if "
            "empty, the one in CUDA_HOME or in its usual place");
}
