// Which value is at which address when: rectangles on a canvas, so that 100,000
// of them are no trouble, and what changes with the pointer in front of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const mapMargin = {left: 62, right: 18, top: 8, bottom: 44};

class AddressMap {
  /// `list` gives the buffers of a plan that are in the space of this map.
  constructor(element, height, label, list) {
    Object.assign(this, {element, height, list});
    this.canvas = make("canvas");
    this.svg = d3.create("svg").attr("class", "chart");
    this.lines = this.svg.append("g");
    this.front = this.svg.append("g");
    element.replaceChildren(this.canvas, this.svg.node());
    element.tabIndex = 0;
    element.classList.add("focusable");
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", label);
    element.addEventListener("pointermove", (event) => this.hover(event));
    element.addEventListener("pointerleave", hideTip);
    element.addEventListener("dblclick", (event) => {
      const [body] = state.a.bodiesOf(this.find(event).entry);
      if (!body) return;
      event.stopImmediatePropagation();
      hideTip();
      enter(body);
    });
    addZoom(element, () => this.x);
    element.addEventListener("click", (event) => {
      const {entry, buffer} = this.find(event);
      setCursor(entry);
      select(buffer ?? null);
    });
    on("plan zoom matches look", () => this.draw());
    on("cursor selection plan zoom look", () => this.drawFront());
  }

  setScales() {
    const plan = state.a;
    this.buffers = this.list(plan);
    const {left, right, top, bottom} = mapMargin;
    this.width = Math.max(220, this.element.clientWidth);
    const {bytes} = plan.buffers;
    this.end = d3.max(this.buffers, (buffer) => plan.place[buffer] + bytes[buffer]) || 1;
    this.x = d3.scaleLinear(getDomain(), [left, this.width - right]);
    this.y = d3.scaleLinear([0, this.end], [this.height - bottom, top]);
  }

  draw() {
    if (this.element.closest("[hidden]")) return;
    this.setScales();
    const {width, height} = this;
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, {width: width * ratio, height: height * ratio});
    Object.assign(this.canvas.style, {width: `${width}px`, height: `${height}px`});
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const {left, right, top, bottom} = mapMargin;
    context.beginPath();
    context.rect(left, top, width - left - right, height - top - bottom);
    context.clip();
    this.drawBuffers(context);
    this.drawLines();
    this.drawFront();
  }

  /// Rectangles of one colour after the other.
  drawBuffers(context) {
    const plan = state.a;
    const look = getComputedStyle(document.documentElement);
    const {bytes, birth, death} = plan.buffers;
    const edges = plan.edges[state.axis];
    const [begin, end] = getDomain();
    const hatch = this.makeHatch(context, look.getPropertyValue("--hatch"));
    const panel = look.getPropertyValue("--panel");
    const labels = [];
    for (const [index, role] of arenaRoles.entries()) {
      const colour = look.getPropertyValue(`--${role}`);
      for (const buffer of this.buffers) {
        if (plan.roleIndex[buffer] !== index) continue;
        if (edges[death[buffer] + 1] < begin || edges[birth[buffer]] > end) continue;
        const x = this.x(Math.max(edges[birth[buffer]], begin));
        const right = this.x(Math.min(edges[death[buffer] + 1], end));
        const y = this.y(plan.place[buffer] + bytes[buffer]);
        const box = [x, y, Math.max(right - x, 0.6), Math.max(this.y(plan.place[buffer]) - y, 0.6)];
        context.globalAlpha = state.matches && !state.matches.has(buffer) ? 0.15 : 1;
        context.fillStyle = colour;
        context.fillRect(...box);
        if (role === "recomputed" && box[2] > 2 && box[3] > 2) {
          context.fillStyle = hatch;
          context.fillRect(...box);
        }
        if (box[2] > 3 && box[3] > 3) {
          context.strokeStyle = panel;
          context.lineWidth = 0.7;
          context.strokeRect(...box);
        }
        if (box[2] > 46 && box[3] > 13) labels.push({buffer, box});
      }
    }
    context.globalAlpha = 1;
    this.drawLabels(context, labels);
  }

  drawLabels(context, labels) {
    const plan = state.a;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    for (const {buffer, box: [x, y, width, height]} of labels) {
      if (state.matches && !state.matches.has(buffer)) continue;
      const name = plan.label(buffer);
      let text = context.measureText(name).width < width - 8 ? name
                                                             : plan.text("entries", "kind", plan.buffers.birth[buffer]);
      if (context.measureText(text).width >= width - 8) continue;
      context.fillStyle = "#ffffff";
      context.strokeStyle = "rgba(0, 0, 0, 0.55)";
      context.lineWidth = 2.5;
      context.lineJoin = "round";
      context.strokeText(text, x + 4, y + height / 2);
      context.fillText(text, x + 4, y + height / 2);
    }
  }

  makeHatch(context, colour) {
    const tile = make("canvas", {width: 6, height: 6});
    const lines = tile.getContext("2d");
    lines.strokeStyle = colour;
    lines.lineWidth = 1.6;
    for (const shift of [-6, 0, 6]) {
      lines.moveTo(shift, 6);
      lines.lineTo(shift + 6, 0);
    }
    lines.stroke();
    return context.createPattern(tile, "repeat");
  }

  drawLines() {
    const {width, height} = this;
    this.svg.attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
    this.lines.selectAll("*").remove();
    const [size, unit] = chooseByteUnit(this.end);
    const inUnits = d3.scaleLinear([0, this.end / size], this.y.range());
    this.lines.append("g").attr("class", "axis").attr("transform", `translate(${mapMargin.left},0)`)
      .call(d3.axisLeft(inUnits).ticks(6).tickSizeOuter(0));
    this.lines.append("text").attr("transform", `translate(14,${d3.mean(this.y.range())}) rotate(-90)`)
      .attr("text-anchor", "middle").text(`address, ${unit}`);
    drawAxis(this.lines, this.x, height - mapMargin.bottom, state.axis);
  }

  /// The cursor, what is selected, and its other copies.
  drawFront() {
    if (!this.x) return;
    this.front.selectAll("*").remove();
    const plan = state.a;
    const edges = plan.edges[state.axis];
    const [left, right] = this.x.range();
    const at = this.x((edges[state.cursor] + edges[state.cursor + 1]) / 2);
    if (at >= left && at <= right)
      this.front.append("line").attr("class", "cursor").attr("x1", at).attr("x2", at)
        .attr("y1", mapMargin.top).attr("y2", this.height - mapMargin.bottom);
    const {bytes, birth, death} = plan.buffers;
    const main = plan.copyAt(state.selected, state.cursor);
    for (const buffer of plan.buffersOf.get(state.selected) ?? []) {
      if (!this.buffers.includes(buffer)) continue;
      const from = Math.max(left, this.x(edges[birth[buffer]]));
      const to = Math.min(right, this.x(edges[death[buffer] + 1]));
      if (to < from) continue;
      this.front.append("rect").attr("class", buffer === main ? "outline" : "outline copy").attr("x", from)
        .attr("y", this.y(plan.place[buffer] + bytes[buffer])).attr("width", Math.max(to - from, 2))
        .attr("height", Math.max(this.y(plan.place[buffer]) - this.y(plan.place[buffer] + bytes[buffer]), 2));
    }
  }

  /// The entry and the buffer under the pointer.
  find(event) {
    const plan = state.a;
    const [x, y] = d3.pointer(event, this.element);
    const entry = plan.entryAt(state.axis, this.x.invert(x));
    const address = this.y.invert(y);
    const {bytes, birth, death} = plan.buffers;
    const buffer = this.buffers.find((buffer) => birth[buffer] <= entry && entry <= death[buffer] &&
                                                 plan.place[buffer] <= address && address < plan.place[buffer] + bytes[buffer]);
    return {entry, buffer};
  }

  hover(event) {
    const plan = state.a;
    const {entry, buffer} = this.find(event);
    if (buffer === undefined) {
      showTip(event, plan.entryName(entry), [
        `${formatBytes(plan.total[entry])} live`,
        plan.bodiesOf(entry).length > 0 ? "double click to look inside of the loop" : "",
      ]);
      return;
    }
    showTip(event, plan.bufferName(buffer), [
      `${formatBytes(plan.buffers.bytes[buffer])}, ${plan.role(buffer)}`,
      plan.text("entries", "location", plan.buffers.birth[buffer]),
      describeDecision(plan, buffer),
      plan.bodiesOf(entry).length > 0 ? "double click to look inside of the loop" : "",
    ]);
  }
}

/// A map of a space that plans need not have.
function addOtherMap(id, label, list) {
  on("plan", () => { byId(id).hidden = list(state.a).length === 0; });
  new AddressMap(byId(id).querySelector(".map"), 190, label, list);
}

function setUpAddresses() {
  new AddressMap(byId("addresses"), 430, "Addresses over the step. Left and right move the cursor, up and down choose a value.",
                 (plan) => plan.arena);
  addOtherMap("reused", "Values in buffers of results.", (plan) => plan.reused);
  addOtherMap("host", "Host memory over the step.", (plan) => plan.hosted);
  on("plan", () => {
    byId("map-note").textContent =
      `${formatCount(state.a.arena.length)} buffers, ${state.a.title}; what is recomputed is hatched`;
    byId("map-title").textContent = `Addresses over ${state.a.around ? "one iteration" : "the step"}`;
    byId("memory-title").textContent = `Memory over ${state.a.around ? "one iteration" : "the step"}`;
  });
}
