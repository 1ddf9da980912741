//===- Table.h - how the table of options is made ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows are in files by what they are about, each with the syntaxes that it
// needs, in the order of the table.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_OPTIONS_TABLE_H
#define REMAT_LIB_PIPELINES_OPTIONS_TABLE_H

#include "remat/Pipelines/StepOptions.h"

namespace remat::options {

/// Collects the rows.
struct TableBuilder {
  template <typename Member, typename Syntax>
  StepOptionInfo &add(llvm::StringLiteral name, unsigned stages, Member member,
                      Syntax syntax, llvm::StringLiteral help) {
    return add(makeOption<StepOptions>(name, member, syntax, help), stages);
  }
  StepOptionInfo &add(OptionInfo<StepOptions> option, unsigned stages) {
    StepOptionInfo &row = rows.emplace_back();
    static_cast<OptionInfo<StepOptions> &>(row) = std::move(option);
    row.stages = stages;
    return row;
  }
  std::vector<StepOptionInfo> rows;
};

/// One of the names of `Choice`, which says what it is one of, and how they are
/// described.
template <typename Choice>
struct NameSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  llvm::StringRef describe() const { return Choice::description; }
  template <typename Value>
  llvm::Error parse(llvm::StringRef text, Value &chosen) const {
    llvm::SmallVector<llvm::StringRef> known;
    for (auto [name, value] : Choice::names) {
      if (name == text) {
        chosen = value;
        return llvm::Error::success();
      }
      known.push_back(name);
    }
    return makeUnknownNameError(Choice::what, text, known);
  }
  template <typename Value>
  std::string print(Value chosen) const {
    for (auto [name, value] : Choice::names)
      if (value == chosen)
        return name.str();
    llvm_unreachable("a value without a name");
  }
};

/// How a model is read.
void addImportOptions(TableBuilder &table);
/// What is differentiated, and what is done with gradients and batches.
void addJointOptions(TableBuilder &table);
/// What tasks are made of it.
void addTaskOptions(TableBuilder &table);
/// What becomes code, and for which machine.
void addCodeOptions(TableBuilder &table);

} // namespace remat::options

#define MEMBER(NAME) [](StepOptions &step) -> auto & { return step.NAME; }

#endif // REMAT_LIB_PIPELINES_OPTIONS_TABLE_H
