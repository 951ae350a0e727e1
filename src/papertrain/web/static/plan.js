"use strict";
// Every change of a knob asks for the plan anew; the server derives and renders, this puts it in place.
const form = by("knobs"), touched = new Set();
let latest = 0, shown = null;

function question() {
  const changes = {};
  for (const field of form.querySelectorAll("input[name],select[name]"))
    if (field.value.trim()) changes[field.name] = field.value.trim();
  for (const slider of form.querySelectorAll("input[type=range]"))
    if (touched.has(slider)) changes[slider.dataset.name] = slider.dataset.steps.split(",")[slider.value];
  const asked = {changes};
  if (form.dataset.work !== undefined) {
    asked.work = Number(form.dataset.work);
    asked.method = form.dataset.method;
  } else {
    asked.model = changes.model || "";
    asked.data = changes.data || "";
    delete changes.model;
    delete changes.data;
  }
  return asked;
}

async function derive() {
  const mine = ++latest, asked = question();
  if (asked.work === undefined && !asked.model) return;
  const began = performance.now(), answer = await ask("/api/plan", asked);
  if (mine !== latest) return;
  shown = null;
  if (by("write")) by("write").hidden = true;
  if (by("bytes")) by("bytes").replaceChildren();
  if (answer.error) { by("said").textContent = answer.error; by("said").className = "small error"; return; }
  by("plan").innerHTML = answer.html;  // rendered and escaped by the server; the policy lets no script of it run
  by("verdict").textContent = answer.says;
  by("said").className = "small soft";
  by("said").textContent = `${answer.milliseconds} ms (${Math.round(performance.now() - began)} ms) · ${answer.command}`;
  for (const slider of form.querySelectorAll("input[type=range]"))
    if (!touched.has(slider)) {
      const value = answer.values[slider.dataset.name], steps = slider.dataset.steps.split(",").map(Number);
      by("o-" + slider.dataset.name).textContent = value;
      slider.value = Math.max(0, steps.findIndex(s => s >= value));
    }
}

form.addEventListener("input", event => {
  if (event.target.type === "range") {
    touched.add(event.target);
    by("o-" + event.target.dataset.name).textContent = event.target.dataset.steps.split(",")[event.target.value];
  }
  derive();
});
form.addEventListener("submit", event => { event.preventDefault(); derive(); });
form.addEventListener("reset", () => { touched.clear(); setTimeout(derive); });
if (by("files")) by("files").addEventListener("click", async () => {
  const asked = question(), answer = await ask("/api/files", asked);
  if (answer.error) { by("said").textContent = answer.error; return; }
  by("bytes").innerHTML = answer.html;
  shown = {...asked, digest: answer.digest};
  if (by("write")) by("write").hidden = false;
});
if (by("write")) by("write").addEventListener("click", async () => {
  const answer = await ask("/api/write", shown);
  by("said").textContent = answer.error || [answer.says, ...answer.files].join("\n");
});
