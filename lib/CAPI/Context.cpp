//===- Context.cpp - contexts and errors of the C API ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Pipelines/Pipelines.h"
#include "remat/Utils/Utf8.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace remat;
using namespace remat::capi;

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void capi::giveBytes(StringRef bytes, RematBytes *out) {
  char *data = static_cast<char *>(llvm::safe_malloc(bytes.size() + 1));
  std::memcpy(data, bytes.data(), bytes.size());
  data[bytes.size()] = 0;
  *out = {data, bytes.size()};
}

void capi::giveJson(llvm::json::Value value, RematBytes *out) {
  giveBytes(llvm::formatv("{0:2}", value).str() + "\n", out);
}

void rematBytesFree(RematBytes *bytes) {
  if (!bytes)
    return;
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

/// The place in a file that `loc` stands for, if it has one.
static FileLineColLoc findFile(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

static llvm::json::Object toJson(Diagnostic &diagnostic, std::string &text) {
  llvm::raw_string_ostream os(text);
  llvm::json::Object object{{"message", toUtf8(diagnostic.str())}};
  if (FileLineColLoc file = findFile(diagnostic.getLocation())) {
    object["file"] = toUtf8(file.getFilename().getValue());
    object["line"] = int64_t(file.getLine());
    object["column"] = int64_t(file.getColumn());
    os << file.getFilename().getValue() << ':' << file.getLine() << ':'
       << file.getColumn() << ": ";
  }
  os << getSeverityName(diagnostic.getSeverity()) << ": " << diagnostic.str()
     << '\n';
  return object;
}

Call::Call(ContextState &context) : context(context) {
  context.error.clear();
  context.diagnostics.clear();
  context.smallestBudget = -1;
  handler = context.mlir.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) {
        llvm::json::Object object = toJson(diagnostic, text);
        object["severity"] = getSeverityName(diagnostic.getSeverity());
        llvm::json::Array notes;
        for (Diagnostic &note : diagnostic.getNotes())
          notes.push_back(toJson(note, text));
        if (!notes.empty())
          object["notes"] = std::move(notes);
        this->context.diagnostics.push_back(std::move(object));
      });
}

Call::~Call() { context.mlir.getDiagEngine().eraseHandler(handler); }

RematStatus Call::fail(RematStatus status, const Twine &message) {
  context.error = text + message.str();
  return status;
}

RematStatus Call::fail(RematStatus status, llvm::Error error) {
  std::string message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const planning::InfeasibleBudgetError &infeasible) {
        status = REMAT_STATUS_INFEASIBLE_BUDGET;
        context.smallestBudget = infeasible.getSmallestFeasible();
        message = infeasible.message();
      },
      [&](const llvm::StringError &other) {
        if (other.convertToErrorCode() == std::errc::no_such_device)
          status = REMAT_STATUS_NO_DEVICE;
        message = other.getMessage();
      },
      [&](const llvm::ErrorInfoBase &other) { message = other.message(); });
  return fail(status, message);
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

ContextState::ContextState(const DialectRegistry &registry) : mlir(registry) {
  mlir.printOpOnDiagnostic(false);
}

RematContext rematContextCreate(void) {
  DialectRegistry registry;
  registerRematDialects(registry);
  return {new ContextRef(std::make_shared<ContextState>(registry))};
}

void rematContextDestroy(RematContext context) { delete unwrap(context); }

const char *rematContextGetError(RematContext context) {
  return context.ptr ? (*unwrap(context))->error.c_str()
                     : "the context is null";
}

RematStatus rematContextGetDiagnostics(RematContext context, RematBytes *json) {
  if (!context.ptr || !json)
    return REMAT_STATUS_INVALID_ARGUMENT;
  giveJson(llvm::json::Array((*unwrap(context))->diagnostics), json);
  return REMAT_STATUS_OK;
}

int64_t rematContextGetSmallestBudget(RematContext context) {
  return context.ptr ? (*unwrap(context))->smallestBudget : -1;
}

const char *rematStatusGetName(RematStatus status) {
  static const char *const names[] = {"REMAT_STATUS_OK",
                                      "REMAT_STATUS_INVALID_ARGUMENT",
                                      "REMAT_STATUS_INVALID_OPTION",
                                      "REMAT_STATUS_PARSE_ERROR",
                                      "REMAT_STATUS_COMPILE_ERROR",
                                      "REMAT_STATUS_INFEASIBLE_BUDGET",
                                      "REMAT_STATUS_IO_ERROR",
                                      "REMAT_STATUS_NO_DEVICE"};
  size_t number = static_cast<size_t>(status);
  return number < std::size(names) ? names[number] : "unknown status";
}
