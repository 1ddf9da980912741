//===- FakeCudnn.cpp - convolutions on the stand-in for libcuda -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stand-in for libcudnn with the few functions of its graph interface that
// remat uses, for one convolution of f32 or f64 with two or three spatial dims.
// It has five algorithms, in this order: one that gives other bits in each run,
// one that multiplies f32 on tensor cores, one with a workspace, one without,
// and another on tensor cores. They overwrite all of their workspace: the first
// on tensor cores has the input and the output in it if they are not channels-
// last, and of the last one, as of those of the library in which blocks share
// sums, more is wanted on a device than without. A plan's text is the
// description.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

namespace {

enum : int {
  badParameter = 2000,
  notSupported = 3000,
  archMismatch = 3007,
  failed = 5000
};

/// Numbers of the interface: kinds of descriptors and some attributes.
enum : int {
  convolutionKind = 1,
  engineKind = 2,
  configKind = 3,
  heuristicsKind = 4,
  planKind = 5,
  forwardKind = 10,
  filterGradientKind = 11,
  inputGradientKind = 12,
  graphKind = 15,
  packKind = 16,
  tensorKind = 17,
  deviceKind = 38
};
enum : int { descriptorType = 15 };

/// Algorithms.
enum : int { changing, tensorCores, roomy, small, lateTensorCores };

using Numbers = std::vector<int64_t>;

/// All that an execution needs.
struct Problem {
  int kind = 0, device = 0, algorithm = 0;
  int64_t type = 0, workspaceBytes = 0;
  Numbers stride, dilation, pre, post;
  /// Of input, filter and output.
  Numbers numbers, dims[3], strides[3];
};

struct Descriptor {
  int kind;
  bool isFinal = false;
  /// Bytes as they were given; descriptors are addresses.
  std::map<int, std::string> attributes;
  /// Of heuristics and all that follows.
  Problem problem;
};

size_t elementBytes(int attributeType) {
  switch (attributeType) {
  case 24: // char
    return 1;
  case 1: // data type
  case 4: // float
  case 7: // modes
  case 8:
    return 4;
  default:
    return 8;
  }
}

Numbers numbersOf(const Descriptor &d, int attribute) {
  auto found = d.attributes.find(attribute);
  if (found == d.attributes.end())
    return {};
  Numbers numbers(found->second.size() / 8);
  if (!numbers.empty())
    std::memcpy(numbers.data(), found->second.data(), numbers.size() * 8);
  return numbers;
}

int64_t numberOf(const Descriptor &d, int attribute) {
  auto found = d.attributes.find(attribute);
  int64_t number = 0;
  if (found != d.attributes.end())
    std::memcpy(&number, found->second.data(),
                found->second.size() < 8 ? 4 : 8);
  return number;
}

/// The finalized descriptor that an attribute refers to, or null.
const Descriptor *partOf(const Descriptor &d, int attribute, int kind) {
  auto found = d.attributes.find(attribute);
  if (found == d.attributes.end() || found->second.size() != sizeof(void *))
    return nullptr;
  const Descriptor *part = nullptr;
  std::memcpy(&part, found->second.data(), sizeof(part));
  return part && part->isFinal && (kind == 0 || part->kind == kind) ? part
                                                                    : nullptr;
}

/// The words of a plan.
std::string print(const Problem &p) {
  std::ostringstream text;
  auto list = [&](const Numbers &numbers) {
    text << ' ' << numbers.size();
    for (int64_t number : numbers)
      text << ' ' << number;
  };
  text << "fake " << p.kind << ' ' << p.device << ' ' << p.algorithm << ' '
       << p.type << ' ' << p.workspaceBytes;
  for (const Numbers *numbers :
       {&p.stride, &p.dilation, &p.pre, &p.post, &p.numbers})
    list(*numbers);
  for (int i = 0; i < 3; ++i) {
    list(p.dims[i]);
    list(p.strides[i]);
  }
  if (p.algorithm == lateTensorCores)
    text
        << " {\"CUDNN_KNOB_TYPE_TILE_SIZE\":5,\"CUDNN_KNOB_TYPE_WORKSPACE\":0}";
  return text.str();
}

bool parse(const std::string &words, Problem &p) {
  std::istringstream text(words);
  std::string fake;
  auto list = [&](Numbers &numbers) {
    size_t count = 0;
    text >> count;
    numbers.assign(count < 8 ? count : 0, 0);
    for (int64_t &number : numbers)
      text >> number;
  };
  text >> fake >> p.kind >> p.device >> p.algorithm >> p.type >>
      p.workspaceBytes;
  for (Numbers *numbers : {&p.stride, &p.dilation, &p.pre, &p.post, &p.numbers})
    list(*numbers);
  for (int i = 0; i < 3; ++i) {
    list(p.dims[i]);
    list(p.strides[i]);
  }
  return fake == "fake" && text && p.dims[2].size() == p.stride.size() + 2;
}

/// Attributes of an operation: convolution, input, filter, output.
const int *attributesOf(int kind) {
  static const int forward[] = {702, 704, 703, 705};
  static const int inputGradient[] = {708, 710, 709, 711};
  static const int filterGradient[] = {714, 716, 715, 717};
  return kind == forwardKind         ? forward
         : kind == inputGradientKind ? inputGradient
                                     : filterGradient;
}

/// Reads an operation; 0, or why the library would refuse it.
int readOperation(Descriptor &d) {
  const int *names = attributesOf(d.kind);
  const Descriptor *conv = partOf(d, names[0], convolutionKind);
  if (!conv)
    return badParameter;
  Problem &p = d.problem;
  p.kind = d.kind;
  p.dilation = numbersOf(*conv, 102);
  p.stride = numbersOf(*conv, 103);
  p.post = numbersOf(*conv, 104);
  p.pre = numbersOf(*conv, 105);
  p.type = numberOf(*conv, 100);
  size_t rank = static_cast<size_t>(numberOf(*conv, 106));
  if (rank != 2 && rank != 3)
    return notSupported;
  for (const Numbers *numbers : {&p.dilation, &p.stride, &p.post, &p.pre})
    if (numbers->size() != rank)
      return badParameter;
  for (int i = 0; i < 3; ++i) {
    const Descriptor *tensor = partOf(d, names[i + 1], tensorKind);
    if (!tensor || numberOf(*tensor, 901) != p.type)
      return tensor ? notSupported : badParameter;
    p.numbers.push_back(numberOf(*tensor, 906));
    p.dims[i] = numbersOf(*tensor, 902);
    p.strides[i] = numbersOf(*tensor, 903);
    if (p.dims[i].size() != rank + 2 || p.strides[i].size() != rank + 2)
      return badParameter;
  }
  if (p.dims[0][0] != p.dims[2][0] || p.dims[2][1] != p.dims[1][0] ||
      p.dims[0][1] % p.dims[1][1] != 0)
    return badParameter;
  for (size_t i = 0; i < rank; ++i) {
    int64_t room = p.dims[0][i + 2] + p.pre[i] + p.post[i] -
                   p.dilation[i] * (p.dims[1][i + 2] - 1) - 1;
    if (p.pre[i] < 0 || p.post[i] < 0 || room < 0 ||
        room / p.stride[i] + 1 != p.dims[2][i + 2])
      return badParameter;
  }
  return 0;
}

extern "C" int cuDeviceGetAttribute(int *value, int attribute, int device);

int finalizePlan(Descriptor &d) {
  auto text = d.attributes.find(405);
  if (text == d.attributes.end()) {
    const Descriptor *config = partOf(d, 401, configKind);
    const Descriptor *device = partOf(d, 407, deviceKind);
    if (!config || !device || device->problem.device != config->problem.device)
      return badParameter;
    d.problem = config->problem;
    d.attributes[405] = print(d.problem) + '\0';
    return 0;
  }
  const Descriptor *device = partOf(d, 407, deviceKind);
  int major = 0, minor = 0;
  if (!parse(text->second.c_str(), d.problem))
    return badParameter;
  if (device) {
    // One of them needs more than the one that the plan was made for.
    if (device->attributes.at(2702).find("H200") != std::string::npos &&
        d.problem.workspaceBytes > 0)
      d.problem.workspaceBytes += 8;
    return device->problem.device == d.problem.device ? 0 : archMismatch;
  }
  if (!d.attributes.count(400))
    return badParameter;
  if (cuDeviceGetAttribute(&major, 75, 0) ||
      cuDeviceGetAttribute(&minor, 76, 0))
    return failed;
  if (d.problem.algorithm == lateTensorCores)
    d.problem.workspaceBytes += 132 * 64 * 64 * 4 + 604;
  return d.problem.device == major * 100 + minor * 10 ? 0 : archMismatch;
}

int finalize(Descriptor &d) {
  switch (d.kind) {
  case deviceKind: {
    const std::string &text = d.attributes[2702];
    size_t place = text.find("\"deviceVer\":");
    if (place == std::string::npos)
      return badParameter;
    d.problem.device = std::atoi(text.c_str() + place + 12);
    return 0;
  }
  case forwardKind:
  case inputGradientKind:
  case filterGradientKind:
    return readOperation(d);
  case graphKind: {
    const Descriptor *operation = partOf(d, 801, 0);
    if (!operation)
      return badParameter;
    d.problem = operation->problem;
    return 0;
  }
  case heuristicsKind: {
    const Descriptor *graph = partOf(d, 201, graphKind);
    const Descriptor *device = partOf(d, 204, deviceKind);
    if (!graph || !device)
      return badParameter;
    d.problem = graph->problem;
    d.problem.device = device->problem.device;
    return 0;
  }
  case planKind:
    return finalizePlan(d);
  default:
    return 0;
  }
}

int64_t countElements(const Numbers &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

/// The algorithms that a mode of heuristics finds.
std::vector<int> algorithmsOf(const Descriptor &heuristics) {
  constexpr int best = 3;
  if (numberOf(heuristics, 200) == best)
    return {changing, tensorCores, roomy};
  return {small, lateTensorCores};
}

/// The bytes of the input and the output that have no channels side by side.
int64_t countCopiedBytes(const Problem &p) {
  int64_t elements = 0;
  for (int i : {0, 2})
    if (p.dims[i][1] > 1 && p.strides[i][1] != 1)
      elements += countElements(p.dims[i]);
  return elements * 4;
}

int readResults(const Descriptor &d, int64_t most, int64_t *count,
                Descriptor **results) {
  std::vector<int> algorithms = algorithmsOf(d);
  *count = static_cast<int64_t>(algorithms.size());
  for (int64_t i = 0; results && i < most && i < *count; ++i) {
    Problem problem = d.problem;
    problem.algorithm = algorithms[static_cast<size_t>(i)];
    if (problem.algorithm == roomy)
      problem.workspaceBytes = 1000 + countElements(problem.dims[2]) * 4;
    if (problem.algorithm == tensorCores)
      problem.workspaceBytes = countCopiedBytes(problem);
    if (problem.algorithm == lateTensorCores)
      problem.workspaceBytes = 64;
    results[i]->problem = problem;
    results[i]->isFinal = true;
  }
  return 0;
}

int readNotes(const Descriptor &d, int64_t most, int64_t *count, int *notes) {
  enum : int { tensorCore = 0, downConvertsInputs = 1, nondeterministic = 4 };
  std::vector<int> found;
  if (d.problem.algorithm == changing)
    found = {nondeterministic};
  if (d.problem.algorithm == tensorCores ||
      d.problem.algorithm == lateTensorCores)
    found = {tensorCore, downConvertsInputs};
  *count = static_cast<int64_t>(found.size());
  for (int64_t i = 0; i < most && i < *count; ++i)
    notes[i] = found[static_cast<size_t>(i)];
  return 0;
}

/// Calls `visit` with places in input, filter and output for all products.
template <typename Visit>
void visitProducts(const Problem &p, Visit visit) {
  size_t rank = p.stride.size();
  int64_t groupInputs = p.dims[1][1];
  int64_t groupOutputs = p.dims[1][0] / (p.dims[0][1] / groupInputs);
  int64_t windows = countElements(p.dims[2]);
  int64_t taps = countElements(p.dims[1]) / p.dims[1][0];
  for (int64_t window = 0; window < windows; ++window)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t outer = window, inner = tap;
      int64_t in = 0, filter = 0, out = 0;
      bool isInside = true;
      for (size_t i = rank; i-- > 0;) {
        int64_t y = outer % p.dims[2][i + 2], r = inner % p.dims[1][i + 2];
        outer /= p.dims[2][i + 2];
        inner /= p.dims[1][i + 2];
        int64_t x = y * p.stride[i] + r * p.dilation[i] - p.pre[i];
        isInside &= x >= 0 && x < p.dims[0][i + 2];
        in += x * p.strides[0][i + 2];
        filter += r * p.strides[1][i + 2];
        out += y * p.strides[2][i + 2];
      }
      int64_t channel = outer % p.dims[2][1], n = outer / p.dims[2][1];
      int64_t from = channel / groupOutputs * groupInputs + inner;
      in += n * p.strides[0][0] + from * p.strides[0][1];
      filter += channel * p.strides[1][0] + inner * p.strides[1][1];
      out += n * p.strides[2][0] + channel * p.strides[2][1];
      visit(isInside, in, filter, out);
    }
}

template <typename T>
void compute(const Problem &p, T *input, T *filter, T *output) {
  auto clear = [](T *data, const Numbers &dims, const Numbers &strides) {
    for (int64_t i = 0, count = countElements(dims); i < count; ++i) {
      int64_t rest = i, place = 0;
      for (size_t dim = dims.size(); dim-- > 0;) {
        place += rest % dims[dim] * strides[dim];
        rest /= dims[dim];
      }
      data[place] = 0;
    }
  };
  switch (p.kind) {
  case forwardKind:
    clear(output, p.dims[2], p.strides[2]);
    return visitProducts(
        p, [=](bool isInside, int64_t in, int64_t tap, int64_t out) {
          if (isInside)
            output[out] += input[in] * filter[tap];
        });
  case inputGradientKind:
    clear(input, p.dims[0], p.strides[0]);
    return visitProducts(
        p, [=](bool isInside, int64_t in, int64_t tap, int64_t out) {
          if (isInside)
            input[in] += output[out] * filter[tap];
        });
  default:
    clear(filter, p.dims[1], p.strides[1]);
    return visitProducts(
        p, [=](bool isInside, int64_t in, int64_t tap, int64_t out) {
          if (isInside)
            filter[tap] += input[in] * output[out];
        });
  }
}

/// What a test set, else the environment variable, for tests of programs.
size_t version = 0;
int failure = 0;
std::string lastPlan;

struct Handle {
  void *stream = nullptr;
};

} // namespace

void fakecuda::setCudnnVersion(size_t number) { version = number; }
void fakecuda::failCudnn(int status) { failure = status; }
std::string fakecuda::getCudnnPlan() { return lastPlan; }

extern "C" {

size_t cudnnGetVersion() {
  const char *given = std::getenv("FAKE_CUDNN_VERSION");
  return version ? version : given ? std::strtoul(given, nullptr, 10) : 91900;
}
const char *cudnnGetErrorString(int status) {
  switch (status) {
  case badParameter:
    return "CUDNN_STATUS_BAD_PARAM";
  case notSupported:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case archMismatch:
    return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH";
  default:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}
int cudnnCreate(void **handle) {
  *handle = new Handle();
  return 0;
}
int cudnnDestroy(void *handle) {
  delete static_cast<Handle *>(handle);
  return 0;
}
int cudnnSetStream(void *handle, void *stream) {
  static_cast<Handle *>(handle)->stream = stream;
  return 0;
}
int cudnnBackendCreateDescriptor(int kind, void **descriptor) {
  *descriptor = new Descriptor{kind, false, {}, {}};
  return 0;
}
int cudnnBackendDestroyDescriptor(void *descriptor) {
  delete static_cast<Descriptor *>(descriptor);
  return 0;
}
int cudnnBackendSetAttribute(void *descriptor, int attribute, int type,
                             int64_t count, const void *elements) {
  auto *d = static_cast<Descriptor *>(descriptor);
  if (d->isFinal || count < 1)
    return badParameter;
  d->attributes[attribute].assign(static_cast<const char *>(elements),
                                  static_cast<size_t>(count) *
                                      elementBytes(type));
  return 0;
}
int cudnnBackendGetAttribute(void *descriptor, int attribute, int type,
                             int64_t most, int64_t *count, void *elements) {
  auto *d = static_cast<Descriptor *>(descriptor);
  if (d->kind == engineKind)
    return readNotes(*d, most, count, static_cast<int *>(elements));
  if (!d->isFinal)
    return badParameter;
  if (d->kind == heuristicsKind)
    return readResults(*d, most, count, static_cast<Descriptor **>(elements));
  if (d->kind == configKind && type == descriptorType) {
    *count = 1;
    (*static_cast<Descriptor **>(elements))->problem = d->problem;
    return 0;
  }
  if (d->kind == planKind && attribute == 402) {
    *count = 1;
    std::memcpy(elements, &d->problem.workspaceBytes, 8);
    return 0;
  }
  if (d->kind != planKind || attribute != 405)
    return notSupported;
  const std::string &text = d->attributes[405];
  *count = static_cast<int64_t>(text.size());
  if (elements && most >= *count)
    std::memcpy(elements, text.data(), text.size());
  return 0;
}
int cudnnBackendFinalize(void *descriptor) {
  auto *d = static_cast<Descriptor *>(descriptor);
  int status = d->isFinal ? int(badParameter) : finalize(*d);
  d->isFinal = status == 0;
  return status;
}
int cudnnBackendExecute(void *handle, void *plan, void *pack) {
  const Descriptor &given = *static_cast<Descriptor *>(pack);
  const Problem problem = static_cast<Descriptor *>(plan)->problem;
  if (int status = failure) {
    failure = 0;
    return status;
  }
  Numbers numbers = numbersOf(given, 1000), pointers = numbersOf(given, 1001);
  void *tensors[3] = {};
  for (size_t i = 0; i < numbers.size() && i < pointers.size(); ++i)
    for (size_t j = 0; j < 3; ++j)
      if (numbers[i] == problem.numbers[j])
        tensors[j] = reinterpret_cast<void *>(pointers[i]);
  void *workspace = reinterpret_cast<void *>(numberOf(given, 1003));
  for (void *tensor : tensors)
    if (!tensor || reinterpret_cast<uintptr_t>(tensor) % 16 != 0)
      return badParameter;
  if (problem.workspaceBytes > 0 && !workspace)
    return badParameter;
  lastPlan = print(problem);
  std::vector<const void *> memory(tensors, tensors + 3);
  if (workspace)
    memory.push_back(static_cast<char *>(workspace) + problem.workspaceBytes -
                     1);
  void *input = tensors[0], *filter = tensors[1], *output = tensors[2];
  fakecuda::enqueue(static_cast<Handle *>(handle)->stream, memory, [=] {
    if (problem.workspaceBytes > 0)
      std::memset(workspace, 0xff, static_cast<size_t>(problem.workspaceBytes));
    if (problem.type == 0)
      compute(problem, static_cast<float *>(input),
              static_cast<float *>(filter), static_cast<float *>(output));
    else
      compute(problem, static_cast<double *>(input),
              static_cast<double *>(filter), static_cast<double *>(output));
  });
  return 0;
}

} // extern "C"
