// The page of an operator in Chromium. Started by test_page.py, which says where the tools are:
//   HALOGRAPH_WEB_TOOLS  a folder with node_modules
//   HALOGRAPH_CHROMIUM   the browser
//   HALOGRAPH_WEB_PAGE   the program that makes the page
//   HALOGRAPH_UI_URL     if set, the page of a real server, for the tests that need no others
//   HALOGRAPH_SHOTS      if set, a folder for pictures of the page
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { cluster, hostile, trainer } from './fixtures.mjs';
import { PageServer } from './page_server.mjs';

const { HALOGRAPH_CHROMIUM: chromium, HALOGRAPH_WEB_PAGE: program, HALOGRAPH_UI_URL: realUrl, HALOGRAPH_SHOTS: shots } = process.env;
const scale = Number(process.env.HALOGRAPH_TIME_SCALE ?? 1);
const patience = 100_000 * scale; // a bound for what hangs
const tools = createRequire(path.join(process.env.HALOGRAPH_WEB_TOOLS, 'package.json'));
const playwright = tools('playwright-core');
const axeSource = fs.readFileSync(tools.resolve('axe-core/axe.min.js'), 'utf8');
const widths = [360, 768, 1440];
let browser;
let profile;

before(async () => {
  profile = fs.mkdtempSync(path.join(os.tmpdir(), 'halograph-web-'));
  browser = await playwright.chromium.launchPersistentContext(profile, {
    executablePath: chromium,
    headless: true,
    timeout: patience,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});

after(async () => {
  await browser?.close();
  fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
});

// Asks until `condition` gives something true, and returns it.
async function until(what, condition) {
  const ends = Date.now() + patience;
  let last;
  while (Date.now() < ends) {
    last = await condition();
    if (last) return last;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  throw new Error(`not within ${patience / 1000} s: ${what}`);
}

const text = (page, selector) => page.locator(selector).textContent();
const moments = async (page) => Number(await page.locator('#figures').getAttribute('data-moments'));
const drawn = (page, least) => until(`${least} moments in the charts`, async () => {
  assert.deepEqual(page.faults, []);
  return (await moments(page)) >= least;
});

// Opens the page in a context of its own. Whatever it throws or logs as an error fails the test.
async function open(t, url, { clock = false, ...options } = {}) {
  const context = await browser.browser().newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  if (clock) await page.clock.install(); // the page's time stands still, but for runFor
  page.setDefaultTimeout(patience);
  page.faults = [];
  page.hosts = new Set();
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') page.faults.push(message.text()); });
  page.on('request', (request) => page.hosts.add(new URL(request.url()).host));
  t.after(() => context.close());
  await page.goto(url, { waitUntil: 'load' });
  return page;
}

async function serve(t, status) {
  const server = await new PageServer(program, status).start();
  t.after(() => server.server.listening && server.stop());
  return server;
}

// The page of the real server, if there is one, else of one that tests made.
async function anyUrl(t, status = cluster) {
  return realUrl || (await serve(t, status)).url;
}

const lines = (page) => page.locator('#figures figure').first().locator('.plot path.series').getAttribute('d');

test('loads, says that it is live, and its charts move', async (t) => {
  const page = await open(t, await anyUrl(t));
  await drawn(page, 3);
  assert.equal(await text(page, '#status'), 'Live, once a second.');
  const before = await lines(page);
  assert.match(before, /^M/);
  const seen = await moments(page);
  await drawn(page, seen + 2);
  assert.notEqual(await lines(page), before);
  assert.deepEqual(page.faults, []);
});

test('asks no other host', async (t) => {
  const url = await anyUrl(t);
  const page = await open(t, url);
  await drawn(page, 3);
  assert.deepEqual([...page.hosts], [new URL(url).host]);
});

test('draws calls, latency, queue and memory of what the servers say', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, (tick) => cluster(tick, 'trouble'))).url);
  await drawn(page, 4);
  const captions = await page.locator('#figures figcaption').allTextContents();
  assert.deepEqual(captions.map((caption) => caption.split(/a second|of each|the slowest|share/)[0]), ['Calls', 'Edges drawn', 'Bytes sent', 'Latency of calls', 'p99 by server', 'Queues', 'Memory of calls']);
  const legends = await page.locator('#figures .legend').allTextContents();
  assert.match(legends[5], /calls250 of 256/);
  assert.match(legends[6], /replies243 MiB of 256 MiB/);
  assert.match(legends[4], /10\.0\.1\.12:7600\d+(\.\d+)? ms/);
  // A poll is a second of the servers' clock: what they counted in it.
  const total = (tick) => cluster(tick, 'trouble').servers.flatMap(({ stats }) => stats?.methods ?? []).filter(({ method }) => !method.startsWith('Admin')).reduce((sum, { calls }) => sum + Number(calls), 0);
  const counted = Array.from({ length: 60 }, (_, tick) => `calls${total(tick + 2) - total(tick + 1)}`);
  assert.ok(counted.includes(legends[0]), `${legends[0]} among ${counted}`);
});

test('says what is wrong: a part without server, a server that is slow, a queue that is full', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, (tick) => cluster(tick, 'trouble'))).url);
  const problems = await page.locator('#problems li').allTextContents();
  for (const wanted of [/Nobody serves part 3/, /10\.0\.1\.13:7600 gives no figures: UNAVAILABLE/, /10\.0\.1\.12:7600 is slow/, /"work" is at 98 %/, /reply memory is at 95 %/]) {
    assert.ok(problems.some((problem) => wanted.test(problem)), `${wanted} in ${problems.join('\n')}`);
  }
});

test('several servers: one of another graph counts nowhere, and a clock that is off is named', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, (tick) => cluster(tick, 'odd'))).url);
  assert.equal(await page.locator('#servers-rows tr').count(), 4);
  assert.match(await page.locator('#servers-rows tr').nth(3).textContent(), /10\.0\.1\.13:7600another graph/);
  const problems = await page.locator('#problems li').allTextContents();
  for (const wanted of [/Nobody serves part 3/, /10\.0\.1\.13:7600: it serves another graph, "cora"/, /The clock of 10\.0\.1\.11:7600 is 12\.3 s ahead/]) {
    assert.ok(problems.some((problem) => wanted.test(problem)), `${wanted} in ${problems.join('\n')}`);
  }
  assert.match(await text(page, '#tiles'), /Servers that answer4 of 4/);
  await drawn(page, 3);
  assert.doesNotMatch(await page.locator('#figures .legend').nth(4).textContent(), /10\.0\.1\.13/);
});

test('one server alone says how to see all', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, (tick) => cluster(tick, 'alone'))).url);
  assert.match(await text(page, '#problems'), /Start it with --peers/);
  assert.equal(await page.locator('#servers-rows tr').count(), 1);
});

test('shows a trainer: its stages, its steps and its loss', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, trainer)).url);
  await drawn(page, 3);
  assert.match(await text(page, '#heading'), /Trainer, rank 2 of 4/);
  const row = await page.locator('#stages-rows tr', { hasText: 'sample' }).locator('td').allTextContents();
  assert.deepEqual(row.slice(0, 3), ['95 %', '4 %', '1 %']);
  const captions = await page.locator('#figures figcaption span:first-child').allTextContents();
  assert.deepEqual(captions, ['Steps', 'Step seconds', 'What a step waits for', 'Stages busy', 'Stages starved', 'Stages blocked', 'Rows fetched', 'Loss']);
  assert.match(await page.locator('#figures figure').nth(3).locator('.legend').textContent(), /sample95 %/);
  assert.deepEqual(page.faults, []);
});

for (const colorScheme of ['light', 'dark']) {
  for (const [kind, status] of [['servers in trouble', (tick) => cluster(tick, 'trouble')], ['a trainer', trainer]]) {
    test(`axe finds nothing serious: ${kind}, ${colorScheme}`, { skip: realUrl && kind !== 'servers in trouble' && 'of made figures' }, async (t) => {
      const page = await open(t, await anyUrl(t, status), { colorScheme, bypassCSP: true });
      await drawn(page, 2);
      await page.addScriptTag({ content: axeSource });
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html).slice(0, 3)]), []);
      assert.ok(found.passes.length > 10, `${found.passes.length} checks passed`);
    });
  }
}

for (const width of widths) {
  test(`the page does not scroll sideways at ${width}`, async (t) => {
    const page = await open(t, await anyUrl(t, (tick) => cluster(tick, 'trouble')), { viewport: { width, height: 900 } });
    await drawn(page, 2);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
    const out = await page.evaluate(() => [...document.querySelectorAll('main *')].filter((element) => !element.closest('.scroll') && element.getBoundingClientRect().right > innerWidth + 1).map((element) => element.outerHTML.slice(0, 100)));
    assert.deepEqual(out, []);
  });
}

test('by keyboard: skip link, links to all sections, controls, and every table that scrolls', async (t) => {
  const page = await open(t, await anyUrl(t), { viewport: { width: 360, height: 800 } });
  await drawn(page, 2);
  const reached = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      return { name: element.id || element.getAttribute('href') || element.getAttribute('aria-labelledby'), outline: getComputedStyle(element).outlineStyle };
    });
    if (!name) break;
    assert.notEqual(name.outline, 'none', `${name.name} shows that it has the focus`);
    reached.push(name.name);
  }
  assert.equal(reached[0], '#main');
  for (const id of await page.locator('main > section[id]').evaluateAll((list) => list.map((section) => section.id))) {
    assert.ok(reached.includes(`#${id}`), `a link to ${id} among ${reached}`);
    if (id !== 'charts') assert.ok(reached.includes(`${id}-title`), `the table ${id} among ${reached}`);
  }
  assert.ok(reached.includes('pause'));
  // Chromium lets the keyboard reach whatever scrolls; other browsers want to be told.
  assert.equal(await page.locator('.scroll:not([tabindex="0"])').count(), 0);
  // The skip link leads past the rest.
  await page.evaluate(() => document.activeElement.blur());
  await page.reload({ waitUntil: 'load' });
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
});

test('a table keeps the focus, where it was scrolled to, and what is selected in it', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, cluster)).url, { viewport: { width: 360, height: 800 } });
  await drawn(page, 2);
  const table = page.locator('#servers .scroll');
  await table.focus();
  await table.evaluate((element) => { element.scrollLeft = 120; });
  await page.locator('#slow-rows th').first().evaluate((cell) => getSelection().selectAllChildren(cell));
  const selected = await page.evaluate(() => String(getSelection()));
  const seen = await moments(page);
  await drawn(page, seen + 2);
  assert.equal(await table.evaluate((element) => element.scrollLeft), 120);
  assert.equal(await page.evaluate(() => document.activeElement.className), 'scroll');
  assert.equal(await page.evaluate(() => String(getSelection())), selected);
});

test('without JavaScript the tables are there', async (t) => {
  const page = await open(t, await anyUrl(t), { javaScriptEnabled: false });
  for (const id of ['servers', 'partitions', 'methods', 'slow', 'clients', 'tensors', 'log']) {
    assert.ok((await page.locator(`#${id}-rows tr`).count()) > 0, id);
  }
  assert.ok((await page.locator('#servers-rows th').count()) > 0);
  assert.match(await text(page, '#status'), /reload the page/);
  assert.equal(await page.locator('#pause').isVisible(), false);
});

test('a name that is markup stays text, before and after polls', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, (tick) => cluster(tick, 'hostile'))).url);
  for (const least of [1, 3]) {
    await drawn(page, least);
    assert.equal(await page.locator('#planted, main b').count(), 0);
    for (const id of ['heading', 'servers-rows', 'methods-rows', 'slow-rows', 'clients-rows', 'tensors-rows', 'figures']) {
      assert.ok((await text(page, `#${id}`)).includes(hostile), id);
    }
    assert.ok((await page.locator('#server option').nth(1).textContent()).includes(hostile));
  }
  assert.deepEqual(page.faults, []);
});

test('says since when the server does not answer, and when it does again', { skip: realUrl && 'would stop the server' }, async (t) => {
  const server = await serve(t, cluster);
  const page = await open(t, server.url);
  await drawn(page, 2);
  const { port } = server;
  await server.stop();
  await until('the status line says so', async () => /does not answer since \d.*no connection/.test(await text(page, '#status')));
  const said = await text(page, '#status');
  await until('seconds pass', async () => Number.parseInt(await text(page, '#since'), 10) >= 2);
  assert.equal(await text(page, '#status'), said); // read out once
  assert.ok((await page.locator('#servers-rows th').count()) > 0); // the old figures stay
  await server.start(port);
  await until('it is live again', async () => /^Live/.test(await text(page, '#status')));
  server.answer = (response) => response.writeHead(403).end('no');
  await until('a refusal is told', async () => /it answers 403/.test(await text(page, '#status')));
  server.answer = (response) => response.end('<p>another page');
  await until('another page is told', async () => /not this page/.test(await text(page, '#status')));
  server.answer = () => {}; // and never ends
  await until('a server that hangs is told', async () => /no answer in 3 s/.test(await text(page, '#status')));
});

test('asks nothing while it is paused or hidden', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, cluster)).url, { clock: true });
  await until('a first poll', async () => /^Live/.test(await text(page, '#status')));
  await page.evaluate(() => {
    globalThis.asked = 0;
    const real = globalThis.fetch;
    globalThis.fetch = (...words) => { globalThis.asked += 1; return real(...words); };
  });
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const asked = async () => {
    await page.clock.runFor(10_000);
    return page.evaluate(() => globalThis.asked);
  };
  await page.locator('#pause').click();
  assert.match(await text(page, '#status'), /^Paused at/);
  await page.evaluate(() => { globalThis.asked = 0; }); // the page's clock went on until the click
  assert.equal(await asked(), 0);
  await hide(true);
  await page.locator('#pause').click();
  assert.equal(await asked(), 0);
  await hide(false);
  assert.ok((await asked()) > 0);
});

test('one server of several can be chosen', { skip: realUrl && 'of made figures' }, async (t) => {
  const page = await open(t, (await serve(t, cluster)).url);
  await drawn(page, 3);
  await page.locator('#server').selectOption('10.0.1.11:7600');
  assert.equal(await page.locator('#figures figure').nth(4).locator('.legend li').count(), 1);
  const seen = await moments(page);
  await drawn(page, seen + 1);
  assert.equal(await page.locator('#server').inputValue(), '10.0.1.11:7600');
});

test('pictures', { skip: !shots && 'HALOGRAPH_SHOTS is not set' }, async (t) => {
  for (const [name, status] of [['healthy', cluster], ['trouble', (tick) => cluster(tick, 'trouble')], ['trainer', trainer]]) {
    for (const colorScheme of ['light', 'dark']) {
      for (const width of widths) {
        const page = await open(t, await anyUrl(t, status), { colorScheme, viewport: { width, height: 900 }, clock: true });
        for (let seen = 2; seen < 45; seen++) {
          await drawn(page, seen);
          await page.clock.runFor(1000);
        }
        await page.screenshot({ path: path.join(shots, `${name}-${colorScheme}-${width}.png`), fullPage: true });
        await page.close();
      }
    }
  }
});
