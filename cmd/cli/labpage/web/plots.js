// The plots of the last minute, a line for each strategy.

import { methods } from "/methods.js";

const kept = 240; // readings, four a second

const quantities = [
  { id: "error", title: "Error of the others", unit: "world units", of: (r) => r.error },
  { id: "corrections", title: "Corrections", unit: "a second", of: (r) => r.corrections * 4 },
  { id: "depth", title: "Rollback depth", unit: "ticks", of: (r) => r.depth },
  { id: "stall", title: "Standing still", unit: "ms a second", of: (r) => r.stalled_ms * 4 },
  { id: "bandwidth", title: "Bandwidth", unit: "kbit/s, up and down", of: (r) => r.up_kbps + r.down_kbps },
  { id: "cost", title: "Tick cost", unit: "µs of this machine, client", of: (r) => r.client_us },
];

export class Plots {
  constructor(parent, legend) {
    this.parent = parent;
    this.legend = legend;
    this.names = [];
    this.plots = [];
    addEventListener("themechange", () => this.build());
    let timer;
    addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.fit(), 150);
    });
  }

  // begin begins plots of these strategies.
  begin(names) {
    this.names = names;
    this.times = [];
    this.values = quantities.map(() => names.map(() => []));
    this.build();
  }

  build() {
    for (const p of this.plots) p.destroy();
    this.plots = [];
    this.parent.replaceChildren();
    this.legend.replaceChildren(...this.names.map((name) => {
      const li = document.createElement("li");
      li.className = `series-${methods[name].series}`;
      li.textContent = methods[name].title;
      return li;
    }));
    if (!this.names.length) return;
    const look = getComputedStyle(document.documentElement), color = (n) => look.getPropertyValue(n).trim();
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const boxes = quantities.map((q) => {
      const figure = document.createElement("figure"), caption = document.createElement("figcaption"), unit = document.createElement("span"), box = document.createElement("div");
      unit.textContent = ` ${q.unit}`;
      caption.append(q.title, unit);
      box.className = "plot";
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", `${q.title}, ${q.unit}, over the last minute; the table below has the numbers`);
      figure.append(caption, box);
      figure.dataset.plot = q.id;
      this.parent.append(figure);
      return box;
    });
    const series = this.names.map((name) => ({ label: methods[name].title, stroke: color(`--series-${methods[name].series}`), width: 2, points: { show: false } }));
    this.plots = boxes.map((box, i) => new uPlot({
      width: Math.max(120, box.clientWidth), height: 150, series: [{}, ...series], cursor: { show: false }, legend: { show: false }, padding: [8, 14, 0, 0],
      scales: { x: { time: false, range: [-60, 0] }, y: { range: (u, low, high) => [0, Math.max(high * 1.15, 0.1)] } },
      axes: [{ ...axis, size: 26, splits: () => [-60, -40, -20, 0], values: (u, at) => at.map((x) => (x === 0 ? "now" : `${x} s`)) }, { ...axis, size: 46 }],
    }, this.data(i), box));
  }

  data(i) {
    const last = this.times[this.times.length - 1] ?? 0;
    return [this.times.map((t) => (t - last) / 1000), ...this.values[i]];
  }

  // add adds the measurements of all strategies at a moment, in ms.
  add(at, readings) {
    this.times.push(at);
    for (const [i, q] of quantities.entries()) for (const k of this.names.keys()) this.values[i][k].push(readings[k] ? q.of(readings[k]) : null);
    if (this.times.length > kept) {
      this.times.shift();
      for (const of of this.values) for (const list of of) list.shift();
    }
    if (document.hidden || !this.parent.checkVisibility()) return;
    for (const [i, p] of this.plots.entries()) p.setData(this.data(i));
  }

  fit() {
    for (const p of this.plots) p.setSize({ width: Math.max(120, p.root.parentElement.clientWidth), height: 150 });
  }
}
