// Line charts as inline SVG. Lines differ in colour and in dashes, and the legend above has the newest
// values as text.

const space = 'http://www.w3.org/2000/svg';
const height = 132;
const margin = { left: 56, right: 8, top: 8, bottom: 18 };
const shortest = 60; // seconds that are shown at least
const longest = 300;

function svg(name, attributes = {}, text) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function html(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// The next larger of 1, 2, 2.5, 5 times a power of `base` (10; of bytes powers of 1024).
function roundUp(value, bytes) {
  if (!(value > 0)) return 1;
  let unit = 1;
  if (bytes) while (value / unit >= 1024) unit *= 1024;
  const power = 10 ** Math.floor(Math.log10(value / unit));
  const step = [1, 2, 2.5, 5, 10].find((factor) => value / unit <= factor * power * 1.0001);
  return step * power * unit;
}

export class Chart {
  #lines = []; // of the legend: { item, value }
  // `show(value)`: a value as text. `most`: the end of the axis, if it is fixed. `bound`: where a line
  // marks what is refused beyond.
  // `wide`: it takes two places of a row.
  constructor({ title, unit, show, bytes = false, most = null, bound = null, wide = false }) {
    Object.assign(this, { title, show, bytes, most, bound });
    this.element = html('figure', wide ? 'wide' : '');
    const caption = html('figcaption', '', '');
    caption.append(html('span', '', title), html('span', 'unit', unit));
    this.legend = html('ul', 'legend');
    this.plot = svg('svg', { class: 'plot', role: 'img', 'aria-label': title });
    this.element.append(caption, this.legend, this.plot);
  }

  // `lines`: [{ name, points: [[time in ms, value or null]], note }], the newest point last. `since`: of the
  // oldest point of any chart.
  draw(lines, since, now) {
    this.#drawLegend(lines);
    const width = Math.max(200, this.plot.clientWidth || 320);
    const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    const span = Math.min(longest, Math.max(shortest, Math.ceil((now - since) / 30_000) * 30));
    const begin = now - span * 1000;
    let top = this.most ?? 0;
    for (const { points } of lines) for (const [time, value] of points) if (time >= begin && value > top) top = value;
    top = this.most && top <= this.most ? this.most : roundUp(top, this.bytes);
    const x = (time) => margin.left + (inner.width * (time - begin)) / (span * 1000);
    const y = (value) => margin.top + inner.height * (1 - value / top);
    const parts = this.#axes(top, width, y, span);
    lines.forEach((line, i) => {
      const place = i % 5;
      const points = line.points.filter(([time]) => time >= begin);
      parts.push(svg('path', { class: `series s${place}`, d: path(points, x, y) }));
      const last = points.at(-1);
      if (last && last[1] !== null) parts.push(svg('circle', { class: `dot d${place}`, cx: x(last[0]).toFixed(1), cy: y(last[1]).toFixed(1), r: 2.5 }));
    });
    this.plot.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.plot.replaceChildren(...parts);
    this.plot.setAttribute('aria-label', `${this.title}. Now: ${lines.map((line) => `${line.name} ${this.#text(line)}`).join(', ') || 'nothing yet'}`);
  }

  #text(line) {
    const value = line.points.at(-1)?.[1] ?? null;
    return value === null ? '-' : line.note ?? this.show(value);
  }

  #drawLegend(lines) {
    while (this.#lines.length > lines.length) this.#lines.pop().item.remove();
    lines.forEach((line, i) => {
      if (!this.#lines[i]) {
        const item = html('li');
        const mark = svg('svg', { viewBox: '0 0 22 8', 'aria-hidden': 'true' });
        mark.append(svg('path', { class: `series s${i % 5}`, d: 'M1 4H21' }));
        const entry = { item, name: html('span', 'name'), value: html('span', 'value') };
        item.append(mark, entry.name, entry.value);
        this.legend.append(item);
        this.#lines.push(entry);
      }
      this.#lines[i].name.textContent = line.name;
      this.#lines[i].name.title = line.name;
      this.#lines[i].value.textContent = this.#text(line);
    });
  }

  #axes(top, width, y, span) {
    const parts = [];
    const right = width - margin.right;
    for (const share of [0, 0.5, 1]) {
      const at = y(top * share).toFixed(1);
      parts.push(svg('path', { class: share ? 'grid' : 'axis', d: `M${margin.left} ${at}H${right}` }));
      parts.push(svg('text', { x: margin.left - 6, y: Number(at) + 4, 'text-anchor': 'end' }, this.show(top * share)));
    }
    parts.push(svg('text', { x: margin.left, y: height - 4 }, span < 120 ? `${span} s ago` : `${Number((span / 60).toFixed(1))} min ago`));
    parts.push(svg('text', { x: right, y: height - 4, 'text-anchor': 'end' }, 'now'));
    if (this.bound !== null && this.bound <= top) {
      const at = y(this.bound).toFixed(1);
      parts.push(svg('path', { class: 'bound', d: `M${margin.left} ${at}H${right}` }));
      parts.push(svg('text', { class: 'bound-name', x: margin.left + 4, y: Number(at) + 12 }, 'bound'));
    }
    return parts;
  }
}

function path(points, x, y) {
  let text = '';
  let open = false;
  for (const [time, value] of points) {
    if (value === null) {
      open = false;
      continue;
    }
    text += `${open ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    open = true;
  }
  return text;
}

export function showCount(value) {
  if (value >= 1e12) return `${(value / 1e12).toPrecision(3)} T`;
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (value >= 1e4) return `${(value / 1e3).toPrecision(3)} k`;
  return value < 10 && value % 1 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value).toString();
}

export function showBytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < units.length) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || value % 1 === 0 ? Math.round(value) : value.toPrecision(2)} ${units[unit]}`;
}

export function showSeconds(value) {
  if (value === 0) return '0';
  if (value < 1e-3) return `${Number((value * 1e6).toPrecision(3))} µs`;
  if (value < 1) return `${Number((value * 1e3).toPrecision(3))} ms`;
  return `${Number(value.toPrecision(3))} s`;
}

export function showPercent(value) {
  return `${value.toFixed(value > 0 && value < 10 ? 1 : 0)} %`;
}

export function showValue(value) {
  return Number(value.toPrecision(3)).toString();
}
