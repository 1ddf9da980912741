//===- Ranges.h - names of entries in a profiler's timeline -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profiler that starts a program names a library in its environment. Without
// one, nothing is loaded and nothing called.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_RANGES_H
#define REMAT_LIB_RUNTIME_RANGES_H

#include "Table.h"

namespace remat {

/// The names of a step's entries in profilers: what an entry does, the sequence
/// number that ties a backward entry to its forward entry ("seq = 7"), and
/// which copy of its task it is.
class Ranges {
public:
  Ranges() = default;
  /// Names the entries if there is a profiler.
  explicit Ranges(const Table &table);

  /// Whether a profiler is attached. Recorded runs would hide entries from it.
  bool areShown() const { return !names.empty(); }

  /// What the thread does, and asks of a device, while this object lives is
  /// done for the entry.
  class Scope {
  public:
    Scope(const Ranges &ranges, uint32_t entry) : isOpen(ranges.areShown()) {
      if (isOpen)
        begin(ranges.names[entry]);
    }
    ~Scope() {
      if (isOpen)
        end();
    }
    Scope(const Scope &) = delete;

  private:
    friend class Ranges;
    struct Name {
      std::string text;
      /// The profiler's own for ITT; null without.
      void *handle = nullptr;
    };
    static void begin(const Name &name);
    static void end();

    bool isOpen;
  };

private:
  /// Of each entry, or empty.
  std::vector<Scope::Name> names;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_RANGES_H
