// The tour: four steps, each a link that sets the page and says one sentence. It never goes on by itself.

// The player is alone, so that nothing else moves.
const quiet = { net: "", jitter: 0, loss: 0, duplicate: 0, reorder: 0, delay: 0, prediction: true, players: 1 };

const steps = [
  { title: "Press →", settings: { ...quiet, rtt: 20 }, say: "Press → and hold it. The server is near, so both pictures follow your key." },
  { title: "300 ms", settings: { ...quiet, rtt: 300 }, say: "Now the server is 300 ms away. Press an arrow key: lockstep waits for it, rollback predicts and moves you in the same frame." },
  { title: "No prediction", settings: { ...quiet, rtt: 300, prediction: false }, say: "Prediction is off. Press an arrow key: now rollback waits too. Prediction removes this delay." },
  { title: "Break it", settings: { ...quiet, rtt: 300 }, say: "A bug makes your match differ from the server's. Press Break it: the engine finds the difference, names the field and repairs it." },
];

export const say = "Same match, same network, same keys: only the strategy differs. Press an arrow key and compare the delays.";

// step returns a step of the tour by its number, from 1; undefined if there is none.
export function step(number) { return steps[number - 1]; }

// after returns the number of the step after another. 0 is the page without the tour.
export function after(number) { return (number + 1) % (steps.length + 1); }

// list fills the list of the steps' links.
export function list(ol) {
  ol.replaceChildren(...steps.map((s, i) => {
    const li = document.createElement("li"), a = document.createElement("a"), n = document.createElement("span");
    a.href = `#tour=${i + 1}`;
    n.textContent = `${i + 1}`;
    a.append(n, ` ${s.title}`);
    li.append(a);
    return li;
  }));
}

// mark shows which step the page is at, and its sentence with a link to the next one.
export function mark(ol, sentence, number) {
  [...ol.querySelectorAll("a")].forEach((a, i) => {
    if (i + 1 === number) a.setAttribute("aria-current", "step");
    else a.removeAttribute("aria-current");
  });
  if (sentence.dataset.step === String(number)) return;
  sentence.dataset.step = number;
  const next = document.createElement("a");
  next.className = "next";
  next.href = `#tour=${after(number)}`;
  next.textContent = number === 0 ? "Tour: 20 seconds" : after(number) === 0 ? "End tour" : "Next";
  next.setAttribute("aria-keyshortcuts", "F1");
  sentence.replaceChildren(steps[number - 1]?.say ?? say, " ", next);
}
