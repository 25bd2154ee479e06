// The marks of the timeline: where players joined, events and orders happened, and states differed.

// The colours of the kinds, which a filter names in words too.
const colors = { join: "#5cc9b8", leave: "#8aa0b8", event: "#7aa7ff", order: "#e0b355", desync: "#ff6f61", switch: "#c58af9", match: "#b0b8c4" };
const names = { join: "joins", leave: "leaves", desync: "desyncs" };
const title = (t) => names[t.kind] ?? (t.kind === "switch" ? `switch to ${t.name}` : t.kind === "match" ? t.name : `${t.kind} ${t.name}`);

const short = (s) => (s.length > 60 ? `${s.slice(0, 59)}…` : s);

export function timeline({ canvas, line, filter, before, after, go, at, range }) {
  let tracks = [], shown = [], all = []; // all are the ticks of shown, ascending
  const off = new Set();                 // titles of tracks that are not shown

  function draw() {
    const ratio = Math.min(devicePixelRatio || 1, 2), width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const c = canvas.getContext("2d"), { first, last } = range(), thumb = 8 * ratio; // half the thumb of the range below
    c.clearRect(0, 0, width, height);
    for (const t of shown) {
      c.fillStyle = colors[t.kind];
      const tall = t.kind === "event" ? height / 2 : height;
      let drawn = -1;
      for (const tick of t.ticks) {
        const x = Math.round(thumb + ((tick - first) / Math.max(1, last - first)) * (width - 2 * thumb));
        if (x !== drawn) c.fillRect(x, height - tall, Math.max(1, ratio), tall);
        drawn = x;
      }
    }
    canvas.dataset.marks = all.length;
  }

  function choose() {
    shown = tracks.filter((t) => !off.has(title(t)));
    all = [...new Set(shown.flatMap((t) => t.ticks))].sort((a, b) => a - b);
    before.disabled = after.disabled = all.length === 0;
    draw();
  }

  function list() {
    filter.replaceChildren(...tracks.map((t) => {
      const label = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("span");
      box.type = "checkbox";
      box.checked = !off.has(title(t));
      box.addEventListener("change", () => { box.checked ? off.delete(title(t)) : off.add(title(t)); choose(); });
      swatch.className = "swatch";
      swatch.style.background = colors[t.kind];
      swatch.setAttribute("aria-hidden", "true");
      label.append(box, swatch, `${title(t)} (${t.ticks.length})`);
      return label;
    }));
  }

  // index returns the index in all of the first mark after a tick.
  function index(tick) {
    let low = 0, high = all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (all[middle] > tick) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function next() {
    const i = index(at());
    if (i < all.length) go(all[i]);
    else line.textContent = "No mark after this tick.";
  }

  function previous() {
    let i = index(at()) - 1;
    if (all[i] === at()) i--;
    if (i >= 0) go(all[i]);
    else line.textContent = "No mark before this tick.";
  }

  before.addEventListener("click", previous);
  after.addEventListener("click", next);
  new ResizeObserver(draw).observe(canvas);
  choose();
  return {
    next, previous,
    progress(tick) { line.textContent = `Looking for marks: tick ${tick} of ${range().last}`; },
    set(found, error) {
      tracks = found?.tracks ?? [];
      line.textContent = error ?? (tracks.length === 0 ? "No marks." : found.to < range().last ? `Marks up to tick ${found.to}.` : "");
      list();
      choose();
    },
    // describe shows what happened in a tick, if it has a mark.
    describe(tick, lines) {
      const marked = all[index(tick) - 1] === tick;
      const differs = shown.some((t) => t.kind === "desync" && t.ticks.includes(tick)) ? ["the state differs from the recorded one"] : [];
      if (marked) line.textContent = `Tick ${tick}: ${[...differs, ...lines].slice(0, 4).map(short).join("; ") || "a mark"}`;
    },
  };
}
