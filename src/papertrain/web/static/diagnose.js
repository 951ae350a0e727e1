"use strict";
const box = by("logtext");
async function take(file) {
  if (file) box.value = await file.slice(-8 * 2 ** 20).text();
}
box.addEventListener("dragover", event => { event.preventDefault(); box.classList.add("over"); });
box.addEventListener("dragleave", () => box.classList.remove("over"));
box.addEventListener("drop", event => { event.preventDefault(); box.classList.remove("over"); take(event.dataTransfer.files[0]); });
by("file").addEventListener("change", event => take(event.target.files[0]));
by("paste").addEventListener("submit", async event => {
  event.preventDefault();
  by("said").textContent = "…";
  const answer = await ask("/api/diagnose", {log: box.value, config: by("config").value});
  by("said").textContent = answer.error || "";
  by("answer").innerHTML = answer.html || "";  // rendered and escaped by the server
});
