//===- SequentialOptionTable.cpp - how to cut a chain, as text ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/CheckpointSequential.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace remat;

namespace {
struct LinksSyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  static constexpr StringLiteral names[] = {"auto", "call", "op", "tag"};
  StringRef describe() const { return "auto|call|op|tag|tag:NAME"; }
  Error parse(StringRef text, SequentialLinks &value) const {
    auto [kind, name] = text.split(':');
    const auto *found = find(names, kind);
    bool hasName = text.contains(':');
    if (found == std::end(names) ||
        (hasName && (kind != "tag" || name.empty())))
      return makeExpectedError("'auto', 'call', 'op', 'tag' or 'tag:NAME'",
                               text);
    value.kind = SequentialLinks::Kind(found - std::begin(names));
    value.name = name.str();
    return Error::success();
  }
  std::string print(const SequentialLinks &value) const {
    std::string text = names[value.kind].str();
    return value.name.empty() ? text : text + ":" + value.name;
  }
};

struct PolicySyntax {
  static constexpr OptionKind kind = OptionKind::Value;
  StringRef describe() const { return "policy"; }
  Error parse(StringRef text, std::optional<Policy> &value) const {
    std::optional<Policy> parsed = symbolizePolicy(text);
    if (!parsed && !text.empty()) {
      SmallVector<StringRef> known;
      for (uint32_t number = 0; number <= getMaxEnumValForPolicy(); ++number)
        if (std::optional<Policy> policy = symbolizePolicy(number))
          known.push_back(stringifyPolicy(*policy));
      return makeUnknownNameError("policy", text, known);
    }
    value = parsed;
    return Error::success();
  }
  std::string print(const std::optional<Policy> &value) const {
    return value ? stringifyPolicy(*value).str() : "";
  }
};
} // namespace

#define MEMBER(NAME)                                                           \
  [](SequentialOptions &options) -> auto & { return options.NAME; }
#define NAME(TEXT)                                                             \
  inStep ? StringLiteral("checkpoint-" TEXT) : StringLiteral(TEXT)

static std::vector<OptionInfo<SequentialOptions>> makeTable(bool inStep) {
  std::vector<OptionInfo<SequentialOptions>> table;
  auto add = [&](StringLiteral name, auto member, auto syntax,
                 StringLiteral help) {
    table.push_back(makeOption<SequentialOptions>(name, member, syntax, help));
  };
  if (!inStep)
    add("function", MEMBER(function), TextSyntax{"name"},
        "Function to cut; with 'main', a module's only function will do");
  add(NAME("segments"), MEMBER(segments), IntegerSyntax<int64_t>{0},
      "Cut the function into that many segments and put all but the last into "
      "a remat.checkpoint each; 0 cuts nothing");
  add(NAME("links"), MEMBER(links), LinksSyntax(),
      "What segments are counted in: calls, operations, or values that have a "
      "name; auto: calls, and operations where there are none");
  add(NAME("early-stop"), MEMBER(earlyStop), FlagSyntax(),
      "End the recomputation of a segment when all that is needed of it "
      "exists");
  add(NAME("preserve-rng-state"), MEMBER(preserveRngState), FlagSyntax(),
      "Draw the same random numbers when a segment is recomputed");
  add(NAME("policy"), MEMBER(policy), PolicySyntax(),
      "What is asked of the values in segments, in place of must_recompute");
  add(NAME("name"), MEMBER(name), TextSyntax{"name"},
      "Name of all values in segments, for region-budget");
  return table;
}

#undef NAME
#undef MEMBER

OptionTable<SequentialOptions> remat::getSequentialOptionTable() {
  static const auto table = makeTable(/*inStep=*/false);
  return table;
}

OptionTable<SequentialOptions> remat::getSequentialStepOptionTable() {
  static const auto table = makeTable(/*inStep=*/true);
  return table;
}

Error remat::checkSequentialOptions(const SequentialOptions &options) {
  if (options.segments > 0)
    return Error::success();
  for (const auto &row : getSequentialStepOptionTable())
    if (row.get(options) != row.get(SequentialOptions()))
      return createStringError("'" + row.name +
                               "' has no effect without 'checkpoint-segments'");
  return Error::success();
}
