"use strict";
// A bundle: show which files it would hold, then write what was shown.
const form = by("bundle"), said = by("packed"), place = by("held");

function asked() {
  return {work: Number(form.dataset.work), anonymous: form.elements.anonymous.checked, zip: form.elements.zip.checked};
}

function tell(answer) {
  said.textContent = answer.error || "";
  said.className = answer.error ? "error" : "soft";
  return !answer.error;
}

form.addEventListener("change", () => { place.innerHTML = ""; said.textContent = ""; });
form.addEventListener("submit", async event => {
  event.preventDefault();
  place.innerHTML = "";
  said.textContent = form.dataset.busy;
  const question = asked(), answer = await ask("/api/package", question);
  if (!tell(answer)) return;
  place.innerHTML = answer.html;  // rendered and escaped by the server
  if (!answer.writing) { said.textContent = form.dataset.readonly; return; }
  const write = document.createElement("button");
  write.type = "button";
  write.className = "apply";
  write.textContent = form.dataset.write;
  write.addEventListener("click", async () => {
    write.disabled = true;
    said.textContent = form.dataset.busy;
    const done = await ask("/api/pack", {...question, digest: answer.digest});
    if (tell(done)) place.innerHTML = done.html; else write.disabled = false;
  });
  place.prepend(write);
});
