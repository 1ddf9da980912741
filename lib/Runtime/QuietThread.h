//===- QuietThread.h - threads without signals ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals of a process go to any of its threads that does not block them. They
// are for the threads of the program, which may not expect that others end a
// call early, so threads of the run time have none.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_QUIETTHREAD_H
#define REMAT_LIB_RUNTIME_QUIETTHREAD_H

#include <csignal>
#include <pthread.h>
#include <string>
#include <system_error>
#include <thread>

namespace remat {

/// While there is one, what this thread starts gets no signals.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

/// Starts a thread for copies that runs `function`. Debuggers and profilers
/// show `name`, which has at most 15 characters. If there can be no thread,
/// returns false with a `message`.
template <typename Function>
bool startCopies(std::thread &thread, const char *name, Function &&function,
                 std::string &message) {
  SignalsBlocked blocked;
  try {
    thread = std::thread(std::forward<Function>(function));
  } catch (const std::system_error &error) {
    message = std::string("cannot make a thread for copies: ") + error.what();
    return false;
  }
  pthread_setname_np(thread.native_handle(), name);
  return true;
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_QUIETTHREAD_H
