// What the methods are called, and what is said of each to somebody who has never heard of any.

export const methods = {
  lockstep: { title: "Lockstep", series: 2, plain: "Nobody moves until the server has everybody's keys. Never wrong, always late." },
  relay: { title: "Rollback", series: 1, plain: "You move at once; the others are guessed, and a wrong guess is rewound and played again." },
  predict: { title: "Prediction", series: 3, plain: "You move at once; the others are shown a moment late, between two messages." },
  verify: { title: "Server only", series: 4, plain: "Your machine computes nothing: every key goes to the server and comes back as a picture." },
  reckon: { title: "Dead reckoning", series: 5, plain: "Everybody says where they are and where they head; the gaps are filled in." },
};

const known = (reading) => reading && reading.joined;

export function milliseconds(x) {
  return x >= 1000 ? `${(x / 1000).toFixed(1)} s` : `${Math.round(x)} ms`;
}

// key says after how long the own key is shown: what, a remark, and how good that is.
export function key(reading) {
  if (!known(reading) || !reading.pressed) return ["…", "", ""];
  const x = reading.display_ms;
  if (x < 20) return ["at once", "nothing to feel", "good"];
  if (x < 90) return [`after ${milliseconds(x)}`, "hardly to be felt", "good"];
  if (x < 180) return [`after ${milliseconds(x)}`, "a little sluggish", "warn"];
  return [`after ${milliseconds(x)}`, x < 400 ? "you feel every press" : "hard to play", "bad"];
}

// others says how old what is shown of the others is.
export function others(reading) {
  if (!known(reading) || !reading.aged) return ["…", ""];
  const x = reading.remote_ms;
  if (x < -8) return [`${milliseconds(-x)} ahead`, "good"];
  if (x < 20) return ["as they are", "good"];
  return [`${milliseconds(x)} late`, x < 130 ? "good" : x < 280 ? "warn" : "bad"];
}

const units = (x) => (x < 0.005 ? "0" : x < 10 ? x.toFixed(2) : x.toFixed(0));

// off says how far the others, or the own player, are from where they are.
export function off(reading) {
  if (!known(reading)) return ["…", ""];
  if (reading.own_error > 1) return [`and you ${units(reading.own_error)} units off`, "bad"];
  if (!reading.aged) return ["…", ""];
  return [`${units(reading.error)} units off`, reading.error < 0.3 ? "good" : reading.error < 1.2 ? "warn" : "bad"];
}

// smooth says what disturbs the picture.
export function smooth(reading) {
  if (!known(reading)) return ["…", ""];
  if (reading.stalled_ms > 10) return [`stands still ${Math.round(Math.min(reading.stalled_ms / 2.5, 100))} %`, "bad"];
  if (reading.still_percent > 25) return ["jerky: others stop and jump", "bad"];
  if (reading.corrections > 0 && reading.correction_size > 0.02) {
    return [`corrected ${reading.corrections * 4}×/s`, reading.correction_size > 1 ? "warn" : "good"];
  }
  return ["smooth", "good"];
}

// aim says how often the server hits whom the screen showed.
export function aim(reading) {
  if (!known(reading) || !reading.hits_percent) return ["…", ""];
  const x = Math.round(reading.hits_percent);
  return [`${x} %`, x > 85 ? "good" : x > 60 ? "warn" : "bad"];
}

// outcome describes the outcome of a desync in a sentence.
export function outcome(f) {
  const after = milliseconds(f.after_ms);
  return {
    pending: `Your copy of the match is wrong now, and nobody has noticed yet (${after}).`,
    found: `Found after ${after}. Your machine and the server compare a checksum every second; they differed, so the server sent its own state and the match goes on.`,
    corrected: `Put right after ${after}: the server's next message said where you are, whatever your machine thought.`,
    adopted: "Adopted: here the player's own machine says where the player is, so this is where you are now.",
    immune: "Nothing happened: your machine computes nothing that could go wrong.",
    vanished: "It went away by itself: the game put you somewhere else before anybody compared. Try again while you are alive.",
    absent: "There was nobody to move: try again while you are in the match.",
  }[f.outcome] ?? "";
}
