//===- PageFiles.cpp - the files that pages are made of -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageFiles.h"

#include "PageFiles.inc"

using namespace llvm;

template <size_t size>
static StringRef asText(const unsigned char (&bytes)[size]) {
  return StringRef(reinterpret_cast<const char *>(bytes), size);
}

const StringRef remat::page::frame = asText(page_html);
const StringRef remat::page::style = asText(page_css);
const StringRef remat::page::library = asText(d3_v7_min_js);
const StringRef remat::page::license = asText(LICENSE);

/// What others use comes first.
static const StringRef scriptFiles[] = {
    asText(format_js),  asText(plan_js),    asText(state_js),
    asText(memory_js),  asText(picture_js), asText(addresses_js),
    asText(details_js), asText(live_js),    asText(frontier_js),
    asText(compare_js), asText(search_js),  asText(keyboard_js),
    asText(main_js),
};
const ArrayRef<StringRef> remat::page::scripts = scriptFiles;
