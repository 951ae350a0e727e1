"use strict";
const box = by("logtext");
async function take(file) {
  if (file) box.value = await file.slice(-8 * 2 ** 20).text();
}
async function diagnose(question) {
  source = question;
  by("said").className = "soft";
  by("said").textContent = by("words").dataset.reading;
  by("answer").replaceChildren();
  const answer = await ask("/api/diagnose", question);
  by("said").textContent = answer.error || "";
  if (answer.error) by("said").className = "error";
  by("answer").innerHTML = answer.html || "";  // rendered and escaped by the server
  by("said").scrollIntoView({block: "start"});
}
function on_submit(id, question) {
  if (by(id)) by(id).addEventListener("submit", event => { event.preventDefault(); diagnose(question()); });
}
box.addEventListener("dragover", event => { event.preventDefault(); box.classList.add("over"); });
box.addEventListener("dragleave", () => box.classList.remove("over"));
box.addEventListener("drop", event => { event.preventDefault(); box.classList.remove("over"); take(event.dataTransfer.files[0]); });
by("file").addEventListener("change", event => take(event.target.files[0]));
on_submit("paste", () => ({log: box.value, config: by("config").value}));
on_submit("offiles", () => ({log_file: by("logfile").value, config_file: by("configfile").value}));
on_submit("ofrun", () => {
  const [work, ...run] = by("whichrun").value.split("/");
  return {work: Number(work), run: run.join("/")};
});
