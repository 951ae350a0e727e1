"use strict";
// A run, looked at by sequence number: nothing is drawn again while nothing came.
const {number, run} = JSON.parse(by("live").dataset.settings);
const PAUSE = 2000, colours = ["--c0", "--c4", "--c2", "--c3", "--c5", "--c1", "--c6"];
const FIRST = ["loss", "learning_rate", "grad_norm"];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
source = {work: number, run};
const plots = new Map(), words = by("words").dataset;
let sequence = 0, now = null, others = new Map();

function path(name) { return `/api/run/${number}/${encodeURIComponent(name)}`; }

// Loss of training and evaluation share a frame; everything else has its own.
function frames(answer) {
  const found = new Map();
  for (const [name, curve] of Object.entries(answer.curves)) {
    const frame = name === "train_loss" || name === "eval_loss" ? "loss" : name;
    if (!found.has(frame)) found.set(frame, []);
    found.get(frame).push({label: name, ...curve});
  }
  for (const [name, cards] of Object.entries(answer.telemetry))
    found.set(name, Object.entries(cards).map(([label, curve]) => ({label, ...curve})));
  for (const [other, content] of others)
    for (const [name, curve] of Object.entries(content.curves || {}))
      if (name === "train_loss" || name === "eval_loss") (found.get("loss") || []).push({label: `${other} ${name}`, ...curve});
  for (const [name, curves] of found)  // one point is no curve; only the loss is waited for
    if (name !== "loss" && curves.every(c => c.x.length < 2)) found.delete(name);
  return [...found].sort((a, b) => (FIRST.indexOf(a[0]) + 99) % 99 - (FIRST.indexOf(b[0]) + 99) % 99);
}

function smoothed(values, share) {
  let last = null, weight = 0;
  return values.map(v => {
    if (v === null) return null;
    last = last === null ? v * (1 - share) : last * share + v * (1 - share);
    weight = weight * share + (1 - share);
    return last / weight;
  });
}

// uPlot wants one list of steps for all lines.
function aligned(curves, share) {
  const steps = [...new Set(curves.flatMap(c => [...c.x, ...c.odd]))].sort((a, b) => a - b), at = new Map(steps.map((s, i) => [s, i]));
  const rows = [], series = [{label: curves[0]?.unit || words.step}];
  curves.forEach((curve, i) => {
    const values = new Array(steps.length).fill(null), colour = css(colours[i % colours.length]);
    curve.x.forEach((s, j) => { values[at.get(s)] = curve.y[j]; });
    rows.push(values);
    series.push({label: curve.label, stroke: share ? colour + "55" : colour, width: 1.5, spanGaps: true, points: {show: curve.x.length < 30}});
    if (share) {
      rows.push(smoothed(values, share));
      series.push({label: `${curve.label} ~`, stroke: colour, width: 2, spanGaps: true, points: {show: false}});
    }
  });
  return {data: [steps, ...rows], series};
}

// Levels where they set in, and steps at which a value was not finite.
function draw_marks(name, curves) {
  return u => {
    const pen = u.ctx, {left, top, width, height} = u.bbox, ratio = window.devicePixelRatio || 1;
    pen.save();
    for (const mark of now.marks.filter(m => m.signal === name || name === "loss" && ["train_loss", "eval_loss"].includes(m.signal))) {
      const x = u.valToPos(mark.step, "x", true);
      if (x < left || x > left + width) continue;
      pen.strokeStyle = pen.fillStyle = css(mark.level === "critical" ? "--bad" : "--warn");
      pen.lineWidth = 1.5 * ratio;
      pen.setLineDash([5 * ratio, 3 * ratio]);
      pen.beginPath(); pen.moveTo(x, top); pen.lineTo(x, top + height); pen.stroke();
      pen.font = `${12 * ratio}px sans-serif`;
      pen.textAlign = x > left + width * .7 ? "right" : "left";
      pen.fillText(`${words[mark.level] || mark.level} · ${mark.step}`, x + (pen.textAlign === "right" ? -4 : 4) * ratio, top + 12 * ratio);
    }
    pen.fillStyle = css("--bad");
    for (const step of curves.flatMap(c => c.odd)) {
      const x = u.valToPos(step, "x", true);
      pen.beginPath(); pen.moveTo(x - 5 * ratio, top + height); pen.lineTo(x, top + height - 9 * ratio); pen.lineTo(x + 5 * ratio, top + height); pen.fill();
    }
    pen.restore();
  };
}

const shown = v => v === null ? "" : v === 0 ? "0" : Math.abs(v) < 1e-3 ? v.toExponential(1).replace(".0", "") : Number(v.toPrecision(3)).toString();
// On a log scale: powers of ten, a handful at most.
function powers(u, axis, low, high) {
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high)), step = Math.max(1, Math.ceil((last - first) / 6)), found = [];
  for (let p = first; p <= last; p += step) found.push(10 ** p);
  return found;
}

function draw() {
  if (!now) return;
  const share = Number(by("smooth").value) / 100, seen = new Set();
  by("o-smooth").textContent = share.toFixed(2);
  const wanted = frames(now);
  for (const [name] of wanted) {  // all frames first: how wide one is depends on how many there are
    seen.add(name);
    if (document.getElementById("frame-" + name)) continue;
    const place = document.createElement("figure");
    place.id = "frame-" + name;
    place.append(document.createElement("div"), document.createElement("p"));
    by("curves").append(place);
  }
  for (const [name, curves] of wanted) {
    const place = document.getElementById("frame-" + name);
    const old = plots.get(name), zoom = old && old.zoomed ? {min: old.scales.x.min, max: old.scales.x.max} : null;
    if (old) old.destroy();
    const {data, series} = aligned(curves, share), axis = {stroke: css("--soft"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line")}};
    const values = curves.flatMap(c => c.y), low = Math.min(...values), high = Math.max(...values);
    const logarithmic = low > 0 && high / low > 200;
    const plot = new uPlot({
      title: name, width: Math.max(260, place.clientWidth || by("curves").clientWidth), height: 240, series,
      scales: {x: {time: false}, y: {distr: logarithmic ? 3 : 1}}, axes: [axis, {...axis, size: 68, values: (u, ticks) => ticks.map(shown), ...(logarithmic ? {splits: powers, filter: (u, s) => s, grid: {...axis.grid, filter: (u, s) => s}, ticks: {...axis.ticks, filter: (u, s) => s}} : {})}],
      cursor: {drag: {x: true, y: false}}, hooks: {draw: [draw_marks(name, curves)]},
    }, data, place.firstChild);
    plot.over.addEventListener("mouseup", () => { plot.zoomed = true; });
    plot.over.addEventListener("dblclick", () => { plot.zoomed = false; });
    if (zoom) { plot.setScale("x", zoom); plot.zoomed = true; }
    plots.set(name, plot);
    const total = curves.reduce((n, c) => n + c.n, 0), marks = now.marks.filter(m => m.signal === name || name === "loss" && ["train_loss", "eval_loss"].includes(m.signal));
    place.lastChild.className = "note " + (marks[0] ? marks[0].level : "soft");
    place.lastChild.textContent = marks.map(m => `${m.step}: ${m.says}`).join("; ");
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${name}: ${total}, ${low.toPrecision(4)} … ${high.toPrecision(4)}. ${place.lastChild.textContent}`);
  }
  for (const [name, plot] of plots) if (!seen.has(name)) { plot.destroy(); plots.delete(name); document.getElementById("frame-" + name).remove(); }
}

function tell() {
  const word = document.createElement("strong");
  word.className = now.level;
  word.textContent = now.says;
  by("state").replaceChildren(word, now.left ? ` · ${now.left}` : "");
  by("signals").innerHTML = now.html;  // rendered and escaped by the server
}

async function look() {
  let answer = {};
  try { answer = await ask(`${path(run)}?since=${sequence}`); } catch { answer = {same: true}; }
  if (answer.error) by("state").textContent = answer.error;
  else if (!answer.same) {
    now = answer;
    sequence = answer.sequence;
    choose_logs(answer.logs);
    tell();
    draw();
    if (!by("search").value && !held) tail();
  }
  if (!(now && now.ended)) setTimeout(look, PAUSE);
}

// ---- the log

let first = null, held = false;
function choose_logs(names) {
  if (!names.length) by("log").textContent = words.nolog;
  const select = by("logfile");
  if ([...select.options].map(o => o.value).join() === names.join()) return;
  const kept = select.value;
  select.replaceChildren(...names.map(n => new Option(n, n)));
  select.value = names.includes(kept) ? kept : names.find(n => n.endsWith(".log")) || names[0] || "";
}
function log_path(extra) { return `/api/log/${number}/${encodeURIComponent(run)}/${encodeURIComponent(by("logfile").value)}?${extra}`; }
async function tail() {
  if (!by("logfile").value) return;
  const answer = await ask(log_path(""));
  if (answer.error || held) return;
  first = answer.offset;
  by("log").textContent = answer.text;
  by("log").scrollTop = by("log").scrollHeight;
}
by("earlier").addEventListener("click", async () => {
  if (!first) return;
  const from = Math.max(0, first - 65536), answer = await ask(log_path(`offset=${from}`));
  by("log").textContent = answer.text.slice(0, first - from) + by("log").textContent;
  by("log").scrollTop = 0;
  first = from;
});
by("logfile").addEventListener("change", () => { held = false; tail(); });
let waiting = 0;
by("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    held = false;
    if (!by("search").value) return tail();
    const answer = await ask(log_path(`search=${encodeURIComponent(by("search").value)}`));
    show_hits(answer, 0);
  }, 200);
});

// An alarm opens its evidence: the place in the log, and on request what diagnose says about the run.
function show_hits(answer, line) {
  const shown = answer.error ? [answer.error] : answer.hits.map(h => {
    const row = document.createElement(h.line === line ? "mark" : "span");
    row.textContent = `${h.line}: ${h.text}\n`;
    return row;
  });
  by("log").replaceChildren(...shown, answer.more ? `… ${answer.more}` : "");
}
by("signals").addEventListener("click", async event => {
  if (!event.target.matches("button.place")) return;
  const [, file, line] = event.target.textContent.match(/^(.*):(\d+)$/);
  if ([...by("logfile").options].every(o => o.value !== file)) by("logfile").append(new Option(file, file));
  by("logfile").value = file;
  first = null;
  held = true;  // a tail that is on its way must not cover it
  show_hits(await ask(log_path(`line=${line}`)), Number(line));
  const row = by("log").querySelector("mark");
  by("log").focus();
  if (row) row.scrollIntoView({block: "center"});
});
by("why").addEventListener("click", async () => {
  by("diagnosis").textContent = by("words").dataset.reading;
  const answer = await ask("/api/diagnose", source);
  by("diagnosis").innerHTML = answer.html || "";  // rendered and escaped by the server
  if (answer.error) by("diagnosis").textContent = answer.error;
});
by("smooth").addEventListener("input", draw);
by("run").addEventListener("change", () => by("choose").submit());
for (const box of document.querySelectorAll("input[name=over]"))
  box.addEventListener("change", async () => {
    if (box.checked) others.set(box.value, await ask(path(box.value)));
    else others.delete(box.value);
    draw();
  });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
let resized = 0;
window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(draw, 150); });
look();
