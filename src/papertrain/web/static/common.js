"use strict";
// One question to this server. Same origin, JSON both ways; what was wrong comes as {error}.
async function ask(path, body) {
  const answer = await fetch(path, body === undefined ? {} : {
    method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(body),
  });
  const text = await answer.text();
  try { return JSON.parse(text); } catch { return {error: text || String(answer.status)}; }
}
const by = id => document.getElementById(id);
