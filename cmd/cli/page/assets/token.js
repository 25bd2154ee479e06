// Exchanges the token in the fragment of the address, or a typed one, for a cookie, and opens the page.
const wrong = document.getElementById("wrong");

async function exchange(token) {
  try {
    const answer = await fetch("/token", { method: "POST", body: token });
    if (answer.ok) return location.reload();
    wrong.textContent = "That is not the token of this server.";
  } catch {
    wrong.textContent = "The server does not respond.";
  }
}

document.getElementById("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  exchange(document.getElementById("token").value.trim());
});

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  exchange(given);
}
