// Numbers and parts of the page, for readers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const byteUnits = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

function formatBytes(bytes) {
  for (const [size, unit] of byteUnits)
    if (Math.abs(bytes) >= size) return `${(bytes / size).toFixed(2)} ${unit}`;
  return `${bytes} B`;
}

/// A unit for an axis, by what is largest on it.
function chooseByteUnit(largest) {
  return byteUnits.find(([size]) => largest >= 2 * size) ?? [1, "bytes"];
}

const timeUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];

function formatTime(nanoseconds) {
  for (const [size, unit] of timeUnits)
    if (Math.abs(nanoseconds) >= size) return `${(nanoseconds / size).toPrecision(4)} ${unit}`;
  return `${nanoseconds} ns`;
}

function chooseTimeUnit(largest) {
  return timeUnits.find(([size]) => largest >= 2 * size) ?? [1, "ns"];
}

function formatPercent(share) {
  const percent = 100 * share;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
}

const formatCount = d3.format(",");

function byId(id) {
  return document.getElementById(id);
}

/// An element with text or other elements in it. Text is never read as HTML.
function make(tag, attributes, ...contents) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...contents.filter((content) => content !== undefined && content !== ""));
  return element;
}

function makeSwatch(role) {
  return make("span", {class: `swatch ${role}`, style: `background: var(--${role})`, "aria-hidden": "true"});
}

/// What a table of two columns says, but for what is empty.
function makeList(rows) {
  const list = make("dl");
  for (const [name, ...contents] of rows) {
    const known = contents.flat().filter((content) => content !== undefined && content !== "");
    if (known.length > 0) list.append(make("dt", {}, name), make("dd", {}, ...known));
  }
  return list;
}

/// A box beside the pointer.
function showTip(event, title, lines) {
  const tip = byId("tip");
  tip.replaceChildren(make("b", {}, title), ...lines.filter(Boolean).map((line) => make("div", {}, line)));
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(4, event.clientY + 18 + height > innerHeight ? event.clientY - height - 10
                                                                           : event.clientY + 18)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
