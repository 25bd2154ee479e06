// The settings, as the controls show them and the link carries them: everything after the # of the address.

const numbers = ["rtt", "jitter", "loss", "duplicate", "reorder", "delay", "players", "seed"];
const switches = ["prediction", "reconciliation", "interpolation", "lagcomp"];

// write returns the link's part for settings.
export function write(s) {
  const q = new URLSearchParams();
  q.set("sync", s.sync.join(","));
  if (s.net) q.set("net", s.net);
  for (const n of numbers) q.set(n, String(s[n]));
  for (const n of switches) q.set(n, s[n] ? "on" : "off");
  return q.toString().replaceAll("%2C", ",");
}

// read returns the settings that a link names. What it does not name is not there.
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
  return s;
}

export const texts = {
  rtt: (x) => `${x} ms`,
  jitter: (x) => `${x} ms`,
  loss: (x) => `${x} %`,
  duplicate: (x) => `${x} %`,
  reorder: (x) => `${x} %`,
  delay: (x, rate) => (x === 0 ? "none" : `${x} ticks · ${Math.round((x * 1000) / rate)} ms`),
  players: (x) => `you and ${x - 1}`,
};
