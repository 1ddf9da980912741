//===- Simulated.cpp - kernels of the stand-in that compute ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests in other languages: functions in C. A step that was compiled for
// the simulator has the kernels of the same step for a device as functions of
// this machine. Here they become those of the stand-in, so that a step runs
// through the driver as on a device and gives numbers that mean something.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Runtime/StepTable.h"

using namespace fakecuda;

namespace {

/// A step table, which its compiler made, so that nothing is checked.
class Blob {
public:
  explicit Blob(const void *data)
      : data(static_cast<const char *>(data)),
        header(*static_cast<const remat_step_header *>(data)) {}

  template <typename T>
  const T *get(const remat_section &section) const {
    return reinterpret_cast<const T *>(data + section.offset);
  }
  Blob getBody(uint32_t number) const {
    const auto &section = get<remat_section>(header.bodies)[number];
    return Blob(get<char>(header.body_bytes) + section.offset);
  }

  const char *data;
  const remat_step_header &header;
};

} // namespace

/// Defines the kernel of an entry: its first launch does everything.
static void defineKernel(const Blob &device, const remat_entry &entry,
                         const remat_entry &simulated, remat_kernel_fn run) {
  const auto &kernel =
      device.get<remat_device_kernel>(device.header.kernels)[entry.callee];
  size_t count = entry.operand_count + entry.result_count;
  size_t parameters = count + kernel.scratch_count + 1;
  uint64_t scratch =
      kernel.scratch_count == 0
          ? 0
          : device.get<uint64_t>(device.header.scratch)[kernel.first_scratch];
  auto runAll = [=,
                 extent = simulated.extent](const std::vector<void *> &values) {
    std::vector<void *> buffers(values.begin(), values.begin() + count);
    // The workspace is behind them.
    buffers.push_back(parameters > count + 1
                          ? static_cast<char *>(values[count]) - scratch
                          : nullptr);
    run(buffers.data(), 0, extent,
        static_cast<remat_kernel_status *>(values.back()));
  };
  for (uint32_t i = 0; i < kernel.launch_count; ++i) {
    const auto &launch = device.get<remat_launch>(
        device.header.launches)[kernel.first_launch + i];
    std::string name =
        device.get<char>(device.header.strings) + launch.function;
    get().replace(
        name, parameters,
        i == 0 ? Kernel(runAll) : [](const std::vector<void *> &) {});
  }
}

static bool defineKernels(const Blob &device, const Blob &simulated,
                          const remat_kernel_fn *kernels) {
  if (device.header.entries.count != simulated.header.entries.count)
    return false;
  const auto *entries = device.get<remat_entry>(device.header.entries);
  const auto *others = simulated.get<remat_entry>(simulated.header.entries);
  for (uint64_t i = 0; i < device.header.entries.count; ++i) {
    if (entries[i].kind != others[i].kind)
      return false;
    if (entries[i].kind == REMAT_ENTRY_KERNEL)
      defineKernel(device, entries[i], others[i], kernels[others[i].callee]);
  }
  uint64_t bodies = device.header.bodies.count;
  if (bodies != simulated.header.bodies.count)
    return false;
  for (uint32_t i = 0; i < bodies; ++i)
    if (!defineKernels(device.getBody(i), simulated.getBody(i), kernels))
      return false;
  return true;
}

extern "C" {

/// Gives the stand-in the kernels of a step for a device, until another one has
/// kernels of the same names. Both modules are of one placed graph, and live as
/// long as its steps. 0 if they are not alike, or the first is for the CPU.
int fakecuda_simulate(const remat_module *device,
                      const remat_module *simulated) {
  return device->device_code &&
         defineKernels(Blob(device->blob), Blob(simulated->blob),
                       simulated->kernels);
}

void fakecuda_set_devices(int count, int major, int minor) {
  setDevices(count, major, minor);
}

void fakecuda_fail(const char *function, int result, int call) {
  fail(function, result, call);
}

void fakecuda_ignore_waits(int ignores) { ignoreWaits(ignores != 0); }

size_t fakecuda_count_calls(const char *function) {
  return countCalls(function);
}

size_t fakecuda_used_bytes() { return get().used; }

/// What was wrong since it was asked last, one on each line.
const char *fakecuda_take_complaints() {
  static std::string text;
  text.clear();
  for (const std::string &complaint : get().complaints)
    text += complaint + "\n";
  get().complaints.clear();
  return text.c_str();
}

void *fakecuda_allocate(size_t bytes, int device) {
  return allocate(bytes, device);
}
void fakecuda_release(void *memory) { release(memory); }

} // extern "C"
