// The titles of the strategies, and a description of each for a reader who does not know them.

export const methods = {
  lockstep: { title: "Lockstep", series: 2, plain: "A player moves only when the server has the keys of all players. Never wrong, always late." },
  relay: { title: "Rollback", series: 1, plain: "You move at once; the others are predicted, and a wrong prediction is rewound and played again." },
  predict: { title: "Prediction", series: 3, plain: "You move at once; the others are shown a moment late, between two messages." },
  verify: { title: "Server only", series: 4, plain: "Your machine computes nothing: every key goes to the server and comes back as a picture." },
  reckon: { title: "Dead reckoning", series: 5, plain: "Each player's machine sends where they are and how they move; the others extrapolate it." },
};

const known = (reading) => reading && reading.joined;

export function milliseconds(x) {
  return x >= 1000 ? `${(x / 1000).toFixed(1)} s` : `${Math.round(x)} ms`;
}

// key describes the delay from a key press to the picture, in frames at 60 Hz, and rates it.
export function key(reading) {
  if (!known(reading)) return ["…", ""];
  if (!reading.pressed) return ["… press a key", ""];
  const x = reading.display_ms, frames = Math.floor((x * 60) / 1000 + 0.01);
  if (frames < 1) return ["in 0 frames", "good"];
  return [`after ${frames} ${frames === 1 ? "frame" : "frames"} · ${milliseconds(x)}`, x < 90 ? "good" : x < 180 ? "warn" : "bad"];
}

// others describes the age of the shown remote players.
export function others(reading) {
  if (!known(reading) || !reading.aged) return ["…", ""];
  const x = reading.remote_ms;
  if (x < -8) return [`${milliseconds(-x)} ahead`, "good"];
  if (x < 20) return ["as they are", "good"];
  return [`${milliseconds(x)} late`, x < 130 ? "good" : x < 280 ? "warn" : "bad"];
}

const units = (x) => (x < 0.005 ? "0" : x < 10 ? x.toFixed(2) : x.toFixed(0));

// off describes the position error of the remote players, or of the own player.
export function off(reading) {
  if (!known(reading)) return ["…", ""];
  if (reading.own_error > 1) return [`your own: ${units(reading.own_error)} units off`, "bad"];
  if (!reading.aged) return ["…", ""];
  return [`${units(reading.error)} units off`, reading.error < 0.3 ? "good" : reading.error < 1.2 ? "warn" : "bad"];
}

// smooth describes the smoothness of the picture.
export function smooth(reading) {
  if (!known(reading)) return ["…", ""];
  if (reading.stalled_ms > 10) return [`stands still ${Math.round(Math.min(reading.stalled_ms / 2.5, 100))} %`, "bad"];
  if (reading.still_percent > 25) return ["jerky: others stop and jump", "bad"];
  if (reading.corrections > 0 && reading.correction_size > 0.02) {
    return [`corrected ${reading.corrections * 4}×/s`, reading.correction_size > 1 ? "warn" : "good"];
  }
  return ["smooth", "good"];
}

// aim describes how often the server hits the player that the screen showed.
export function aim(reading) {
  if (!known(reading) || !reading.hits_percent) return ["…", ""];
  const x = Math.round(reading.hits_percent);
  return [`${x} %`, x > 85 ? "good" : x > 60 ? "warn" : "bad"];
}

// verdict describes the outcome of a desync in a few words. It is empty without a desync.
export function verdict(f) {
  const after = milliseconds(f.after_ms);
  return {
    pending: [`your copy differs … ${after}`, "warn"],
    found: [`found after ${after}: ${f.component}.${f.field}. Repaired`, "good"],
    corrected: [`corrected after ${after}`, "good"],
    adopted: ["accepted by the server", "warn"],
    kept: ["not corrected", "bad"],
    immune: ["nothing to break here", "good"],
    vanished: ["ended before it was found: try again", "warn"],
    absent: ["you are not in the match: try again", "warn"],
  }[f.outcome] ?? ["", ""];
}

// outcome describes the outcome of a desync in a sentence.
export function outcome(f) {
  const after = milliseconds(f.after_ms);
  return {
    pending: `Your copy of the match differs now, and the difference is not found yet (${after}).`,
    found: `Found after ${after}. Your machine and the server compare a checksum every second. They differed, so the server sent its own state, and the match continues.`,
    corrected: `Corrected after ${after}: a message of the server contained your true position.`,
    adopted: "Adopted: with this strategy the player's own machine decides the position, so you are here now, also on the server.",
    kept: "Not corrected: your machine still shows you in the wrong place. The server's match is as before, and so is the picture of the other players.",
    immune: "Nothing happened: your machine computes nothing that could differ.",
    vanished: "It disappeared: the game moved you before it was found or corrected. Try again while you are alive.",
    absent: "You have no player to move: try again while you are in the match.",
  }[f.outcome] ?? "";
}
