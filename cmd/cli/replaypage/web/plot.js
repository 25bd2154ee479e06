// A field over time, one line for each match, with the present tick.
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function plotter(box, line, { ask, go, names }) {
  let drawn, data, range, of = null, asked = 0, at = 0;

  async function fetch() {
    const mine = ++asked;
    line.textContent = `${of.entity || "resource"} ${of.field}: loading`;
    const answer = await ask(of.entity, of.field), answers = answer.series;
    if (mine !== asked) return;
    range = answer.range;
    const failed = answers.find((a) => a.error);
    if (failed) { line.textContent = failed.error; return; }
    const points = answers.map((a) => a.series.points.filter((p) => p.number !== null));
    if (points.every((p) => p.length === 0)) { line.textContent = `${of.field} has no number in this range.`; return; }
    const ticks = [...new Set(points.flatMap((p) => p.map((x) => x.tick)))].sort((a, b) => a - b);
    const columns = points.map((p) => {
      const byTick = new Map(p.map((x) => [x.tick, x.number]));
      return ticks.map((t) => byTick.get(t) ?? null);
    });
    data = [ticks, ...columns];
    line.textContent = `${of.entity || "resource"} ${of.field}, ticks ${ticks[0]} to ${ticks.at(-1)}`;
    make();
  }

  function make() {
    if (!data) return;
    drawn?.destroy();
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    drawn = new uPlot({
      width: Math.max(160, box.clientWidth), height: 220, legend: { live: true }, scales: { x: { time: false } },
      axes: [{ ...axis }, { ...axis, size: 64 }],
      series: [{ label: "tick" }, ...names().map((label, i) => ({ label, stroke: color(`--series-${i + 1}`), width: 2, points: { show: false }, dash: i ? [6, 4] : undefined }))],
      hooks: { draw: [mark], ready: [(u) => u.over.addEventListener("click", () => { if (u.cursor.idx !== null && u.cursor.idx !== undefined) go(data[0][u.cursor.idx]); })] },
    }, data, box);
    box.dataset.points = data[0].length;
  }

  function mark(u) {
    const x = u.valToPos(at, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    u.ctx.save();
    u.ctx.strokeStyle = color("--ink");
    u.ctx.setLineDash([3, 3]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  new ResizeObserver(() => drawn?.setSize({ width: Math.max(160, box.clientWidth), height: 220 })).observe(box);
  addEventListener("themechange", make);
  return {
    field(entity, field) { of = { entity, field }; fetch(); },
    again() { if (of) fetch(); },
    cursor(tick) {
      at = tick;
      if (range && (tick < range.from || tick > range.to)) {
        range = null; // until the new one is there
        fetch();
      } else drawn?.redraw(false);
    },
  };
}
