// The settings, as the controls show them and the link carries them: everything after the # of the address.

import { step } from "/tour.js";

const numbers = ["rtt", "jitter", "loss", "duplicate", "reorder", "delay", "players", "seed"];
const switches = ["prediction", "reconciliation", "interpolation", "lagcomp", "server", "other"];

// write returns the link's part for settings, and for a step of the tour unless it is 0.
export function write(s, tour) {
  const q = new URLSearchParams();
  if (tour) q.set("tour", tour);
  q.set("sync", s.sync.join(","));
  if (s.net) q.set("net", s.net);
  for (const n of numbers) q.set(n, String(s[n]));
  for (const n of switches) q.set(n, s[n] ? "on" : "off");
  return q.toString().replaceAll("%2C", ",");
}

// tour returns the step of the tour in a link, or 0 without one.
export function tour(hash) {
  const number = Number(new URLSearchParams(hash.replace(/^#/, "")).get("tour"));
  return step(number) ? number : 0;
}

// read returns the settings of a link: those of its step of the tour, overridden by its own. Other settings are undefined.
export function read(hash) {
  const q = new URLSearchParams(hash.replace(/^#/, "")), s = {};
  if (q.has("sync")) s.sync = q.get("sync").split(",").slice(0, 8);
  if (q.has("net")) s.net = q.get("net");
  for (const n of numbers) {
    const x = Number(q.get(n));
    if (q.has(n) && Number.isFinite(x)) s[n] = n === "delay" || n === "players" || n === "seed" ? Math.max(0, Math.round(x)) : x;
  }
  if ("seed" in s) s.seed = String(s.seed); // ids are strings in JSON
  for (const n of switches) if (q.has(n)) s[n] = q.get(n) !== "off";
  if (Object.keys(s).length && !q.has("net")) s.net = ""; // the numbers count
  return { ...step(tour(hash))?.settings, ...s };
}

export const texts = {
  rtt: (x) => `${x} ms`,
  jitter: (x) => `${x} ms`,
  loss: (x) => `${x} %`,
  duplicate: (x) => `${x} %`,
  reorder: (x) => `${x} %`,
  delay: (x, rate) => (x === 0 ? "none" : `${x} ticks · ${Math.round((x * 1000) / rate)} ms`),
  players: (x) => (x === 1 ? "you alone" : `you and ${x - 1}`),
};
