// The pictures of one match with its measurements: the view of player 0, the server, and the other player.

import { fit, paint } from "/assets/painter.js";
import { methods, key, others, off, smooth, aim, verdict, milliseconds } from "/methods.js";

const ground = "#12141b";
const parts = 6; // rows of the bandwidth table

function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// View is a further picture of the match.
class View {
  constructor(label, title) {
    this.canvas = element("canvas", { class: "view", role: "img", "aria-label": `${title}: ${label}` });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.element = element("figure", { hidden: "" }, this.canvas, element("figcaption", {}, label));
  }

  draw(picture) {
    this.element.hidden = !picture;
    if (picture) paint(this.context, picture, { ...fit(this.canvas), background: ground, layers: [0] });
  }
}

export class Panel {
  constructor(name) {
    const m = methods[name];
    this.name = name;
    this.shown = {}; // the newest pictures
    this.reading = null;
    this.waiting = null; // { press, since }
    this.canvas = element("canvas", { class: "stage", tabindex: "0", role: "application", "aria-label": `${m.title}: the match as you would see it. Arrow keys move you.` });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.lamp = element("p", { class: "lamp idle", "aria-hidden": "true" }, "");
    this.verdict = element("p", { class: "verdict", hidden: "" });
    this.veil = element("p", { class: "veil" }, "joining the match …");
    this.key = element("b", { "data-fact": "key" }, "…");
    this.server = new View("the server now", m.title);
    this.other = new View("the other player", m.title);
    this.element = element("article", { class: `panel series-${m.series}`, "data-panel": name, "aria-label": m.title },
      element("div", { class: "line" }, element("h2", { title: m.plain }, m.title), element("p", {}, element("span", { class: "your" }, "your "), "key shows ", this.key)),
      element("div", { class: "screen" }, this.canvas, this.verdict, this.lamp, this.veil),
      element("div", { class: "views" }, this.server.element, this.other.element));
    this.facts = {};
    const fact = (id, label) => {
      this.facts[id] = element("dd", { "data-fact": id }, "…");
      return element("div", {}, element("dt", {}, label), this.facts[id]);
    };
    this.bytes = element("ol", { class: "bytes" });
    this.details = element("section", { class: `card facts-card series-${m.series}`, "aria-label": m.title },
      element("h3", {}, m.title, " ", element("code", {}, name)), element("p", { class: "soft small" }, m.plain),
      element("dl", { class: "facts" }, fact("others", "Other players appear"), fact("off", "Their positions are"),
        fact("smooth", "Motion is"), fact("aim", "Aimed shots that hit"), fact("traffic", "Traffic"), fact("work", "Computing time")),
      element("h4", {}, "Server bandwidth by component"), this.bytes);
  }

  // picture is the view of player 0, or null before the first one.
  get picture() { return this.shown.picture ?? null; }

  // take stores the part of a message that belongs to this panel.
  take(m) {
    if (m.picture) this.shown = m;
    this.veil.hidden = Boolean(m.picture);
    if (m.reading) this.read(m.reading);
    if (m.bytes && this.details.checkVisibility()) this.account(m.bytes);
    this.light(m.seen, m.after);
  }

  // press begins to wait for a press to be shown.
  press(number) {
    this.waiting = { press: number, since: performance.now() };
  }

  light(seen, after) {
    const w = this.waiting;
    if (!w) return;
    const passed = performance.now() - w.since;
    if (seen >= w.press && !w.done) {
      w.done = true;
      w.since = performance.now();
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
    const put = (e, [text, look]) => {
      if (e.textContent !== text) e.textContent = text;
      e.className = look;
    };
    put(this.key, key(r));
    const [text, look] = verdict(r.desync);
    this.verdict.hidden = !text;
    put(this.verdict, [text, `verdict ${look}`]);
    if (!this.details.checkVisibility()) return;
    put(this.facts.others, others(r));
    put(this.facts.off, off(r));
    put(this.facts.smooth, smooth(r));
    put(this.facts.aim, aim(r));
    put(this.facts.work, [r.client_us ? `${Math.round(r.client_us)} µs a frame` : "…", ""]);
    put(this.facts.traffic, [`${Math.round(r.up_kbps + r.down_kbps)} kbit/s`, ""]);
  }

  // account shows the largest parts of the server's messages: components by the kind of their entities, and other parts.
  account({ total, rows }) {
    const share = (x) => `${((100 * x) / total).toFixed(x < total / 10 ? 1 : 0)}%`;
    const shown = rows.slice(0, parts).map((r) => [r.kind && r.kind !== r.part ? `${r.part} of ${r.kind}` : r.part, r.bytes]);
    const rest = total - shown.reduce((sum, [, x]) => sum + x, 0);
    if (rest > total / 1000) shown.push(["the rest", rest]);
    this.bytes.replaceChildren(...(total ? shown : []).map(([name, x]) => {
      const li = element("li", {}, element("span", {}, name), " ", element("b", {}, share(x)));
      li.style.setProperty("--share", share(x));
      return li;
    }));
  }

  draw({ ghosts, hud }) {
    const m = this.shown;
    if (!m.picture) return;
    const size = fit(this.canvas);
    paint(this.context, m.picture, { ...size, background: ground, layers: [0] });
    if (ghosts && m.ghosts) paint(this.context, m.ghosts, { ...size, alpha: 0.5, layers: [0] });
    if (hud) paint(this.context, m.picture, { ...size, layers: [1] });
    this.server.draw(m.server);
    this.other.draw(m.other);
  }
}
