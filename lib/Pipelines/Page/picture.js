// The picture of memory as a file of its own, which has its colours inside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

function makePicture() {
  const svg = byId("memory").querySelector("svg").cloneNode(true);
  svg.querySelector(".cursors").remove();
  const look = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets[0].cssRules].map((rule) => rule.cssText).filter((text) => text.startsWith(".chart"));
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = rules.join("\n").replace(/var\((--[a-z]+)\)/g, (_, name) => look.getPropertyValue(name).trim());
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [["width", "100%"], ["height", "100%"], ["rx", "10"], ["fill", look.getPropertyValue("--panel").trim()]])
    back.setAttribute(name, value);
  svg.prepend(style, back);
  return new XMLSerializer().serializeToString(svg) + "\n";
}

function savePicture() {
  const link = make("a", {download: "memory.svg"});
  link.href = URL.createObjectURL(new Blob([makePicture()], {type: "image/svg+xml"}));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
