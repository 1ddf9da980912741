//===- DeviceCode.h - the code of a device in a step --------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remat_module::device_code points to: a header, the records of images,
// and the images. The code of a step is in units, one for each kernel; each has
// several images, of which a device takes the one that suits it best: a cubin,
// machine code for devices of one major compute capability, or PTX, which the
// driver compiles for any device that is not older. Offsets count from the
// header.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_DEVICECODE_H
#define REMAT_RUNTIME_DEVICECODE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// First eight bytes ("rematgpu", little endian).
#define REMAT_DEVICE_CODE_MAGIC UINT64_C(0x75706774616d6572)
/// Images begin at multiples of this many bytes.
#define REMAT_DEVICE_CODE_ALIGNMENT 64
/// Kernels and libraries rely on tensors and arenas of a device to begin at
/// multiples of this many bytes.
#define REMAT_DEVICE_ALIGNMENT 256

/// The header.
typedef struct remat_device_code {
  uint64_t magic;
  uint32_t unit_count;
  uint32_t image_count;
  /// Of everything, header included, and its remat_table_checksum: it is where
  /// a step table has it.
  uint64_t bytes;
  uint64_t checksum;
  /// The images of a unit follow each other.
  uint64_t images_offset; // remat_device_image
} remat_device_code;

/// What the bytes of an image are.
typedef enum remat_image_kind {
  REMAT_IMAGE_CUBIN = 0,
  /// Ends with a NUL.
  REMAT_IMAGE_PTX = 1
} remat_image_kind;

/// The code of one unit for devices of one kind.
typedef struct remat_device_image {
  uint32_t unit;
  int32_t kind; // remat_image_kind
  /// The compute capability that it was made for: 90 is 9.0.
  uint32_t capability;
  uint32_t reserved;
  uint64_t offset;
  uint64_t bytes;
} remat_device_image;

#ifdef __cplusplus
}
#endif

#endif // REMAT_RUNTIME_DEVICECODE_H
