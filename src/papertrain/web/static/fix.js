"use strict";
// Buttons of a fix: copy its patch; show the exact bytes it would write; apply what was shown.
let source = null;  // what the shown diagnosis was made of: a run, or files

async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

document.addEventListener("click", async event => {
  const button = event.target.closest && event.target.closest(".fix button");
  if (!button) return;
  const fix = button.closest(".fix"), said = fix.querySelector("[role=status]"), place = fix.querySelector(".proposed");
  const words = by("words").dataset;
  if (button.matches(".copy")) {
    await copy([...fix.querySelectorAll(":scope > .diff > span, :scope > details .diff > span")].map(line => line.textContent).join("\n") + "\n");
    said.textContent = words.copied;
  } else if (button.matches(".propose")) {
    const answer = await ask("/api/fix", {...source, id: button.dataset.fix});
    said.textContent = answer.error || "";
    place.innerHTML = answer.html || "";  // rendered and escaped by the server
    if (answer.error) return;
    const apply = document.createElement("button");
    apply.type = "button";
    apply.className = "apply";
    apply.textContent = words.apply;
    apply.dataset.fix = button.dataset.fix;
    apply.dataset.digest = answer.digest;
    if (answer.writing) place.append(apply);
    else said.textContent = words.readonly;
  } else if (button.matches(".apply")) {
    button.disabled = true;
    const answer = await ask("/api/apply", {...source, id: button.dataset.fix, digest: button.dataset.digest});
    said.textContent = answer.error || "";
    if (answer.error) { said.className = "small error"; button.disabled = false; return; }
    place.innerHTML = answer.html;
  }
});
