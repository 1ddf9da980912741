//===- FakeIttFunctions.cpp - a profiler that exports functions -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library that INTEL_LIBITTNOTIFY64 may name: as old ones do, it has the
// functions of ITT by their names. What they do is in FakeProfiler.cpp.
//
//===----------------------------------------------------------------------===//

struct FakeDomain;
struct FakeId {
  unsigned long long parts[3];
};

extern "C" {
FakeDomain *fakeIttDomain(const char *name);
const char *fakeIttHandle(const char *name);
void fakeIttBegin(const FakeDomain *domain, FakeId, FakeId, const char *name);
void fakeIttEnd(const FakeDomain *domain);

FakeDomain *__itt_domain_create(const char *name) {
  return fakeIttDomain(name);
}
const char *__itt_string_handle_create(const char *name) {
  return fakeIttHandle(name);
}
void __itt_task_begin(const FakeDomain *domain, FakeId task, FakeId parent,
                      const char *name) {
  fakeIttBegin(domain, task, parent, name);
}
void __itt_task_end(const FakeDomain *domain) { fakeIttEnd(domain); }
}
