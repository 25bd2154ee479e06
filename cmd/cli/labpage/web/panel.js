// One picture of the match, with its measurements in words.

import { fit, paint } from "/assets/painter.js";
import { methods, key, others, off, smooth, aim, milliseconds } from "/methods.js";

const ground = "#12141b";

function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

export class Panel {
  constructor(name) {
    const m = methods[name];
    this.name = name;
    this.picture = null;
    this.ghosts = null;
    this.reading = null;
    this.seen = 0;
    this.waiting = null; // { press, since }
    this.canvas = element("canvas", { class: "stage", tabindex: "0", role: "application", "aria-label": `${m.title}: the match as you would see it. Arrow keys move you.` });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.lamp = element("p", { class: "lamp idle", "aria-hidden": "true" }, "");
    this.veil = element("p", { class: "veil" }, "joining the match …");
    this.facts = {};
    const fact = (id, label, wide) => {
      this.facts[id] = element("dd", { "data-fact": id }, "…");
      return element("div", wide ? { class: "wide" } : {}, element("dt", {}, label), this.facts[id]);
    };
    this.element = element("article", { class: `card panel series-${m.series}`, "data-panel": name, "aria-label": m.title },
      element("div", {}, element("h2", {}, m.title, element("code", {}, name)), element("p", { class: "soft small" }, m.plain)),
      element("div", { class: "screen" }, this.canvas, this.lamp, this.veil),
      element("dl", { class: "facts" }, fact("key", "Your key shows", true), fact("others", "The others are shown"), fact("off", "On average they are"),
        fact("smooth", "The picture is"), fact("aim", "The server hits the player you aim at"), fact("traffic", "It sends"), fact("work", "Your machine computes")));
  }

  // take stores the part of a message that belongs to this panel.
  take(m) {
    if (m.picture) {
      this.picture = m.picture;
      this.ghosts = m.ghosts;
    }
    this.veil.hidden = Boolean(m.picture);
    if (m.reading) this.read(m.reading);
    this.light(m.seen, m.after);
  }

  // press begins to wait for a press to be shown.
  press(number) {
    this.waiting = { press: number, since: performance.now() };
  }

  light(seen, after) {
    this.seen = seen;
    const w = this.waiting;
    if (!w) return;
    const passed = performance.now() - w.since;
    if (seen >= w.press && !w.done) {
      w.done = true;
      w.since = performance.now();
      this.shownAfter = after;
      this.set(after < 20 ? "shown at once" : `shown after ${milliseconds(after)}`, "shown");
    } else if (!w.done && passed < 3000) {
      this.set(`pressed … ${milliseconds(passed)}`, "waiting");
    } else if (passed > 3000) {
      this.waiting = null;
      this.lamp.classList.add("idle");
    }
  }

  set(text, look) {
    this.lamp.textContent = text;
    this.lamp.className = `lamp ${look}`;
  }

  read(r) {
    this.reading = r;
    const tell = (id, [text, look]) => {
      this.facts[id].textContent = text;
      this.facts[id].className = look;
    };
    const [text, remark, look] = key(r);
    tell("key", [text, look]);
    if (remark) this.facts.key.append(" ", element("small", {}, remark));
    tell("others", others(r));
    tell("off", off(r));
    tell("smooth", smooth(r));
    tell("aim", aim(r));
    tell("work", [r.client_us ? `${Math.round(r.client_us)} µs a frame` : "…", ""]);
    tell("traffic", [`${Math.round(r.up_kbps + r.down_kbps)} kbit/s`, ""]);
  }

  draw({ ghosts, hud }) {
    if (!this.picture) return;
    const { width, height } = fit(this.canvas), size = { width, height };
    paint(this.context, this.picture, { ...size, background: ground, layers: [0] });
    if (ghosts && this.ghosts) paint(this.context, this.ghosts, { ...size, alpha: 0.5, layers: [0] });
    if (hud) paint(this.context, this.picture, { ...size, layers: [1] });
  }
}
