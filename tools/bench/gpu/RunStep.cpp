//===- RunStep.cpp - runs a step that was compiled ahead of time ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program for machines on which nothing of the compiler is: it loads a step
// from a shared library, runs it on arguments from files, and prints what the
// run time says as one line of JSON.
//
//   remat-run-step STEP.so ARGUMENTS RESULTS [--runs=N] [--poison] [--bitwise]
//       [--profile] [--on-device]
//
// ARGUMENTS has arg0.bin, ...; RESULTS gets result0.bin, ...; elements as in
// memory. With --on-device, the step is given tensors in memory of the device,
// which is not copied from and to the host in each run. Exit status 1 if the
// step cannot be loaded or run.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"

#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Tensors {
  std::vector<remat_tensor_info> infos;
  std::vector<std::vector<char>> data;
  std::vector<remat_tensor> tensors;
};

int fail(const std::string &message) {
  std::fprintf(stderr, "remat-run-step: error: %s\n", message.c_str());
  return 1;
}

void add(Tensors &list, const remat_tensor_info &info) {
  list.infos.push_back(info);
  list.data.emplace_back(std::max<uint64_t>(info.bytes, 1));
}

void finish(Tensors &list) {
  for (size_t i = 0; i < list.infos.size(); ++i)
    list.tensors.push_back({list.data[i].data(), list.infos[i].dtype,
                            list.infos[i].rank, list.infos[i].dims});
}

std::string getPath(const std::string &directory, const char *kind, size_t i) {
  return directory + "/" + kind + std::to_string(i) + ".bin";
}

struct Run {
  remat_step *step = nullptr;
  Tensors arguments, results;

  ~Run() { remat_step_free(step); }
  bool describe();
  bool read(const std::string &directory, std::string &error);
  /// Moves the tensors to the device, and copies results back.
  bool moveToDevice(DeviceMemory &memory, std::string &error);
  bool copyBack(DeviceMemory &memory, std::string &error);
  bool write(const std::string &directory, std::string &error);
};

} // namespace

bool Run::describe() {
  for (size_t i = 0; i < remat_step_argument_count(step); ++i) {
    remat_tensor_info info;
    if (remat_step_argument(step, i, &info) != REMAT_OK)
      return false;
    add(arguments, info);
  }
  for (size_t i = 0; i < remat_step_result_count(step); ++i) {
    remat_tensor_info info;
    if (remat_step_result(step, i, &info) != REMAT_OK)
      return false;
    add(results, info);
  }
  finish(arguments);
  finish(results);
  for (size_t i = 0; i < results.infos.size(); ++i)
    if (results.infos[i].donation != REMAT_NONE)
      results.tensors[i].data =
          arguments.tensors[results.infos[i].donation].data;
  return true;
}

bool Run::read(const std::string &directory, std::string &error) {
  for (size_t i = 0; i < arguments.infos.size(); ++i) {
    std::string path = getPath(directory, "arg", i);
    std::ifstream file(path, std::ios::binary);
    file.read(arguments.data[i].data(),
              static_cast<std::streamsize>(arguments.infos[i].bytes));
    if (file)
      continue;
    error = path + " does not have the " +
            std::to_string(arguments.infos[i].bytes) + " bytes of argument '" +
            arguments.infos[i].name + "'";
    return false;
  }
  return true;
}

bool Run::moveToDevice(DeviceMemory &memory, std::string &error) {
  for (Tensors *list : {&arguments, &results})
    for (size_t i = 0; i < list->infos.size(); ++i) {
      const remat_tensor_info &info = list->infos[i];
      if (list == &results && info.donation != REMAT_NONE) {
        list->tensors[i].data = arguments.tensors[info.donation].data;
        continue;
      }
      void *place = memory.allocate(info.bytes, error);
      if (!place ||
          !memory.copy(place, list->data[i].data(), info.bytes, error))
        return false;
      list->tensors[i].data = place;
    }
  return true;
}

bool Run::copyBack(DeviceMemory &memory, std::string &error) {
  for (size_t i = 0; i < results.infos.size(); ++i) {
    char *place = results.data[i].data();
    if (!memory.copy(place, results.tensors[i].data, results.infos[i].bytes,
                     error))
      return false;
    results.tensors[i].data = place;
  }
  return true;
}

bool Run::write(const std::string &directory, std::string &error) {
  for (size_t i = 0; i < results.infos.size(); ++i) {
    std::string path = getPath(directory, "result", i);
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char *>(results.tensors[i].data),
               static_cast<std::streamsize>(results.infos[i].bytes));
    if (!file.flush()) {
      error = path + " cannot be written";
      return false;
    }
  }
  return true;
}

static void print(const Run &run, const std::vector<double> &milliseconds,
                  double loading) {
  remat_step_stats stats;
  remat_step_get_stats(run.step, &stats);
  std::printf("{\"load_ms\": %.3f, \"run_ms\": [", loading);
  for (size_t i = 0; i < milliseconds.size(); ++i)
    std::printf("%s%.4f", i == 0 ? "" : ", ", milliseconds[i]);
  std::printf("], \"measured_peak_bytes\": %llu, \"touched_bytes\": %llu, "
              "\"arena_bytes\": %llu, \"host_peak_bytes\": %llu, "
              "\"offloaded_bytes\": %llu, \"device_bytes\": %llu, "
              "\"executed_entries\": %llu, \"recomputed_entries\": %llu, "
              "\"degraded_calls\": %llu",
              static_cast<unsigned long long>(stats.measured_peak_bytes),
              static_cast<unsigned long long>(stats.touched_bytes),
              static_cast<unsigned long long>(stats.arena_bytes),
              static_cast<unsigned long long>(stats.host_peak_bytes),
              static_cast<unsigned long long>(stats.offloaded_bytes),
              static_cast<unsigned long long>(stats.device_bytes),
              static_cast<unsigned long long>(stats.executed_entries),
              static_cast<unsigned long long>(stats.recomputed_entries),
              static_cast<unsigned long long>(stats.degraded_calls));
  if (const int64_t *times = remat_step_entry_times(run.step)) {
    std::printf(", \"entries\": [");
    for (size_t i = 0; i < remat_step_entry_count(run.step); ++i) {
      remat_entry_info info;
      if (remat_step_entry(run.step, i, &info) == REMAT_OK)
        std::printf("%s[\"%s\", %lld]", i == 0 ? "" : ", ", info.name,
                    static_cast<long long>(times[i]));
    }
    std::printf("]");
  }
  std::printf("}\n");
}

static double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch())
      .count();
}

int main(int argc, char **argv) {
  std::vector<std::string> paths;
  remat_step_options options = {};
  int runs = 1;
  bool isOnDevice = false;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (text.rfind("--runs=", 0) == 0)
      runs = std::atoi(text.c_str() + 7);
    else if (text == "--poison")
      options.flags |= REMAT_STEP_POISON;
    else if (text == "--profile")
      options.flags |= REMAT_STEP_PROFILE;
    else if (text == "--bitwise")
      options.determinism_check = REMAT_CHECK_BITWISE;
    else if (text == "--on-device")
      isOnDevice = true;
    else if (text.rfind("--", 0) == 0)
      return fail("unknown option '" + text + "'");
    else
      paths.push_back(text);
  }
  if (paths.size() != 3 || runs < 1)
    return fail("expected STEP.so ARGUMENTS RESULTS and at least one run");
  std::string library =
      paths[0].find('/') == std::string::npos ? "./" + paths[0] : paths[0];
  void *code = dlopen(library.c_str(), RTLD_NOW);
  if (!code)
    return fail(dlerror());
  auto *module = static_cast<const remat_module *>(dlsym(code, "step"));
  if (!module)
    return fail("'" + library + "' has no step");
  Run run;
  std::string error;
  DeviceMemory memory;
  if (isOnDevice && !memory.open(error))
    return fail(error);
  double begin = now();
  remat_status status = remat_step_load(module, &options, &run.step);
  if (status != REMAT_OK)
    return fail(std::string(remat_status_name(status)) + ": " +
                remat_last_error());
  double loading = now() - begin;
  if (!run.describe() || !run.read(paths[1], error) ||
      (isOnDevice && !run.moveToDevice(memory, error)))
    return fail(error);
  std::vector<double> milliseconds;
  for (int i = 0; i < runs; ++i) {
    begin = now();
    status = remat_step_run(
        run.step, run.arguments.tensors.data(), run.arguments.tensors.size(),
        run.results.tensors.data(), run.results.tensors.size());
    milliseconds.push_back(now() - begin);
    if (status != REMAT_OK)
      return fail(std::string(remat_status_name(status)) + ": " +
                  remat_step_error(run.step));
  }
  if ((isOnDevice && !run.copyBack(memory, error)) ||
      !run.write(paths[2], error))
    return fail(error);
  print(run, milliseconds, loading);
  return 0;
}
