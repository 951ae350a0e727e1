"use strict";
// Parts that take longer than a page may: each is asked for in turn and put in its place.
async function fill() {
  for (const place of document.querySelectorAll(".later")) {
    const answer = await ask(place.dataset.part);
    place.innerHTML = answer.html || "";  // rendered and escaped by the server
    if (answer.error) { place.textContent = answer.error; place.classList.add("error"); }
    place.setAttribute("aria-busy", "false");
  }
  if (location.hash) { const there = document.getElementById(location.hash.slice(1)); if (there) there.scrollIntoView(); }
}
fill();
