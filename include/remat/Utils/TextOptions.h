//===- TextOptions.h - tables as options of passes and pipelines *- C++ -* ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of an option table as options of a pass or of a pipeline. MLIR keeps
// their text; the table parses it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_TEXTOPTIONS_H
#define REMAT_UTILS_TEXTOPTIONS_H

#include "remat/Utils/OptionTable.h"

#include "mlir/Pass/PassOptions.h"

#include <deque>
#include <memory>

namespace remat {

/// What MLIR's parser of the options in `text` says in `message`, with the list
/// of options added if it met an unknown one. It says nothing of an option
/// without its value.
std::string explainOptions(llvm::StringRef message, llvm::StringRef text,
                           llvm::ArrayRef<llvm::StringRef> known);

/// LLVM's parser of text, except that flags are shown without a value.
class TextParser : public llvm::cl::parser<std::string> {
public:
  using parser::parser;

  llvm::StringRef getValueName() const override {
    return isFlag ? "" : parser::getValueName();
  }
  bool isFlag = false;
};

/// The rows of a table as options of LLVM's parser, which hold what was given
/// as text until it is applied.
template <typename Options>
class TextOptions {
public:
  using Text = mlir::detail::PassOptions::Option<std::string, TextParser>;

  /// Adds an option for `row` to `parent`. `T` is what options of a parent of
  /// this kind are made as: `mlir::Pass::Option` for a pass. The row must
  /// outlive this.
  template <typename T = Text, typename Parent>
  void add(Parent &parent, const OptionInfo<Options> &row) {
    bool isFlag = row.kind == OptionKind::Flag;
    rows.push_back(&row);
    names.push_back(row.name);
    const std::string &description =
        descriptions.emplace_back(describeWithDefault(row));
    texts.push_back(std::make_unique<T>(
        parent, row.name, llvm::cl::desc(description),
        llvm::cl::value_desc(row.value), llvm::cl::init(row.get(Options())),
        isFlag ? llvm::cl::ValueOptional : llvm::cl::ValueRequired));
    texts.back()->getParser().isFlag = isFlag;
  }

  /// Sets what was given. An error names the option.
  llvm::Error apply(Options &options) const {
    for (auto [row, text] : llvm::zip_equal(rows, texts))
      if (text->hasValue())
        if (llvm::Error error = row->set(options, text->getValue()))
          return prefixError(row->name, std::move(error));
    return llvm::Error::success();
  }

  /// Makes the texts those of `options`.
  void assign(const Options &options) {
    for (auto [row, text] : llvm::zip_equal(rows, texts))
      *text = row->get(options);
  }

  /// The names of the options, in the order in which they were added.
  llvm::ArrayRef<llvm::StringRef> getNames() const { return names; }

private:
  std::vector<const OptionInfo<Options> *> rows;
  std::vector<std::unique_ptr<Text>> texts;
  std::vector<llvm::StringRef> names;
  /// LLVM's options keep no copy of their descriptions.
  std::deque<std::string> descriptions;
};

} // namespace remat

#endif // REMAT_UTILS_TEXTOPTIONS_H
