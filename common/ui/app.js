// Keeps the page up to date: asks the server for the same page each second, takes what has the attribute
// data-live, and draws charts of the figures in #samples. Asks nothing while the tab is hidden or the
// page is paused. Names come from others: they are text of the server's escaped page, or set by textContent.
import { Chart, showBytes, showCount, showPercent, showSeconds, showValue } from './charts.js';
import { Samples, quantile } from './samples.js';

const period = 1000; // milliseconds from poll to poll
const patience = 3000; // how long an answer may take
const mostLines = 5; // of servers in a chart

const find = (id) => document.getElementById(id);
const samples = new Samples();
let paused = false;
let timer = 0;
let asking = false;
let asked = 0; // when the last poll began
let lostAt = null; // when the first of the polls that failed began

function say(state, text) {
  const line = find('connection');
  if (line.dataset.state === state && find('status').textContent === text) return;
  line.dataset.state = state;
  find('status').textContent = text; // only what is new is read out
}

function clock(date) {
  return date.toLocaleTimeString([], { hour12: false });
}

// --- the tables

function holdsSelection(element) {
  const selection = getSelection();
  return selection && !selection.isCollapsed && (element.contains(selection.anchorNode) || element.contains(selection.focusNode));
}

// Only children that differ are replaced: the others keep what the reader does with them.
function update(element, fresh) {
  if (element.isEqualNode(fresh) || holdsSelection(element)) return;
  const mine = [...element.childNodes];
  const theirs = [...fresh.childNodes];
  theirs.forEach((node, i) => {
    if (i >= mine.length) element.append(document.importNode(node, true));
    else if (!mine[i].isEqualNode(node)) mine[i].replaceWith(document.importNode(node, true));
  });
  mine.slice(theirs.length).forEach((node) => node.remove());
}

function takePage(page) {
  for (const fresh of page.querySelectorAll('[data-live]')) {
    const element = find(fresh.id);
    if (element) update(element, fresh);
  }
  document.title = page.title;
}

// --- the charts

const percentOf = (used, limit) => (limit > 0 ? (100 * used) / limit : null);

// The values of the servers that are shown at a moment.
function shown(moment) {
  const chosen = find('server').value;
  return [...moment.servers].filter(([name, rates]) => rates && (!chosen || name === chosen)).map(([, rates]) => rates);
}

function line(name, value, note) {
  const points = samples.moments.map((moment) => [moment.time, value(moment)]);
  const result = { name, points };
  if (note) result.note = note;
  return result;
}

function sum(key) {
  return (moment) => {
    const known = shown(moment).map(({ rate }) => rate[key]).filter((value) => value !== null && value !== undefined);
    return known.length ? known.reduce((a, b) => a + b, 0) : null;
  };
}

// The share of a bound at the server where it is fullest.
function fullest(used, limit) {
  return (moment) => {
    const shares = shown(moment).map(({ figures }) => percentOf(Number(figures[used]), Number(figures[limit]))).filter((share) => share !== null);
    return shares.length ? Math.max(...shares) : null;
  };
}

function fullestNote(used, limit, show) {
  const moment = samples.moments.at(-1);
  let best = null;
  for (const { figures } of moment ? shown(moment) : []) {
    const share = percentOf(Number(figures[used]), Number(figures[limit]));
    if (share !== null && (best === null || share > best.share)) best = { share, text: `${show(Number(figures[used]))} of ${show(Number(figures[limit]))}` };
  }
  return best?.text;
}

const latency = (q) => (moment) => quantile(shown(moment).map((rates) => rates.values), q);

// A line for each of the servers whose p99 is highest now.
function slowest() {
  const chosen = find('server').value;
  const last = (name) => {
    const rates = samples.moments.at(-1)?.servers.get(name);
    return rates ? quantile([rates.values], 0.99) ?? -1 : -1;
  };
  const names = samples.names().filter((name) => !chosen || name === chosen);
  const top = [...names].sort((a, b) => last(b) - last(a)).slice(0, mostLines);
  // In the order of the table, so that a line keeps its colour while others pass it.
  return names.filter((name) => top.includes(name)).map((name) => line(name, (moment) => {
    const rates = moment.servers.get(name);
    return rates ? quantile([rates.values], 0.99) : null;
  }));
}

const serverCharts = [
  [new Chart({ title: 'Calls', unit: 'a second', show: showCount }), () => [line('calls', sum('calls'))]],
  [new Chart({ title: 'Edges drawn', unit: 'a second', show: showCount }), () => [line('edges', sum('edges'))]],
  [new Chart({ title: 'Bytes sent', unit: 'a second', show: showBytes, bytes: true }), () => [line('bytes', sum('bytes'))]],
  [new Chart({ title: 'Latency of calls', unit: 'of each second', show: showSeconds }), () => [line('p50', latency(0.5)), line('p99', latency(0.99))]],
  [new Chart({ title: 'p99 by server', unit: 'the slowest five', show: showSeconds, wide: true }), slowest],
  [new Chart({ title: 'Queues', unit: 'share of the bound, fullest server', show: showPercent, most: 100, bound: 100 }), () => [
    line('calls', fullest('queued', 'queueLimit'), fullestNote('queued', 'queueLimit', showCount)),
    ...(has('stateQueueLimit') ? [line('state', fullest('stateQueued', 'stateQueueLimit'), fullestNote('stateQueued', 'stateQueueLimit', showCount))] : []),
  ]],
  [new Chart({ title: 'Memory of calls', unit: 'share of the bound, fullest server', show: showPercent, most: 100, bound: 100 }), () => [
    line('requests', fullest('requestMemory', 'requestMemoryLimit'), fullestNote('requestMemory', 'requestMemoryLimit', showBytes)),
    line('replies', fullest('replyMemory', 'replyMemoryLimit'), fullestNote('replyMemory', 'replyMemoryLimit', showBytes)),
  ]],
];

function has(key) {
  const moment = samples.moments.at(-1);
  return moment ? shown(moment).some(({ figures }) => Number(figures[key]) > 0) : false;
}

const trainer = (value) => (moment) => {
  const rates = moment.servers.get('trainer');
  return rates ? value(rates) : null;
};

// How the threads of each stage spend their time: the share of one state.
function stages(state) {
  const names = new Set(samples.moments.flatMap((moment) => [...moment.servers.keys()].filter((name) => name.startsWith('stage '))));
  return [...names].map((name) => line(name.slice(6), (moment) => {
    const rates = moment.servers.get(name);
    if (!rates) return null;
    const all = rates.change.busy + rates.change.starved + rates.change.blocked;
    return all > 0 ? (100 * rates.change[state]) / all : null;
  }));
}

const perStep = (key) => trainer(({ change }) => (change.steps > 0 && change[key] !== null ? change[key] / change.steps : null));

const trainerCharts = [
  [new Chart({ title: 'Steps', unit: 'a second', show: showCount }), () => [line('steps', trainer(({ rate }) => rate.steps))]],
  [new Chart({ title: 'Step seconds', unit: 'of each second', show: showSeconds }), () => [
    line('p50', trainer((rates) => quantile([rates.values], 0.5))),
    line('p99', trainer((rates) => quantile([rates.values], 0.99))),
  ]],
  [new Chart({ title: 'What a step waits for', unit: 'mean', show: showSeconds }), () => [
    line('its minibatch', perStep('waitSeconds')),
    line('other ranks', perStep('syncWaitSeconds')),
  ]],
  [new Chart({ title: 'Stages busy', unit: 'share of their time', show: showPercent, most: 100 }), () => stages('busy')],
  [new Chart({ title: 'Stages starved', unit: 'share of their time', show: showPercent, most: 100 }), () => stages('starved')],
  [new Chart({ title: 'Stages blocked', unit: 'share of their time', show: showPercent, most: 100 }), () => stages('blocked')],
  [new Chart({ title: 'Rows fetched', unit: 'a second', show: showCount }), () => [
    line('all', trainer(({ rate }) => rate.rows)),
    line('remote', trainer(({ rate }) => rate.remoteRows)),
  ]],
  [new Chart({ title: 'Loss', unit: 'of the last step', show: showValue }), () => [line('loss', trainer(({ figures }) => (figures.loss === undefined ? null : Number(figures.loss))))]],
];

let charts = [];

function startCharts() {
  charts = find('samples').querySelector('[data-trainer]') ? trainerCharts : serverCharts;
  find('figures').replaceChildren(...charts.map(([chart]) => chart.element));
  find('charts-note').textContent = 'From when this page was opened, five minutes at most.';
}

function drawCharts() {
  const now = samples.moments.at(-1)?.time ?? Date.now();
  const since = samples.moments[0]?.time ?? now;
  for (const [chart, lines] of charts) chart.draw(lines(), since, now);
  find('figures').dataset.moments = samples.moments.length;
}

function offerServers() {
  const select = find('server');
  const names = samples.names();
  if (names.length < 2 && select.options.length < 2) return;
  find('choice').hidden = false;
  const wanted = ['', ...names];
  if (select.value && !names.includes(select.value)) wanted.push(select.value); // it may come back
  if (wanted.length === select.options.length && wanted.every((name, i) => select.options[i].value === name)) return;
  const chosen = select.value;
  select.replaceChildren(...wanted.map((name) => new Option(name || 'all servers', name)));
  select.value = chosen;
}

// --- the poll

// A poll a second at most, one at a time, and none while nobody looks.
function schedule() {
  clearTimeout(timer);
  if (!asking && !paused && !document.hidden) timer = setTimeout(poll, Math.max(0, asked + period - Date.now()));
}

// The page of now. Throws an Error whose message says what is wrong with the server.
async function ask() {
  let reply;
  let text;
  try {
    reply = await fetch(location.href.split('#')[0], { cache: 'no-store', signal: AbortSignal.timeout(patience) });
    text = await reply.text();
  } catch (error) {
    throw new Error(error.name === 'TimeoutError' ? `no answer in ${patience / 1000} s` : 'no connection');
  }
  if (!reply.ok) throw new Error(`it answers ${reply.status}`);
  const page = new DOMParser().parseFromString(text, 'text/html');
  if (!page.getElementById('samples')) throw new Error('what answers is not this page');
  return page;
}

function showLost(why) {
  lostAt ??= asked;
  if (!paused) say('lost', `The server does not answer since ${clock(new Date(lostAt))} (${why}). The figures are of before.`);
  find('since').textContent = paused ? '' : `${Math.round((Date.now() - lostAt) / 1000)} s`;
}

function showLive() {
  lostAt = null;
  find('since').textContent = '';
  if (!paused) say('live', 'Live, once a second.');
}

async function poll() {
  asking = true;
  asked = Date.now();
  try {
    let page = null;
    try {
      page = await ask();
    } catch (error) {
      showLost(error.message);
      samples.miss(asked);
    }
    if (page) {
      takePage(page);
      samples.take(find('samples'), asked);
      offerServers();
      showLive();
    }
    drawCharts();
  } finally {
    asking = false;
    schedule();
  }
}

function setPaused(value) {
  paused = value;
  find('pause').textContent = paused ? 'Go on' : 'Pause';
  find('since').textContent = '';
  if (paused) say('paused', `Paused at ${clock(new Date())}.`);
  schedule();
}

find('pause').hidden = false;
find('pause').addEventListener('click', () => setPaused(!paused));
find('server').addEventListener('change', drawCharts);
document.addEventListener('visibilitychange', schedule);
addEventListener('resize', drawCharts);
startCharts();
samples.take(find('samples'), Date.now());
drawCharts();
poll();
