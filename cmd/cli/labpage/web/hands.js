// The input of the viewer: keys, mouse, touch and gamepads, under the names that the game uses.

const moved = ["arrowleft", "arrowright", "arrowup", "arrowdown", "space", "pageup", "pagedown", "home", "end"]; // the page would scroll by them
const own = ["tab", "escape", "f1", "f2", "f3", "f5", "f11", "f12"]; // of the page and the browser
const buttons = ["rightbottom", "rightright", "rightleft", "righttop", "fronttopleft", "fronttopright", "frontbottomleft", "frontbottomright",
  "centerleft", "centerright", "leftstick", "rightstick", "lefttop", "leftbottom", "leftleft", "leftright", "centercenter"];
const mouse = ["mouse1", "mouse3", "mouse2"]; // by the browser's number
const interval = 33; // ms between two messages of the pointer alone

// typing reports whether an element uses every key.
function typing(e) {
  return e.matches("input:not([type=range], [type=checkbox]), textarea, [contenteditable]") || (CSS.supports("selector(:open)") && e.matches("select:open"));
}

export class Hands {
  constructor({ panels, pad, send, pressed }) {
    this.send = send;
    this.pressed = pressed;
    this.held = new Set();
    this.number = 0;
    this.clicked = false; // the focus was set by the pointer, not by Tab
    this.at = null; // the last event of the pointer over a picture
    this.posted = "";
    this.last = 0;
    this.axes = [0, 0, 0, 0];
    this.wheel = [0, 0]; // turned since the last message
    this.clicks = {}; // pressed since the last message
    this.touching = new Map(); // the events of fingers over a picture
    addEventListener("pointerdown", () => { this.clicked = true; }, true);
    addEventListener("keydown", (e) => { if (e.key === "Tab") this.clicked = false; }, true);
    addEventListener("keydown", (e) => this.key(e, true));
    addEventListener("keyup", (e) => this.key(e, false));
    addEventListener("blur", () => {
      const held = this.held.size > 0;
      this.release();
      if (held) this.post(true);
    });
    panels.addEventListener("pointermove", (e) => this.move(e));
    panels.addEventListener("pointerdown", (e) => this.button(e, true));
    addEventListener("pointerup", (e) => this.button(e, false));
    addEventListener("pointercancel", (e) => this.button(e, false));
    panels.addEventListener("wheel", (e) => this.turn(e), { passive: true });
    panels.addEventListener("contextmenu", (e) => { if (e.target.matches(".stage")) e.preventDefault(); });
    for (const b of pad.querySelectorAll("button")) {
      b.addEventListener("pointerdown", (e) => {
        e.preventDefault();
        b.setPointerCapture(e.pointerId);
        this.hold(b.dataset.key, true);
      });
      for (const over of ["pointerup", "pointercancel"]) b.addEventListener(over, () => this.hold(b.dataset.key, false));
      b.addEventListener("keydown", (e) => { if (e.key === " " || e.key === "Enter") { e.preventDefault(); this.hold(b.dataset.key, true); } });
      b.addEventListener("keyup", (e) => { if (e.key === " " || e.key === "Enter") this.hold(b.dataset.key, false); });
    }
  }

  // release releases everything.
  release() {
    this.held.clear();
    this.at = null;
    this.posted = "";
    this.touching.clear();
  }

  turn(e) {
    if (!e.target.matches(".stage")) return;
    const notch = e.deltaMode === 0 ? 100 : 3; // pixels or lines
    this.wheel[0] -= e.deltaX / notch;
    this.wheel[1] -= e.deltaY / notch;
  }

  // pads reads the gamepads with the standard layout.
  pads() {
    const pads = [...(navigator.getGamepads?.() ?? [])].filter((p) => p?.mapping === "standard");
    this.axes = [0, 1, 2, 3].map((i) => Math.round(100 * pads.reduce((x, p) => (Math.abs(p.axes[i]) > Math.abs(x) ? p.axes[i] : x), 0)) / 100);
    buttons.forEach((name, i) => this.hold(`gamepad${name}`, pads.some((p) => p.buttons[i]?.pressed)));
  }

  // key passes a key to the game. A text field and an open list keep all keys. A control that has the focus by Tab keeps
  // those that press or change it.
  key(e, down) {
    const focus = document.activeElement ?? document.body, bare = focus === document.body || focus.matches(".stage");
    if (down && e.key === "Escape" && focus !== document.body) focus.blur();
    const name = (e.code || e.key).replace(/^Key/, "").toLowerCase();
    if (!name || own.includes(name)) return;
    if (down && (e.ctrlKey || e.altKey || e.metaKey || typing(focus))) return;
    if (down && !bare && !this.clicked && this.change(focus, e)) return;
    if (down && (!bare || moved.includes(name))) e.preventDefault();
    if (down && !bare && this.clicked) focus.blur();
    if (e.repeat) return;
    this.hold(name, down);
    if (name === "f") this.hold("mouse1", down);
  }

  // change reports whether a key is for a control that has the focus by Tab, and moves a slider by + and −.
  change(control, e) {
    const slider = control.matches("input[type=range]");
    if (control.matches("button, a, summary, input[type=checkbox]")) return e.key === " " || e.key === "Enter";
    if (control.matches("select") && (e.key === " " || e.key === "Enter")) return true;
    if (["PageUp", "PageDown", "Home", "End"].includes(e.key)) return slider || control.matches("select");
    if (!slider || !["+", "-"].includes(e.key)) return false;
    e.preventDefault();
    if (e.key === "+") control.stepUp();
    else control.stepDown();
    control.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  }

  hold(name, down) {
    if (this.held.has(name) === down) return;
    if (down) this.held.add(name);
    else this.held.delete(name);
    this.number++;
    if (down) this.pressed(this.number);
    this.post(true);
  }

  move(e) {
    if (this.touching.has(e.pointerId)) this.touching.set(e.pointerId, e);
    this.at = e.target.matches(".stage") && e.pointerType !== "touch" ? e : null;
  }

  button(e, down) {
    const over = e.target instanceof Element && e.target.matches(".stage");
    if (down && !over) return;
    if (down) {
      e.target.focus({ preventScroll: true });
      if (e.pointerType !== "touch") this.at = e;
    }
    if (e.pointerType === "touch") {
      if (down) this.touching.set(e.pointerId, e);
      else this.touching.delete(e.pointerId);
      return;
    }
    const name = mouse[e.button];
    if (!name) return;
    if (down) {
      const box = e.target.getBoundingClientRect();
      this.clicks[name] = { X: (e.clientX - box.left) / box.height, Y: (e.clientY - box.top) / box.height };
    }
    this.hold(name, down);
  }

  // follow sends where the pointer is in the world of the panel that it is over, whose camera moves.
  follow(panels, place) {
    this.pads();
    this.touches = [...this.touching].flatMap(([id, e]) => {
      const panel = panels.find((p) => p.canvas === e.target);
      if (!panel?.picture) return [];
      const at = place(e, panel.canvas, panel.picture);
      return [{ ID: id, X: at.x, Y: at.y }];
    });
    this.size = panels[0] ? [panels[0].canvas.width, panels[0].canvas.height] : [0, 0];
    const panel = this.at && panels.find((p) => p.canvas === this.at.target);
    this.point = panel?.picture ? place(this.at, panel.canvas, panel.picture) : null;
    const moves = this.point || this.touches.length || this.axes.some((x) => Math.abs(x) > 0.15) || this.wheel.some((x) => x);
    if (moves && (this.number > 0 || this.posted)) this.post(false);
  }

  post(now) {
    const p = this.point, at = p ? { x: Math.round(p.x * 100) / 100, y: Math.round(p.y * 100) / 100, pointed: true } : { pointed: false };
    const message = { keys: [...this.held], ...at, press: this.number, axes: this.axes, wheel: this.wheel, clicks: this.clicks, touches: this.touches ?? [], size: this.size ?? [0, 0] }, text = JSON.stringify(message);
    if (text === this.posted || (!now && performance.now() - this.last < interval)) return;
    this.posted = text;
    this.wheel = [0, 0];
    this.clicks = {};
    this.last = performance.now();
    this.send(message);
  }
}
