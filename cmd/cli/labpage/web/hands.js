// The input of the viewer: keys, mouse and touch buttons, under the names that the game uses.

const names = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", " ": "space", Shift: "shift", Enter: "enter" };
const moved = ["left", "right", "up", "down", "space"]; // what the page would scroll by
const most = 33; // ms between two messages of the pointer alone

export class Hands {
  constructor({ panels, pad, send, pressed }) {
    this.send = send;
    this.pressed = pressed;
    this.held = new Set();
    this.number = 0;
    this.clicked = false; // the focus was set by the pointer, not by Tab
    this.at = null; // the last event of the pointer over a picture
    this.told = "";
    this.last = 0;
    addEventListener("pointerdown", () => { this.clicked = true; }, true);
    addEventListener("keydown", (e) => { if (e.key === "Tab") this.clicked = false; }, true);
    addEventListener("keydown", (e) => this.key(e, true));
    addEventListener("keyup", (e) => this.key(e, false));
    addEventListener("blur", () => this.let());
    panels.addEventListener("pointermove", (e) => this.move(e));
    panels.addEventListener("pointerdown", (e) => this.button(e, true));
    addEventListener("pointerup", (e) => this.button(e, false));
    addEventListener("pointercancel", (e) => this.button(e, false));
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

  // let releases everything.
  let() {
    this.held.clear();
    this.at = null;
    this.told = "";
  }

  key(e, down) {
    if (down && e.key === "Escape" && document.activeElement !== document.body) document.activeElement.blur();
    const focus = document.activeElement, bare = focus === null || focus === document.body || focus.matches(".stage");
    const name = names[e.key] ?? (/^[a-z0-9]$/i.test(e.key) ? e.key.toLowerCase() : "");
    if (!name || (down && (!(bare || this.released(focus)) || e.ctrlKey || e.altKey || e.metaKey))) return;
    if (down && (!bare || moved.includes(name))) e.preventDefault();
    if (down && !bare) focus.blur();
    if (e.repeat) return;
    this.hold(name, down);
    if (name === "f") this.hold("mouse1", down);
  }

  // released reports whether the keys of a control go to the game: it was clicked, and is no open list.
  released(control) {
    return this.clicked && !(CSS.supports("selector(:open)") && control.matches("select:open"));
  }

  hold(name, down) {
    if (this.held.has(name) === down) return;
    if (down) this.held.add(name);
    else this.held.delete(name);
    this.number++;
    if (down) this.pressed(this.number);
    this.tell(true);
  }

  move(e) {
    this.at = e.target.matches(".stage") && e.pointerType !== "touch" ? e : null;
  }

  button(e, down) {
    const over = e.target instanceof Element && e.target.matches(".stage");
    if (down && !over) return;
    if (down) {
      e.target.focus({ preventScroll: true });
      if (e.pointerType !== "touch") this.at = e;
    }
    if (e.pointerType === "mouse" || e.pointerType === "pen") this.hold(e.button === 2 ? "mouse2" : "mouse1", down);
  }

  // follow sends where the pointer is in the world of the panel that it is over, whose camera moves.
  follow(panels, place) {
    const panel = this.at && panels.find((p) => p.canvas === this.at.target);
    this.point = panel?.picture ? place(this.at, panel.canvas, panel.picture) : null;
    if (this.point && (this.number > 0 || this.told)) this.tell(false);
  }

  tell(now) {
    const p = this.point, at = p ? { x: Math.round(p.x * 100) / 100, y: Math.round(p.y * 100) / 100, pointed: true } : { pointed: false };
    const message = { keys: [...this.held], ...at, press: this.number }, text = JSON.stringify(message);
    if (text === this.told || (!now && performance.now() - this.last < most)) return;
    this.told = text;
    this.last = performance.now();
    this.send(message);
  }
}
