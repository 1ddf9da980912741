//===- ReportFlag.cpp - a page that shows a step --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/ReportFlag.h"

#include "common/Driver.h"

#include "remat/Pipelines/StepPage.h"

#include "llvm/Support/Path.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

ReportFlag::ReportFlag(cl::OptionCategory &category)
    : file("report", cl::cat(category), cl::value_desc("file"),
           cl::desc("Write a page in HTML, which needs no network: memory over "
                    "the step before\nand after planning, each value with what "
                    "was decided and why, and plans for\nother budgets")) {}

Error ReportFlag::refuse(StringRef why) const {
  return isGiven() ? makeError("'--report' has no effect: " + why)
                   : Error::success();
}

Error ReportFlag::addTo(OutputFiles &files, ArrayRef<PlannedStep> plans,
                        StringRef title) const {
  if (!isGiven())
    return Error::success();
  return files.add(file, [&](raw_ostream &os) { writePage(plans, title, os); });
}

StringRef ReportFlag::getTitle(StringRef inputFile) {
  return inputFile == "-" ? "model" : sys::path::stem(inputFile);
}
