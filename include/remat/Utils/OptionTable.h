//===- OptionTable.h - the options of a struct, said once -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A struct of options has one table with a row for each option: its name, the
// member that holds it, how its values are written and which are allowed, and
// what it is for. Command line flags, the options of passes and pipelines, and
// keys of a string map are all made of the rows. They accept the same values
// and refuse the others with the same words.
//
// A row is made by `makeOption` of a member and a syntax. A syntax is a class
// for one type of value:
//
//   struct Syntax {
//     /// What a value is called where its form is shown, such as "bytes".
//     llvm::StringRef describe() const;
//     /// Takes the text of a value. The error says what was expected.
//     llvm::Error parse(llvm::StringRef text, T &value) const;
//     /// The text that parses to the value.
//     std::string print(const T &value) const;
//   };
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_OPTIONTABLE_H
#define REMAT_UTILS_OPTIONTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace remat {

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// How an option is written.
enum class OptionKind {
  /// True or false; true if it is named without a value.
  Flag,
  /// One value.
  Value,
  /// Values with commas between them.
  List
};

/// A value that an option can have, where there are only a few.
struct OptionChoice {
  std::string name, summary;
};

/// What is known of an option, whatever the struct.
struct OptionDescription {
  /// In lower case, with dashes.
  llvm::StringRef name;
  OptionKind kind = OptionKind::Value;
  /// How a value is written, such as "bytes|N%|min".
  llvm::StringRef value;
  /// What the option is for: no period at the end.
  llvm::StringRef help;
  /// All values with their meanings, asked for anew each time since programs
  /// can add some. Null if a list would make no sense.
  std::function<std::vector<OptionChoice>()> choices;
};

/// An option of the struct `Options`.
template <typename Options>
struct OptionInfo : OptionDescription {
  /// Sets the member to what `text` says. The error says what was expected, not
  /// of which option; the member is unchanged then.
  std::function<llvm::Error(Options &, llvm::StringRef text)> set;
  /// The text of the member's value. It does not change when it is set.
  std::function<std::string(const Options &)> get;
};

/// What the option is for, and its default if this says anything.
template <typename Options>
std::string describeWithDefault(const OptionInfo<Options> &info) {
  std::string initial = info.get(Options());
  if (initial.empty() || initial == "false")
    return info.help.str();
  return info.help.str() + " (default: " + initial + ")";
}

template <typename Options>
using OptionTable = llvm::ArrayRef<OptionInfo<Options>>;

/// A row for the member that `member` returns a reference to.
template <typename Options, typename Member, typename Syntax>
OptionInfo<Options> makeOption(llvm::StringLiteral name, Member member,
                               Syntax syntax, llvm::StringLiteral help) {
  OptionInfo<Options> info;
  info.name = name;
  info.kind = Syntax::kind;
  info.value = syntax.describe();
  info.help = help;
  info.set = [=](Options &options, llvm::StringRef text) -> llvm::Error {
    auto value = member(options);
    if (llvm::Error error = syntax.parse(text, value))
      return error;
    member(options) = std::move(value);
    return llvm::Error::success();
  };
  info.get = [=](const Options &options) {
    return syntax.print(member(const_cast<Options &>(options)));
  };
  return info;
}

/// The row for the same option of a struct that has an `Inner` as a member.
template <typename Outer, typename Inner, typename Member>
OptionInfo<Outer> liftOption(const OptionInfo<Inner> &inner, Member member) {
  OptionInfo<Outer> info;
  static_cast<OptionDescription &>(info) = inner;
  info.set = [=, set = inner.set](Outer &options, llvm::StringRef text) {
    return set(member(options), text);
  };
  info.get = [=, get = inner.get](const Outer &options) {
    return get(member(const_cast<Outer &>(options)));
  };
  return info;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// "unknown WHAT 'NAME'", followed by the known names and, where one of them is
/// nearly the same, the question whether it was meant.
llvm::Error makeUnknownNameError(llvm::StringRef what, llvm::StringRef name,
                                 llvm::ArrayRef<llvm::StringRef> known);

/// "expected EXPECTED, got 'TEXT'".
llvm::Error makeExpectedError(const llvm::Twine &expected,
                              llvm::StringRef text);

/// The error with "PREFIX: " before its message.
llvm::Error prefixError(const llvm::Twine &prefix, llvm::Error error);

//===----------------------------------------------------------------------===//
// Syntaxes
//===----------------------------------------------------------------------===//

/// The shortest text that gives the same number.
std::string printNumber(double value);

/// true or false. No text is true.
struct FlagSyntax {
  static constexpr OptionKind kind = OptionKind::Flag;
  llvm::StringRef describe() const { return "true|false"; }
  llvm::Error parse(llvm::StringRef text, bool &value) const;
  std::string print(bool value) const { return value ? "true" : "false"; }
};

/// Any text.
struct TextSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  llvm::StringLiteral value;
  llvm::StringRef describe() const { return value; }
  llvm::Error parse(llvm::StringRef text, std::string &result) const {
    result = text.str();
    return llvm::Error::success();
  }
  std::string print(const std::string &text) const { return text; }
};

/// An integer from `least` on.
template <typename T>
struct IntegerSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  T least = std::numeric_limits<T>::min();
  llvm::StringRef describe() const { return "N"; }
  llvm::Error parse(llvm::StringRef text, T &value) const {
    T parsed;
    if (!text.trim().getAsInteger(10, parsed) && parsed >= least) {
      value = parsed;
      return llvm::Error::success();
    }
    if (std::is_signed_v<T> && least == std::numeric_limits<T>::min())
      return makeExpectedError("an integer", text);
    return makeExpectedError(
        "an integer, " + std::to_string(least) + " or more", text);
  }
  std::string print(T value) const { return std::to_string(value); }
};

/// A number from 0 on.
struct AmountSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  llvm::StringLiteral unit;
  llvm::StringRef describe() const { return unit; }
  llvm::Error parse(llvm::StringRef text, double &value) const;
  std::string print(double value) const { return printNumber(value); }
};

/// Integers from 0 on.
struct IndexListSyntax {
  static constexpr OptionKind kind = OptionKind::List;
  llvm::StringRef describe() const { return "N,..."; }
  llvm::Error parse(llvm::StringRef text,
                    llvm::SmallVectorImpl<int64_t> &value) const;
  std::string print(llvm::ArrayRef<int64_t> value) const;
};

} // namespace remat

#endif // REMAT_UTILS_OPTIONTABLE_H
